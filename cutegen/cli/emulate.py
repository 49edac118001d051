"""``cutegen emulate``: run any CUDA file on the CPU, checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.common import json_option
from cutegen.cli.console import bad, dim, good, print_json, progress_bar, say
from cutegen.cli.emulation import (
    processes_option,
    report_lines,
    sanitize_option,
    schedules_option,
    timeout_option,
)
from cutegen.errors import ArgumentError, ConfigError

if TYPE_CHECKING:
    from cutegen.emulator import BoundLaunch, EmulatorReport
    from cutegen.emulator.arrays import Comparison

__all__ = ["command"]


@click.command(name="emulate")
@click.argument("source", type=click.Path(), metavar="KERNEL.cu")
@click.argument("arguments", nargs=-1, metavar="[-- ARGUMENT...]")
@click.option(
    "--launch",
    "launch_text",
    metavar="SPEC",
    help="Run one kernel of the file instead of its main: a YAML file, or YAML in braces.",
)
@click.option("--arch", default="sm_80", show_default=True, metavar="sm_XX", help="The architecture to be.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="-DX|-IDIR",
    help="Option of the host compiler. May be repeated.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Order of threads.")
@schedules_option
@sanitize_option
@processes_option
@timeout_option
@click.option("--counts/--no-counts", default=True, help="Print the tables of accesses and instructions.")
@json_option
def command(
    source: str,
    arguments: tuple[str, ...],
    launch_text: str | None,
    arch: str,
    options: tuple[str, ...],
    seed: int,
    schedules: int,
    sanitize: bool,
    processes: int | None,
    timeout: float | None,
    counts: bool,
    as_json: bool,
) -> int:
    """Run a CUDA file on the CPU and say what is wrong with it. Needs g++ or clang++, and no GPU.

    The file may use CuTe and CUTLASS. It runs with its own main, whose arguments stand behind '--', or one
    kernel of it runs with the arguments of --launch. Races, stale reads, wrong addresses and deadlocks are
    reported with their line, and the cost of memory accesses is counted. Exits with 1 when something was
    found, an output is wrong or main returned another status than 0.
    """
    from cutegen.emulator import bind_launch, compile_program, read_launch
    from cutegen.emulator.program import outputs_of
    from cutegen.emulator.schedules import run_schedules

    bound = bind_launch(read_launch(launch_text)) if launch_text is not None else None
    if bound is not None and arguments:
        raise click.UsageError("arguments behind '--' are for the file's main; --launch has its own")
    launch = bound.launch if bound is not None else None
    try:
        program = compile_program(source, launch, arch=arch, options=options)
    except ArgumentError as exc:
        raise ConfigError(str(exc)) from None
    checks: dict[int, list[Comparison]] = {}

    def compare(number: int) -> None:
        if bound is not None:
            checks[number] = bound.compare()

    with progress_bar(1, "running") as bar:
        report = run_schedules(
            lambda number: program.run(
                arguments=arguments,
                sanitize=sanitize,
                processes=processes,
                seed=number,
                timeout=timeout,
                progress=bar.update if bar.visible else None,
            ),
            outputs_of(launch) if launch is not None else {},
            range(seed, seed + schedules),
            compare,
        )
    saved = bound.save() if bound is not None else []
    right = all(c.ok for listed in checks.values() for c in listed)
    code = 0 if report.clean and right and report.status == 0 else 1
    if as_json:
        print_json(_document(source, arch, report, checks, saved, code))
        return code
    _print(source, report, bound, checks, saved, counts=counts)
    return code


def _document(
    source: str,
    arch: str,
    report: EmulatorReport,
    checks: dict[int, list[Comparison]],
    saved: list[str],
    code: int,
) -> dict[str, Any]:
    document: dict[str, Any] = {"ok": code == 0, "exit_code": code}
    if code:
        words = [f"{len(report.findings)} findings"] if report.findings else []
        words += [str(c) for listed in checks.values() for c in listed if not c.ok]
        words += [f"main returned {report.status}"] if report.status else []
        document.update(error="CheckFailedError", message="; ".join(words), violations=[])
    outputs = [{"seed": seed, **c.to_dict()} for seed, listed in checks.items() for c in listed]
    return {
        **document,
        "file": source,
        "arch": arch,
        "report": report.to_dict(),
        "outputs": outputs,
        "saved": saved,
    }


def _print(
    source: str,
    report: EmulatorReport,
    bound: BoundLaunch | None,
    checks: dict[int, list[Comparison]],
    saved: list[str],
    *,
    counts: bool,
) -> None:
    if report.output:
        say(report.output.rstrip("\n"))
    text = Path(source).read_text(encoding="utf-8", errors="replace")
    for line in report_lines(report, {Path(source).stem + ".cu": text}, counts=counts):
        say(line)
    several = len(checks) > 1
    lines = []
    for seed, listed in checks.items():
        for comparison in listed:
            word = good("ok") if comparison.ok else bad("WRONG")
            lines.append(f"  {word} {comparison}" + (f" (--seed {seed})" if several else ""))
    if lines:
        say("\noutputs")
        for line in lines:
            say(line)
    elif bound is not None and not saved:
        say(dim("\nno output was compared; give one 'expect:' to check its numbers"))
    for name in saved:
        say(f"wrote {name}")
    if report.status:
        say(bad(f"main returned {report.status}"))
