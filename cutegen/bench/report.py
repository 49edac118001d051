"""Results as lines for people and as CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from cutegen.bench.results import Results, Row
from cutegen.bench.timing import STATES

__all__ = ["HEAD", "csv_text", "facts_lines", "row_cells", "summary_rows"]

HEAD = ("us", "TFLOP/s", "GB/s", "of floor", "vs torch.mm")
"""The columns of :func:`row_cells` behind the name."""


def row_cells(row: Row) -> list[str]:
    """One row: the name, and a cell for each column of :data:`HEAD`."""
    return [
        row.name,
        _figure(row.us),
        f"{row.tflops:.0f}" if row.tflops >= 10 else (f"{row.tflops:.2g}" if row.tflops else ""),
        f"{row.gbps:.0f}",
        f"{100 * row.floor_share:.0f} % ({row.floor.by})",
        "" if row.ratio is None else f"{row.ratio:.3f}",
    ]


def facts_lines(results: Results) -> Iterator[str]:
    """What the figures mean."""
    facts = results.facts
    yield f"{facts.gpu}, {facts.multiprocessors} SMs, CUDA {facts.cuda}, torch {facts.torch}"
    empty = ", ".join(f"{us:.1f} us {state}" for state, us in results.empty_us.items())
    yield f"a launch that does nothing: {empty}; it is part of every time"
    rates = "; ".join(
        f"{peak:g} TFLOP/s for {operands} (data sheet, dense)"
        if peak
        else f"no rate of this card is known for {operands}, so FLOP set no floor"
        for operands, peak in results.peaks.items()
    )
    yield f"floor: A, B and D moved once at the {facts.copy_gbps:.0f} GB/s of a copy here, or FLOP at {rates}"
    for state in results.states():
        yield f"{state}: {STATES[state].meaning}"
    repeated = sum(row.repeated for row in results.rows)
    if repeated:
        yield f"{repeated} samples were taken again because the host was late"


def summary_rows(results: Results) -> list[list[str]]:
    """The best kernel of each shape in each state: shape, state, kernel, us, ratio."""
    rows = []
    for shape in results.shapes():
        for state in results.states():
            best = next((row for row in results.select(shape, state) if row.own), None)
            if best is not None:
                ratio = "" if best.ratio is None else f"{best.ratio:.3f}"
                rows.append([str(shape), state, best.name, _figure(best.us), f"{best.tflops:.0f}", ratio])
    return rows


def csv_text(rows: Sequence[Row]) -> str:
    """All rows with a head; the columns are those of :meth:`Row.to_dict`."""
    if not rows:
        return ""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0].to_dict()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.to_dict() for row in rows)
    return out.getvalue()


def _figure(us: float) -> str:
    return f"{us:.1f}" if us < 1000 else f"{us:.0f}"
