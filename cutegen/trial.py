"""Try an emulated kernel: random problems in several schedules, compared with float64 and sanitized."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import lcm
from typing import TYPE_CHECKING, Any

from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.emulator import EmulatorReport
from cutegen.emulator.job import Progress
from cutegen.errors import CheckFailedError, CutegenError, LaunchError, SanitizerError
from cutegen.kernel import Kernel
from cutegen.numerics import encode
from cutegen.operand_check import wanted_operands
from cutegen.reference import Report, ThreadOf, check, exact_inputs

if TYPE_CHECKING:
    from cutegen.plan import Plan

__all__ = [
    "Problem",
    "Trial",
    "default_problems",
    "is_exact",
    "steps",
    "thread_finder",
    "trial_error",
    "try_kernel",
]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What to compute: D = alpha * A*B^T + beta * C with A (M,K), B (N,K), C and D (M,N)."""

    m: int
    n: int
    k: int
    alpha: float = 1.0
    beta: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether D must agree with float64 bit for bit."""
        return is_exact(self.alpha) and is_exact(self.beta)

    def __str__(self) -> str:
        text = f"M {self.m}, N {self.n}, K {self.k}"
        text += f", alpha {self.alpha:g}" if self.alpha != 1 else ""
        return text + (f", beta {self.beta:g}" if self.beta != 0 else "")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One run of a kernel and what came of it.

    Attributes:
        problem: What was computed.
        seed: Of the inputs and of the order of threads; 0 runs threads as they are numbered.
        check: The comparison with float64.
        report: What the emulator found.
    """

    problem: Problem
    seed: int
    check: Report
    report: EmulatorReport

    @property
    def ok(self) -> bool:
        """Whether the result is right and the sanitizer found nothing."""
        return self.check.ok and self.report.clean

    def to_dict(self) -> dict[str, Any]:
        """The trial as a JSON-ready dictionary."""
        p, report = self.problem, self.report
        traffic = {
            space: {
                kind: {unit: t.cost, "ideal": t.ideal, "degree": t.degree, "requests": t.requests}
                for kind, t in sorted(report.by_kind(space).items())
            }
            for space, unit in (("shared", "wavefronts"), ("global", "sectors"))
        }
        return {
            "ok": self.ok,
            "problem": {
                "m": p.m, "n": p.n, "k": p.k, "alpha": p.alpha, "beta": p.beta, "seed": self.seed
            },
            "elements": self.check.total,
            "wrong": self.check.bad,
            "exact": p.exact,
            "worst": self.check.worst,
            "check": str(self.check),
            "sanitized": report.sanitized,
            "clean": report.clean,
            "findings": report.to_dict()["findings"],
            "traffic": traffic,
            "ctas": report.ctas,
            "seconds": report.seconds,
        }  # fmt: skip


def steps(config: GemmConfig) -> tuple[int, int, int]:
    """What M, N and K must be multiples of, for packed operands to be aligned as a resolved config says."""
    need = {"M": 1, "N": 1, "K": 1}
    for wanted in wanted_operands(config).values():
        mode = wanted.modes[wanted.major]
        need[mode] = lcm(need[mode], wanted.align // wanted.dtype.bytes)
    return need["M"], need["N"], need["K"]


def default_problems(config: GemmConfig, *, alpha: float = 1.0, beta: float = 0.0) -> tuple[Problem, ...]:
    """Problems that show most mistakes of a kernel at little cost.

    Whole tiles with a K that goes round the ring buffer; partial tiles along all of M, N and K, as odd as the
    alignments allow; and one CTA whose K is less than a k-tile.

    Args:
        config: The resolved config.
        alpha: Factor of the product.
        beta: Factor of C.
    """
    blk_m, blk_n, blk_k = config.tile or (128, 128, 32)
    stages = config.stages or 1
    step_m, step_n, step_k = steps(config)

    def problem(m: int, n: int, k: int) -> Problem:
        return Problem(m=m, n=n, k=k, alpha=alpha, beta=beta)

    return (
        problem(_up(2 * blk_m, step_m), _up(2 * blk_n, step_n), _up((stages + 2) * blk_k, step_k)),
        problem(
            _odd(blk_m + blk_m // 3, step_m), _odd(blk_n + blk_n // 5, step_n), _odd(2 * blk_k + 1, step_k)
        ),
        problem(_odd(blk_m // 4, step_m), _odd(blk_n // 3, step_n), _odd(blk_k // 2, step_k)),
    )


def _up(extent: int, step: int) -> int:
    """The multiple of a step at or above an extent."""
    return -(-extent // step) * step


def _odd(extent: int, step: int) -> int:
    """An odd multiple of a step near an extent."""
    return max(1, extent // step | 1) * step


def is_exact(factor: float) -> bool:
    """Whether a factor keeps small integers exact: few bits, and not large."""
    return abs(factor) <= 4 and (4 * factor).is_integer()


def thread_finder(plan: Plan) -> ThreadOf | None:
    """From (row, column) in the CTA tile to the thread that has it; the table is made at the first call.

    None for a collective, whose layouts CUTLASS chooses.
    """
    from cutegen.plan import CollectivePlan

    if isinstance(plan, CollectivePlan):
        return None
    out = plan.output
    owners: dict[tuple[int, int], int] = {}

    def find(row: int, column: int) -> int:
        if not owners:
            registers = list(zip(out.register_m.table(), out.register_n.table(), strict=True))
            for thread, (m, n) in enumerate(zip(out.thread_m.table(), out.thread_n.table(), strict=True)):
                owners.update({(m + dm, n + dn): thread for dm, dn in registers})
        return owners[row, column]

    return find


def try_kernel(
    kernel: Kernel,
    problems: Sequence[Problem],
    *,
    seeds: Sequence[int] = (0,),
    sanitize: bool = True,
    processes: int | None = None,
    timeout: float | None = None,
    thread_of: ThreadOf | None = None,
    repro: Callable[[Problem, int], str] = lambda problem, seed: "",
    progress: Progress | None = None,
) -> list[Trial]:
    """Run a kernel for the CPU on random small integers and compare with float64.

    D begins with NaN, or the least integer. With factors that make results inexact it must agree within the
    tolerance of the number formats, else bit for bit.

    Args:
        kernel: Built with ``device="cpu"``.
        problems: What to compute.
        seeds: Of inputs and orders of threads; each problem runs with each.
        sanitize: Whether to check every access and count its cost.
        processes: Worker processes of a run.
        timeout: Seconds after which a run is stopped.
        thread_of: Which thread computes an element of the CTA tile, to be named where one is wrong.
        repro: How to show a trial again.
        progress: Called with the CTAs that are done and the number of all, over all runs.

    Raises:
        ArgumentError: An extent does not fit the kernel's alignments.
        LaunchError: The emulator could not carry a run out.
    """
    blk_m, blk_n, _ = kernel.config.tile or (1, 1, 1)
    ctas = [-(-p.m // blk_m) * -(-p.n // blk_n) for p in problems for _ in seeds]
    trials: list[Trial] = []
    for problem in problems:
        for seed in seeds:
            before = sum(ctas[: len(trials)])
            trials.append(
                _try(
                    kernel,
                    problem,
                    seed,
                    repro(problem, seed),
                    thread_of,
                    sanitize=sanitize,
                    processes=processes,
                    timeout=timeout,
                    progress=_shifted(progress, before, sum(ctas)),
                )
            )
            if progress is not None:
                progress(sum(ctas[: len(trials)]), sum(ctas))
    return trials


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(before + done, total)


def _try(
    kernel: Kernel, problem: Problem, seed: int, repro: str, thread_of: ThreadOf | None, **options: Any
) -> Trial:
    config, p = kernel.config, problem
    _require_memory(p)
    try:
        inputs = exact_inputs(config, p.m, p.n, p.k, seed=seed, with_c=p.beta != 0)
        out = _unwritten(config, p.m, p.n)
    except MemoryError:
        raise LaunchError(f"{p}: there is not enough memory for the operands; take a smaller one") from None
    report = kernel.emulate(
        inputs.a, inputs.b, inputs.c, out, p.alpha, p.beta, **inputs.vectors, b_is="nk", seed=seed, **options
    )
    result = check(
        config,
        out,
        inputs.a,
        inputs.b,
        inputs.c,
        alpha=p.alpha,
        beta=p.beta,
        **inputs.vectors,
        exact=p.exact,
        thread_of=thread_of,
        repro=repro,
    )
    return Trial(problem=p, seed=seed, check=result, report=report)


def _require_memory(p: Problem) -> None:
    """Raise unless the operands and their float64 values fit into this machine's memory."""
    need = 8 * (p.m * p.k + p.n * p.k + 3 * p.m * p.n)
    have = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if need > have:
        raise LaunchError(
            f"{p}: making and checking it takes {need / 2**30:.0f} GiB of memory, and this machine has "
            f"{have / 2**30:.0f} GiB; take a smaller problem"
        )


def _unwritten(config: GemmConfig, m: int, n: int) -> Any:
    """D before the run: NaN, or the least integer, in the config's layout."""
    import numpy

    name = config.d.dtype or config.accumulator or "f32"
    fill = float("nan") if dtype(name).kind == "float" else float("-inf")
    stored = (m, n) if config.d.major != "m" else (n, m)
    out = encode(name, numpy.full(stored, fill))
    return out if config.d.major != "m" else out.T


def trial_error(name: str, trials: Sequence[Trial]) -> CutegenError | None:
    """Why trials failed, in words; None when all are right.

    Args:
        name: What to call the kernel.
        trials: What was tried.
    """
    failed = [t for t in trials if not t.ok]
    if not failed:
        return None
    lines = [f"{name}: {len(failed)} of {len(trials)} runs failed"]
    for trial in failed:
        lines.append(f"{trial.problem}, seed {trial.seed}:")
        if not trial.check.ok:
            lines.append(f"  {trial.check}")
        lines += [f"  {finding}".replace("\n", "\n  ") for finding in trial.report.findings]
    first = next((t for t in failed if not t.report.clean), None)
    text = "\n".join(lines)
    return CheckFailedError(text) if first is None else SanitizerError(text, first.report)
