"""Run one job in several orders of threads, and put the reports together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cutegen.emulator.report import EmulatorReport, Finding

__all__ = ["merge_reports", "run_schedules"]


def run_schedules(
    run: Callable[[int], EmulatorReport],
    outputs: Mapping[str, Any],
    seeds: Iterable[int],
    after: Callable[[int], None] | None = None,
) -> EmulatorReport:
    """Run once for each seed.

    Args:
        run: Runs in the order of a seed.
        outputs: Arrays that a run writes to; each run begins with what they hold now.
        seeds: Orders of threads; 0 is the plain one.
        after: Called with the seed behind each run, while the outputs hold what it wrote.

    Returns:
        All findings, each once, and the counts of the first run. A note says which outputs differ.
    """
    before = {name: _copy(array) for name, array in outputs.items()}
    first: dict[str, bytes] = {}
    differ: dict[str, int] = {}
    reports: dict[int, EmulatorReport] = {}
    for seed in seeds:
        if reports:
            for name, array in outputs.items():
                array[...] = before[name]
        reports[seed] = run(seed)
        for name, array in outputs.items():
            content = _bytes(array)
            if first.setdefault(name, content) != content:
                differ.setdefault(name, seed)
        if after is not None:
            after(seed)
    report = merge_reports(reports)
    start = next(iter(reports), 0)
    notes = [f"{name} differs between the orders {start} and {seed}" for name, seed in differ.items()]
    return replace(report, notes=(*report.notes, *notes))


def merge_reports(reports: Mapping[int, EmulatorReport]) -> EmulatorReport:
    """One report of several orders of threads, by seed; what each finding's first order was is a note."""
    seeds = list(reports)
    if len(seeds) < 2:
        return next(iter(reports.values()))
    findings: dict[tuple[Any, ...], Finding] = {}
    seen: dict[tuple[Any, ...], list[int]] = {}
    for seed, report in reports.items():
        for finding in report.findings:
            key = (finding.kind, finding.place.file, finding.place.line, finding.tensor)
            known = findings.get(key)
            findings[key] = finding if known is None else replace(known, count=known.count + finding.count)
            if seed not in seen.setdefault(key, []):
                seen[key].append(seed)
    notes = [
        f"{findings[key].place} [{findings[key].kind}] was found in {len(where)} of {len(seeds)} orders, "
        f"first with --seed {where[0]}"
        for key, where in seen.items()
        if len(where) < len(seeds)
    ]
    first = reports[seeds[0]]
    return replace(
        first,
        findings=_sorted(findings.values()),
        seconds=sum(r.seconds for r in reports.values()),
        status=next((r.status for r in reports.values() if r.status), 0),
        notes=(*first.notes, f"{len(seeds)} orders of threads were run", *notes),
    )


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    listed: Sequence[Finding] = list(findings)
    return tuple(sorted(listed, key=lambda f: (f.place.file, f.place.line, f.kind)))


def _copy(array: Any) -> Any:
    return array.clone() if hasattr(array, "clone") else array.copy()


def _bytes(array: Any) -> bytes:
    if hasattr(array, "data_ptr"):
        import ctypes

        return ctypes.string_at(array.data_ptr(), array.numel() * array.element_size())
    return bytes(array.tobytes("A"))
