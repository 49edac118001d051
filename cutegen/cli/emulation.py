"""What the commands that use the emulator share: its options, and how a report is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cutegen.cli.common import SECONDS
from cutegen.cli.console import bad, bold, dim, good, progress_bar, table

if TYPE_CHECKING:
    from cutegen.emulator import EmulatorReport, Finding, HostToolchain, Place

__all__ = [
    "ONLY_CPU",
    "ONLY_GPU",
    "check_options",
    "finding_lines",
    "given_options",
    "instruction_lines",
    "prepare_emulator",
    "processes_option",
    "report_lines",
    "sanitize_option",
    "schedules_option",
    "timeout_option",
    "traffic_lines",
]

F = TypeVar("F", bound=Callable[..., Any])

_MOST_FINDINGS = 40
_UNITS = {"shared": "wavefronts", "global": "sectors"}

sanitize_option = click.option(
    "--sanitize/--no-sanitize",
    default=True,
    show_default=True,
    help="Check every access and count its cost, or only compute.",
)
processes_option = click.option(
    "--processes",
    type=click.IntRange(min=1),
    help="Worker processes that CTAs are spread over.  [default: as many as cores]",
)
schedules_option = click.option(
    "--schedules",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Orders of threads to run; findings of all of them are put together.",
)
timeout_option = click.option("--timeout", type=SECONDS, help="Seconds after which a run is stopped.")


ONLY_CPU = ("sanitize", "processes", "schedules", "timeout")
ONLY_GPU = ("target", "nvcc")


def given_options(ctx: click.Context, names: Sequence[str]) -> list[str]:
    """Those options of a command that the user gave."""
    default = click.core.ParameterSource.DEFAULT
    return [name for name in names if ctx.get_parameter_source(name) is not default]


def check_options(ctx: click.Context, device: str) -> None:
    """Raise a usage error if options are given that belong to the other device."""
    for name in given_options(ctx, ONLY_GPU if device == "cpu" else ONLY_CPU):
        other = "cuda" if device == "cpu" else "cpu"
        raise click.UsageError(f"--{name} goes with --device {other}; this run is on {device}", ctx)


def prepare_emulator(host: HostToolchain, archs: Iterable[str]) -> None:
    """Build, under a progress bar, what all emulated kernels are compiled with, where that is to be done."""
    from cutegen.emulator.prepare import is_prepared, prepare

    missing = [arch for arch in dict.fromkeys(archs) if not is_prepared(host, arch)]
    with progress_bar(len(missing), "first use: preparing the emulator, about half a minute") as bar:
        for done, arch in enumerate(missing, 1):
            prepare(host, arch)
            bar(done)


def report_lines(
    report: EmulatorReport, sources: Mapping[str, str] | None = None, *, counts: bool = True
) -> Iterator[str]:
    """A report for a terminal.

    Args:
        report: What a run found.
        sources: Texts by file name; findings quote their lines.
        counts: Whether to print the tables of memory accesses and of instructions.
    """
    words = f"{report.ctas} CTA{'s' * (report.ctas != 1)} in {report.seconds:.2f} s"
    if report.sanitized:
        number = len(report.findings)
        words += ", " + (good("clean") if report.clean else bad(f"{number} finding{'s' * (number != 1)}"))
    yield f"{bold(report.kernel)}: {words}"
    for finding in report.findings[:_MOST_FINDINGS]:
        yield ""
        yield from finding_lines(finding, sources)
    if len(report.findings) > _MOST_FINDINGS:
        yield f"\nand {len(report.findings) - _MOST_FINDINGS} more; --json lists all of them"
    for note in report.notes:
        yield dim(f"note: {note}")
    if counts:
        yield from traffic_lines(report)
        yield from instruction_lines(report)


def finding_lines(finding: Finding, sources: Mapping[str, str] | None = None) -> Iterator[str]:
    """One finding: where, what, who, and a way out."""
    yield f"{bold(f'{finding.place}')}: {bad(finding.title)} {dim(f'[{finding.kind}]')}"
    yield f"    {finding.message}"
    yield from _quoted(finding.place, sources)
    if finding.other is not None and finding.other != finding.place:
        yield f"    the other access: {finding.other}"
        yield from _quoted(finding.other, sources)
    block = ",".join(map(str, finding.block))
    where = f"first by thread {finding.thread} of CTA ({block})"
    if finding.tensor:
        where += f", {finding.tensor}" + (f" +{finding.offset} bytes" if finding.offset is not None else "")
    yield f"    {where}, {finding.count} time{'s' * (finding.count != 1)}"
    if finding.hint:
        yield f"    {click.style('fix:', fg='cyan')} {finding.hint}"


def _quoted(place: Place, sources: Mapping[str, str] | None) -> Iterator[str]:
    lines = (sources or {}).get(place.file, "").splitlines()
    if 0 < place.line <= len(lines):
        yield f"    {dim(f'{place.line:5} |')} {lines[place.line - 1].strip()[:100]}"


def traffic_lines(report: EmulatorReport) -> Iterator[str]:
    """Accesses to memory, one row for each line of the source, kind and width."""
    for space, unit in _UNITS.items():
        found = [t for t in report.traffic if t.space == space]
        if not found:
            continue
        rows = [[dim(x) for x in ("line", "kind", "access", "requests", unit, "ideal", "degree", "worst")]]
        for t in found:
            width = f"{t.access} {t.bytes} B" + (f" {t.tensor}" if t.tensor else "")
            degree = f"{t.degree:.2f}x"
            numbers = [str(t.requests), str(t.cost), str(t.ideal)]
            rows.append(
                [str(t.place), t.kind, width, *numbers, bad(degree) if t.degree > 1 else degree, str(t.worst)]
            )
        yield f"\n{space} memory"
        yield from table(rows, right=range(3, 8))


def instruction_lines(report: EmulatorReport) -> Iterator[str]:
    """Tensor-core instructions, one row for each line of the source."""
    if report.instructions:
        yield "\ninstructions"
        head = [dim(x) for x in ("line", "instruction", "warps")]
        rows = [[str(i.place), i.name, str(i.count)] for i in report.instructions]
        yield from table([head, *rows], right=[2])
