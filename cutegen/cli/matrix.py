"""``cutegen matrix``: all combinations of a matrix file."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.common import jobs_option, json_option, nvcc_option, style_option, target_option
from cutegen.cli.console import (
    bad,
    bold,
    dim,
    error_document,
    error_lines,
    good,
    print_json,
    progress_bar,
    say,
    table,
    warn,
)
from cutegen.cli.emulation import (
    check_options,
    prepare_emulator,
    processes_option,
    sanitize_option,
    schedules_option,
    timeout_option,
)
from cutegen.errors import ConfigError

if TYPE_CHECKING:
    from cutegen.matrix import Case, Matrix
    from cutegen.matrix.run import CaseResult
    from cutegen.render import Style

__all__ = ["command"]

_GITHUB_JOBS = 256


def _shard(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    if value is None:
        return None
    index, slash, count = value.partition("/")
    if not (slash and index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise click.BadParameter(f"must be i/n with 1 <= i <= n, for example 1/4 (got {value!r})", ctx, param)
    return int(index), int(count)


@click.command(name="matrix")
@click.argument("files", type=click.Path(), nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--device",
    type=click.Choice(["cuda", "cpu"]),
    default="cuda",
    show_default=True,
    help="cuda builds each case with nvcc; cpu runs each in the emulator and compares with float64.",
)
@click.option("--check-only", is_flag=True, help="Check the rules and build nothing.")
@click.option("--shard", metavar="I/N", callback=_shard, help="Only every N-th case from the I-th on.")
@click.option(
    "--only", multiple=True, metavar="ID", help="Only cases of this id; * matches. May be repeated."
)
@click.option("--junit", type=click.Path(path_type=Path, dir_okay=False), help="Write a JUnit XML report.")
@click.option(
    "--github", is_flag=True, help="Print JSON for strategy.matrix on one line, and do nothing else."
)
@click.option(
    "--shards", type=click.IntRange(min=1), help="With --github: so many jobs instead of one a case."
)
@target_option
@style_option
@jobs_option
@nvcc_option
@schedules_option
@sanitize_option
@processes_option
@timeout_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[str, ...],
    device: str,
    check_only: bool,
    shard: tuple[int, int] | None,
    only: tuple[str, ...],
    junit: Path | None,
    github: bool,
    shards: int | None,
    target: str | None,
    style: Style,
    jobs: int | None,
    nvcc: str | None,
    schedules: int,
    sanitize: bool,
    processes: int | None,
    timeout: float | None,
    as_json: bool,
) -> int:
    """Check and build all combinations of matrix files, or prove them on the CPU.

    A matrix file is a config with lists under 'matrix:', expanded as GitHub Actions expands strategy.matrix:
    all combinations, less 'exclude:', extended by 'include:'. Budgets stand under 'limits:'. A file that is a
    plain config is one case.

    With --device cpu each case is compiled for the emulator and run on whole and on partial tiles; a wrong
    element and a finding of the sanitizer fail it. No nvcc and no GPU are needed.
    """
    from cutegen.matrix import load_files, select
    from cutegen.matrix import shard as every

    if shards is not None and not github:
        raise click.UsageError("--shards goes with --github; to build one shard, use --shard 1/4")
    check_options(ctx, device)
    matrix = load_files(files)
    for note in matrix.notes:
        warn(note)
    cases = select(matrix.cases, only)
    if shard is not None:
        cases = every(cases, *shard)
    if github:
        click.echo(_github(cases, shards))
        return 0
    started, clock = datetime.now(), time.perf_counter()
    if device == "cpu" and not check_only:
        results = _prove(matrix, cases, style, schedules, sanitize, jobs, processes, timeout)
    else:
        results = _run(matrix, cases, check_only, style, target, jobs, nvcc)
    seconds = time.perf_counter() - clock
    name = files[0] if len(files) == 1 else "matrix"
    if junit is not None:
        _write_junit(junit, name, results, started, seconds)
    return _report(matrix.name, results, seconds, as_json=as_json)


def _prove(
    matrix: Matrix,
    cases: list[Case],
    style: Style,
    schedules: int,
    sanitize: bool,
    jobs: int | None,
    processes: int | None,
    timeout: float | None,
) -> list[CaseResult]:
    from cutegen.emulator import find_host_toolchain
    from cutegen.matrix.prove import prove_cases

    host = find_host_toolchain()
    prepare_emulator(host, (case.loaded.config.arch for case in cases))
    with progress_bar(len(cases), "running on the CPU") as bar:
        return prove_cases(
            cases,
            illegal=matrix.illegal,
            style=style,
            seeds=range(schedules),
            sanitize=sanitize,
            jobs=jobs,
            processes=processes,
            timeout=timeout,
            host=host,
            progress=bar.update,
        )


def _run(
    matrix: Matrix,
    cases: list[Case],
    check_only: bool,
    style: Style,
    target: str | None,
    jobs: int | None,
    nvcc: str | None,
) -> list[CaseResult]:
    from cutegen.cli.compiling import compile_all
    from cutegen.matrix.run import run_cases
    from cutegen.toolchain import find_toolchain

    if check_only or not cases:
        return run_cases(cases, illegal=matrix.illegal)
    toolchain = find_toolchain(nvcc)
    with progress_bar(len(cases), "building") as bar:
        return run_cases(
            cases,
            illegal=matrix.illegal,
            style=style,
            compiler=lambda kernels: compile_all(
                kernels, target=target, toolchain=toolchain, jobs=jobs, progress=bar.update
            ),
        )


def _github(cases: list[Case], shards: int | None) -> str:
    import json

    if shards is None and len(cases) > _GITHUB_JOBS:
        raise ConfigError(
            f"--github: must be at most {_GITHUB_JOBS} jobs (got {len(cases)} cases); add --shards 16, say"
        )
    include: list[dict[str, Any]]
    if shards is None:
        include = [{"id": case.id} for case in cases]
    else:
        count = min(shards, max(1, len(cases)))
        include = [
            {"index": i, "shard": f"{i}/{count}", "cases": len(cases[i - 1 :: count])}
            for i in range(1, count + 1)
        ]
    return json.dumps({"include": include}, separators=(",", ":"))


def _write_junit(path: Path, file: str, results: list[CaseResult], started: datetime, seconds: float) -> None:
    from cutegen.matrix.junit import junit_xml

    suite = Path(file).stem or "matrix"
    share = seconds / len(results) if results else 0.0
    text = junit_xml(suite, [r.test_case(suite, share) for r in results], started=started)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"--junit: {path} cannot be written: {exc.strerror}; name another file") from None


def _report(file: str, results: list[CaseResult], seconds: float, *, as_json: bool) -> int:
    code = max((r.code for r in results), default=0)
    counts: Counter[str] = Counter(r.status for r in results)
    if as_json:
        found: dict[str, Any] = {"ok": code == 0, "exit_code": code}
        failures = [r for r in results if r.status == "failed" and r.error is not None]
        if failures:
            first = max(failures, key=lambda r: r.code)
            documents = [error_document(r.error) for r in failures if r.error is not None]
            found["error"] = type(first.error).__name__
            found["message"] = f"{len(failures)} of {len(results)} cases failed"
            found["violations"] = [v for d in documents for v in d["violations"]]
        found.update(file=file, seconds=round(seconds, 3))
        found["counts"] = {status: counts[status] for status in ("passed", "failed", "skipped")}
        found["cases"] = [r.to_dict() for r in results]
        print_json(found)
        return code
    words = {"passed": good("ok"), "failed": bad("FAIL"), "skipped": dim("skip")}
    rows = [[words[r.status], bold(r.case.id), *_figures(r)] for r in results]
    for line in table(rows, indent=0, right=[2, 3, 4]):
        say(line)
    for result in results:
        if result.status == "failed" and result.error is not None:
            say(f"\n{bold(result.case.id)}", err=True)
            for line in error_lines(result.error):
                say(line, err=True)
    say(f"{_counted(counts)} in {seconds:.1f} s", err=True)
    return code


def _figures(result: CaseResult) -> list[str]:
    figures = result.figures
    if not figures:
        return ["", "", "", dim(result.kind or result.kernel or "")]
    if result.trials:
        found = figures["findings"]
        words = f"{found} finding{'s' * (found != 1)}" if result.trials[0].report.sanitized else "not checked"
        right = f"{figures['elements'] - figures['wrong']} of {figures['elements']} right"
        conflicts = _degree(figures) if result.trials[0].report.traffic else ""
        return [right, words, conflicts, dim(f"{result.seconds or 0:.1f} s")]
    return [
        f"{figures['registers']} registers",
        f"{figures['spill_bytes']} B spilled",
        f"{figures['smem_bytes']} B smem",
        dim("cached" if result.artifact is not None and result.artifact.cached else ""),
    ]


def _degree(figures: dict[str, int]) -> str:
    """How many times the ideal number of wavefronts shared memory takes."""
    if not figures.get("ideal_wavefronts"):
        return "no wavefronts"
    return f"{figures['wavefronts'] / figures['ideal_wavefronts']:.2f}x wavefronts"


def _counted(counts: Counter[str]) -> str:
    parts = [good(f"{counts['passed']} passed")]
    if counts["failed"]:
        parts.append(bad(f"{counts['failed']} failed"))
    if counts["skipped"]:
        parts.append(f"{counts['skipped']} skipped")
    return ", ".join(parts)
