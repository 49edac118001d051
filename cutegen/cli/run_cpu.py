"""``cutegen run --device cpu``: the emulator as a device."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.console import bad, bold, dim, good, print_json, progress_bar, say, table
from cutegen.cli.emulation import finding_lines, prepare_emulator

if TYPE_CHECKING:
    from cutegen.emulator import EmulatorReport, HostToolchain
    from cutegen.kernel import Kernel
    from cutegen.plan import Plan
    from cutegen.render import Style
    from cutegen.trial import Problem, Trial

__all__ = ["run_on_cpu", "traffic_table"]

_MOST_FINDINGS = 20
_ORDER = ("G2S A", "G2S B", "G2S", "G2R", "S2R A", "S2R B", "S2R", "R2S", "S2G", "R2G")


def run_on_cpu(
    config: str,
    plan: Plan,
    *,
    extents: tuple[int | None, int | None, int | None],
    alpha: float,
    beta: float,
    seeds: Sequence[int],
    sanitize: bool,
    processes: int | None,
    timeout: float | None,
    style: Style,
    as_json: bool,
) -> int:
    """Compile for the emulator, run, and print what came of it; the exit code is 1 if anything is wrong.

    Args:
        config: The file as the user named it.
        plan: Its plan.
        extents: M, N, K; where all are left out, a few problems that show most mistakes.
        alpha: Factor of the product.
        beta: Factor of C.
        seeds: Of inputs and thread orders.
        sanitize: Whether to check and to count.
        processes: Worker processes.
        timeout: Seconds after which a run is stopped.
        style: Style of the rendering.
        as_json: Print one JSON document.
    """
    from cutegen.building import build
    from cutegen.emulator import find_host_toolchain
    from cutegen.trial import thread_finder, try_kernel

    host = find_host_toolchain()
    problems = _problems(plan, extents, alpha, beta)
    started = time.perf_counter()
    prepare_emulator(host, [plan.config.arch])
    with progress_bar(1, "compiling for the CPU"):
        kernel = build(plan.config, device="cpu", style=style)
    seconds = time.perf_counter() - started

    def repro(problem: Problem, seed: int) -> str:
        words = ["cutegen", "run", config, "--device", "cpu"]
        for name in ("m", "n", "k", "alpha", "beta"):
            words += [f"--{name}", f"{getattr(problem, name):g}"]
        return shlex.join([*words, "--seed", str(seed), "--style", style])

    with progress_bar(1, "running on the CPU") as bar:
        trials = try_kernel(
            kernel,
            problems,
            seeds=seeds,
            sanitize=sanitize,
            processes=processes,
            timeout=timeout,
            thread_of=thread_finder(plan),
            repro=repro,
            progress=bar.update if bar.visible else None,
        )
    code = 0 if all(trial.ok for trial in trials) else 1
    if as_json:
        print_json(_document(config, kernel, host, trials, code))
        return code
    say(bold(config))
    for line in _head(kernel, host, seconds):
        say(line)
    for line in _results(kernel, trials, repro):
        say(line)
    return code


def _problems(
    plan: Plan, extents: tuple[int | None, int | None, int | None], alpha: float, beta: float
) -> tuple[Problem, ...]:
    from cutegen.trial import Problem, default_problems, steps

    default = default_problems(plan.config, alpha=alpha, beta=beta)
    if extents == (None, None, None):
        return default
    whole = (default[0].m, default[0].n, default[0].k)
    m, n, k = (w if extent is None else extent for w, extent in zip(whole, extents, strict=True))
    for name, extent, step in zip("mnk", (m, n, k), steps(plan.config), strict=True):
        if extent % step:
            raise click.UsageError(
                f"--{name}: must be a multiple of {step}, as the config's alignments say (got {extent}); "
                f"take {-(-extent // step) * step}, or lower 'align' of the operands whose rows run along it"
            )
    return (Problem(m=m, n=n, k=k, alpha=alpha, beta=beta),)


def _document(
    config: str, kernel: Kernel, host: HostToolchain, trials: list[Trial], code: int
) -> dict[str, Any]:
    from cutegen.trial import trial_error

    document: dict[str, Any] = {"ok": code == 0, "exit_code": code}
    error = trial_error(kernel.name, trials)
    if error is not None:
        document.update(error=type(error).__name__, message=str(error), violations=[])
    return {
        **document,
        "config": config,
        "name": kernel.name,
        "device": "cpu",
        "arch": kernel.config.arch,
        "compiler": host.version,
        "source": str(kernel.source),
        "runs": [trial.to_dict() for trial in trials],
    }


def _head(kernel: Kernel, host: HostToolchain, seconds: float) -> Iterator[str]:
    how = "from the cache" if kernel.artifact.cached else f"compiled in {seconds:.1f} s"
    rows = [
        ["kernel", kernel.name],
        ["device", f"CPU, emulating {kernel.config.arch}; {host.version}, {how}"],
        ["source", str(kernel.source)],
    ]
    yield from table([[dim(name), value] for name, value in rows])


def _results(kernel: Kernel, trials: list[Trial], repro: Any) -> Iterator[str]:
    rows = []
    for trial in trials:
        word = good("ok") if trial.ok else bad("FAIL")
        seed = f", seed {trial.seed}" if trial.seed else ""
        ctas = trial.report.ctas
        seconds = f"{ctas} CTA{'s' * (ctas != 1)} in {trial.report.seconds:.2f} s"
        rows.append([word, f"{trial.problem}{seed}", _numbers(trial), _sanitizer(trial.report), dim(seconds)])
    yield from table(rows)
    sources = {kernel.source.name: kernel.source.read_text(encoding="utf-8", errors="replace")}
    for trial in trials:
        if trial.ok:
            continue
        yield ""
        yield f"{bad('FAIL')}  {bold(str(trial.problem))}"
        if not trial.check.ok:
            yield f"  {trial.check}"
        else:
            yield f"  reproduce with: {repro(trial.problem, trial.seed)}"
        for finding in trial.report.findings[:_MOST_FINDINGS]:
            yield from finding_lines(finding, sources)
        if len(trial.report.findings) > _MOST_FINDINGS:
            yield f"and {len(trial.report.findings) - _MOST_FINDINGS} more; --json lists all of them"
    shown = next((trial for trial in trials if trial.report.traffic), None)
    if shown is not None:
        yield ""
        yield f"  {dim('memory accesses of')} {shown.problem}"
        yield from traffic_table(shown.report)


def _numbers(trial: Trial) -> str:
    if trial.check.ok:
        how = "bit for bit" if trial.problem.exact else "within the tolerance"
        return f"all {trial.check.total} elements right, {how}"
    return bad(f"{trial.check.bad} of {trial.check.total} elements wrong")


def _sanitizer(report: EmulatorReport) -> str:
    if not report.sanitized:
        return dim("not checked")
    count = len(report.findings)
    return "no findings" if report.clean else bad(f"{count} finding{'s' * (count != 1)}")


def traffic_table(report: EmulatorReport) -> Iterator[str]:
    """Wavefronts of shared memory and sectors of global memory, one row for each kind of access."""
    shared, everywhere = report.by_kind("shared"), report.by_kind("global")
    kinds = sorted({*shared, *everywhere}, key=lambda k: (_ORDER.index(k) if k in _ORDER else 99, k))
    rows = [[dim(x) for x in ("", "wavefronts", "ideal", "", "sectors", "ideal", "")]]
    for kind in kinds:
        row = [kind]
        for t in (shared.get(kind), everywhere.get(kind)):
            if t is None:
                row += ["", "", ""]
                continue
            degree = f"{t.degree:.2f}x"
            row += [str(t.cost), str(t.ideal), bad(degree) if t.degree > 1 else good(degree)]
        rows.append(row)
    yield from table(rows, right=range(1, 7))
