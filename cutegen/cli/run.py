"""``cutegen run``: build a kernel, run it, compare with float64."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.common import (
    config_argument,
    json_option,
    nvcc_option,
    planned,
    read_config,
    style_option,
    target_option,
)
from cutegen.cli.console import bold, dim, good, print_json, say, table
from cutegen.errors import CheckFailedError, LaunchError, ToolchainError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cutegen.kernel import Kernel
    from cutegen.plan import KernelPlan
    from cutegen.reference import Inputs
    from cutegen.render import Style

__all__ = ["command"]

_DEVICE = "cuda:0"
_EXTENT = click.IntRange(min=0)


@click.command(name="run")
@config_argument
@click.option("--m", "m", type=_EXTENT, default=1024, show_default=True, help="Rows of A and D.")
@click.option("--n", "n", type=_EXTENT, default=1024, show_default=True, help="Columns of D.")
@click.option("--k", "k", type=_EXTENT, default=1024, show_default=True, help="Columns of A and B.")
@click.option("--alpha", type=float, default=1.0, show_default=True, help="Factor of the product.")
@click.option("--beta", type=float, default=0.0, show_default=True, help="Factor of C.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random inputs.")
@target_option
@style_option
@nvcc_option
@json_option
def command(
    config: str,
    m: int,
    n: int,
    k: int,
    alpha: float,
    beta: float,
    seed: int,
    target: str | None,
    style: Style,
    nvcc: str | None,
    as_json: bool,
) -> None:
    """Build a kernel, run it on random inputs and compare with float64. Needs a GPU and torch.

    The inputs are small integers, so that sums are exact and the result must agree bit for bit; D is filled
    with NaN before. With an alpha or beta that makes results inexact, they must agree within a tolerance that
    follows from the number formats.
    """
    from cutegen.building import build
    from cutegen.reference import check, exact_inputs
    from cutegen.toolchain import find_toolchain

    plan = planned(read_config(config))
    gpu = _require_gpu()
    kernel = build(plan.config, target=target, style=style, toolchain=find_toolchain(nvcc))
    inputs = exact_inputs(plan.config, m, n, k, seed=seed, with_c=beta != 0, device=_DEVICE)
    out = _launch(kernel, inputs, (m, n), alpha, beta)
    exact = _is_exact(alpha) and _is_exact(beta)
    sizes = ["--m", str(m), "--n", str(n), "--k", str(k), "--alpha", f"{alpha:g}", "--beta", f"{beta:g}"]
    report = check(
        plan.config,
        out,
        inputs.a,
        inputs.b,
        inputs.c,
        alpha=alpha,
        beta=beta,
        exact=exact,
        thread_of=_thread_of(plan),
        repro=shlex.join(["cutegen", "run", config, *sizes, "--seed", str(seed), "--style", style]),
    )
    if not report.ok:
        raise CheckFailedError(f"{config}: {report}")
    loaded = kernel.loaded(_DEVICE)
    if as_json:
        facts = {"config": config, "name": kernel.name, "target": kernel.artifact.target, "gpu": gpu}
        problem = {"m": m, "n": n, "k": k, "alpha": alpha, "beta": beta, "seed": seed}
        result = {"loaded": loaded, "elements": report.total, "exact": exact, "worst": report.worst}
        print_json({"ok": True, **facts, "problem": problem, **result})
        return
    rows = [
        ["kernel", kernel.name],
        ["target", f"{kernel.artifact.target}, {loaded or 'not'} loaded on {gpu}"],
        ["problem", f"M {m}, N {n}, K {k}, alpha {alpha:g}, beta {beta:g}, seed {seed}"],
        ["result", good(f"{report}{', bit for bit' if exact else ', within the tolerance'}")],
    ]
    say(bold(config))
    for line in table([[dim(name), value] for name, value in rows]):
        say(line)


def _require_gpu() -> str:
    """The name of the GPU.

    Raises:
        ToolchainError: There is none, or no torch that sees it.
    """
    from cutegen.device import gpus

    found = gpus()
    if not found:
        raise ToolchainError(
            "run needs a GPU and its driver, which are not here; 'check' and 'build' work without"
        )
    try:
        import torch
    except ImportError:
        raise ToolchainError("run needs torch; install it: pip install 'cutegen[torch]'") from None
    if not torch.cuda.is_available():
        raise ToolchainError(
            f"torch {torch.__version__} sees no GPU, though the driver does; install a CUDA build of torch"
        )
    return found[0].name


def _launch(kernel: Kernel, inputs: Inputs, shape: tuple[int, int], alpha: float, beta: float) -> Any:
    """D of one launch, in memory that was NaN (or the least integer) before."""
    import torch

    from cutegen.dtypes import dtype

    output = kernel.config.d
    element = dtype(output.dtype or "f32")
    torch_type = getattr(torch, element.torch)
    fill = float("nan") if element.kind == "float" else torch.iinfo(torch_type).min
    stored = shape if output.major == "n" else shape[::-1]
    out = torch.full(
        stored, fill, dtype=torch.float32 if element.kind == "float" else torch_type, device=_DEVICE
    )
    out = out.to(torch_type)
    out = out if output.major == "n" else out.t()
    kernel(inputs.a, inputs.b, inputs.c, out, alpha, beta, b_is="nk")
    try:
        torch.cuda.synchronize()
    except RuntimeError as exc:
        raise LaunchError(f"the kernel failed on the GPU: {str(exc).splitlines()[0]}") from None
    return out


def _is_exact(factor: float) -> bool:
    """Whether a factor keeps small integers exact: few bits, and not large."""
    return abs(factor) <= 4 and (4 * factor).is_integer()


def _thread_of(plan: KernelPlan) -> Callable[[int, int], int]:
    """From (row, column) in the CTA tile to the thread that has it; the table is made at the first call."""
    owners: dict[tuple[int, int], int] = {}

    def find(row: int, column: int) -> int:
        if not owners:
            out = plan.output
            registers = list(zip(out.register_m.table(), out.register_n.table(), strict=True))
            for thread, (m, n) in enumerate(zip(out.thread_m.table(), out.thread_n.table(), strict=True)):
                owners.update({(m + dm, n + dn): thread for dm, dn in registers})
        return owners[row, column]

    return find
