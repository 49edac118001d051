"""``cutegen run``: build a kernel, run it on the CPU or a GPU, compare with float64."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.common import (
    Finite,
    config_argument,
    json_option,
    nvcc_option,
    planned,
    read_config,
    require_budget,
    style_option,
    target_option,
)
from cutegen.cli.console import bold, dim, good, print_json, say, table
from cutegen.cli.emulation import (
    ONLY_GPU,
    check_options,
    given_options,
    processes_option,
    sanitize_option,
    schedules_option,
    timeout_option,
)
from cutegen.cli.gpu import require_gpu
from cutegen.errors import CheckFailedError, LaunchError

if TYPE_CHECKING:
    from cutegen.kernel import Kernel
    from cutegen.plan import Plan
    from cutegen.reference import Inputs
    from cutegen.render import Style

__all__ = ["command"]

_DEVICE = "cuda:0"
_EXTENT = click.IntRange(min=0)
_ON_A_GPU = 1024


@click.command(name="run")
@config_argument
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="cpu is the emulator, which needs a C++ compiler and neither nvcc nor a GPU; auto takes it where "
    "there is no GPU.",
)
@click.option("--m", "m", type=_EXTENT, help="Rows of A and D.  [default: several problems; GPU: 1024]")
@click.option("--n", "n", type=_EXTENT, help="Columns of D.")
@click.option("--k", "k", type=_EXTENT, help="Columns of A and B.")
@click.option("--alpha", type=Finite(), default=1.0, show_default=True, help="Factor of the product.")
@click.option("--beta", type=Finite(), default=0.0, show_default=True, help="Factor of C.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the random inputs; on the CPU of the order of threads as well, 0: as they are numbered.",
)
@schedules_option
@sanitize_option
@processes_option
@timeout_option
@target_option
@style_option
@nvcc_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    config: str,
    device: str,
    m: int | None,
    n: int | None,
    k: int | None,
    alpha: float,
    beta: float,
    seed: int,
    schedules: int,
    sanitize: bool,
    processes: int | None,
    timeout: float | None,
    target: str | None,
    style: Style,
    nvcc: str | None,
    as_json: bool,
) -> int:
    """Build a kernel, run it on random inputs and compare with float64.

    The inputs are small integers, so that sums are exact and the result must agree bit for bit; D is filled
    with NaN before. With an alpha or beta that makes results inexact, they must agree within a tolerance that
    follows from the number formats.

    On the CPU every access is checked for races, stale data and bounds, and the cost of shared and global
    memory is counted. A GPU needs torch.
    """
    loaded = read_config(config)
    plan = planned(loaded)
    require_budget(loaded, plan, config)
    where = _device(ctx, device)
    if where == "cpu":
        from cutegen.cli.run_cpu import run_on_cpu

        return run_on_cpu(
            config,
            plan,
            extents=(m, n, k),
            alpha=alpha,
            beta=beta,
            seeds=range(seed, seed + schedules),
            sanitize=sanitize,
            processes=processes,
            timeout=timeout,
            style=style,
            as_json=as_json,
        )
    m, n, k = (_ON_A_GPU if extent is None else extent for extent in (m, n, k))
    _run_on_gpu(config, plan, m, n, k, alpha, beta, seed, target, style, nvcc, as_json=as_json)
    return 0


def _device(ctx: click.Context, asked: str) -> str:
    """``cpu`` or ``cuda``.

    Raises:
        UsageError: Options of the other one are given.
    """
    from cutegen.device import gpus

    if asked == "auto":
        asked = "cuda" if gpus() or given_options(ctx, ONLY_GPU) else "cpu"
    check_options(ctx, asked)
    return asked


def _run_on_gpu(
    config: str,
    plan: Plan,
    m: int,
    n: int,
    k: int,
    alpha: float,
    beta: float,
    seed: int,
    target: str | None,
    style: Style,
    nvcc: str | None,
    *,
    as_json: bool,
) -> None:
    from cutegen.building import build
    from cutegen.reference import check, exact_inputs
    from cutegen.toolchain import find_toolchain
    from cutegen.trial import is_exact, thread_finder

    gpu = require_gpu("run --device cuda", "--device cpu works without")
    kernel = build(plan.config, target=target, style=style, toolchain=find_toolchain(nvcc))
    inputs = exact_inputs(plan.config, m, n, k, seed=seed, with_c=beta != 0, device=_DEVICE)
    out = _launch(kernel, inputs, (m, n), alpha, beta)
    exact = is_exact(alpha) and is_exact(beta)
    sizes = ["--m", str(m), "--n", str(n), "--k", str(k), "--alpha", f"{alpha:g}", "--beta", f"{beta:g}"]
    report = check(
        plan.config,
        out,
        inputs.a,
        inputs.b,
        inputs.c,
        alpha=alpha,
        beta=beta,
        **inputs.vectors,
        exact=exact,
        thread_of=thread_finder(plan),
        repro=shlex.join(
            ["cutegen", "run", config, "--device", "cuda", *sizes, "--seed", str(seed), "--style", style]
        ),
    )
    if not report.ok:
        raise CheckFailedError(f"{config}: {report}")
    loaded = kernel.loaded(_DEVICE)
    if as_json:
        facts = {
            "config": config,
            "name": kernel.name,
            "device": "cuda",
            "target": kernel.artifact.target,
            "gpu": gpu,
        }
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
    kernel(inputs.a, inputs.b, inputs.c, out, alpha, beta, **inputs.vectors, b_is="nk")
    try:
        torch.cuda.synchronize()
    except RuntimeError as exc:
        raise LaunchError(f"the kernel failed on the GPU: {str(exc).splitlines()[0]}") from None
    return out
