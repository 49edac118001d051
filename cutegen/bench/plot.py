"""A picture of the results: for each shape, how fast its kernels are, torch.mm being 1."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from cutegen.bench.results import Results, Row
from cutegen.bench.timing import STATES
from cutegen.pictures import svg

__all__ = ["plot"]

_WIDTH = 860.0
_MARGIN = 24.0
_BAR = 13.0
_GAP = 3.0
_GROUP_GAP = 14.0
_ALL_SHOWN = 4  # with more kernels than that, only the best of each shape is shown


def plot(results: Results) -> str:
    """The picture as SVG: a panel for each state, a group of bars for each shape, a line where torch.mm is.

    With more than four kernels, each group has the best of them and of each peer's. What has no ratio is left
    out.
    """
    rows = [row for row in results.rows if row.ratio is not None and not row.reference]
    few = len({row.name for row in rows if row.own}) <= _ALL_SHOWN
    label = max([60.0, *(svg.text_width(str(s)) for s in results.shapes())]) + 16
    left = _MARGIN + label
    tail = max([0.0, *(svg.text_width(_caption(row)) for row in rows)])
    most = max([1.1, *(row.ratio or 0.0 for row in rows)])
    scale = max(_WIDTH - _MARGIN - left - tail - 22, 160.0) / most
    y = _MARGIN + 14
    body = [svg.text(_MARGIN, y, "Speed against torch.mm", "title")]
    facts = results.facts
    y += 19
    body.append(
        svg.text(_MARGIN, y, f"{facts.gpu}, CUDA {facts.cuda}, torch {facts.torch}; longer is faster", "soft")
    )
    y += 22
    body += _legend(y, rows)
    for state in results.states():
        y += 30
        body.append(svg.text(_MARGIN, y, state, "strong"))
        body.append(svg.text(_MARGIN + svg.text_width(state) + 12, y, STATES[state].meaning, "soft"))
        y += 12
        top = y + 14
        bars, y = _panel(results, state, rows, few, left, scale, left + scale * most + 14, top)
        body += _axis(left, top, y, scale, most)
        body += bars
        body.append(svg.line(left + scale, top - 4, left + scale, y + 2, "mark"))
    empty = ", ".join(f"{us:.1f} us {state}" for state, us in results.empty_us.items())
    y += 26
    body.append(svg.text(_MARGIN, y, f"Medians; a launch that does nothing takes {empty}.", "soft"))
    best = [row for row in rows if row.own]
    return svg.document(
        _WIDTH,
        ceil(y + _MARGIN),
        "Speed of cutegen's kernels against torch.mm",
        f"Ratio of the time of torch.mm to that of {len({r.name for r in best})} kernels on "
        f"{len(results.shapes())} shapes; over 1 is faster than torch.mm.",
        body,
    )


def _legend(y: float, rows: Sequence[Row]) -> list[str]:
    """What the colours mean."""
    x, parts = _MARGIN, []
    entries = [("own", "kernel of cutegen, the best of the shape")]
    if any(row.own for row in rows) and len({row.name for row in rows if row.own}) in range(
        2, _ALL_SHOWN + 1
    ):
        entries.append(("second", "other kernel of cutegen"))
    if any(not row.own for row in rows):
        entries.append(("peer", "peer"))
    for kind, words in entries:
        parts.append(svg.bar(x, y - 9, 18, 10, kind, words))
        parts.append(svg.text(x + 24, y, words, "soft"))
        x += 24 + svg.text_width(words) + 22
    parts.append(svg.line(x + 4, y - 11, x + 4, y + 3, "mark"))
    parts.append(svg.text(x + 12, y, "torch.mm", "soft"))
    return parts


def _panel(
    results: Results,
    state: str,
    rows: Sequence[Row],
    few: bool,
    left: float,
    scale: float,
    words: float,
    y: float,
) -> tuple[list[str], float]:
    """The groups of one state, and where they end."""
    parts: list[str] = []
    for shape in results.shapes():
        group = sorted(
            (row for row in rows if (row.shape, row.state) == (shape, state)),
            key=lambda row: (not row.own, row.us),
        )
        if not few:
            best: dict[str, Row] = {}  # peers with several kernels have their name before a blank
            for row in group:
                best.setdefault("" if row.own else row.name.split()[0], row)
            group = list(best.values())
        if not group:
            continue
        parts.append(svg.text(left - 10, y + _BAR - 3, str(shape), "end num"))
        for number, row in enumerate(group):
            ratio = row.ratio or 0.0
            kind = "peer" if not row.own else ("own" if number == 0 else "second")
            parts.append(svg.bar(left, y, ratio * scale, _BAR, kind, f"{shape}, {state}: {_words(row)}"))
            parts.append(
                svg.text(words, y + _BAR - 3, f"{ratio:.2f}", "num strong" if number == 0 else "num")
            )
            parts.append(svg.text(words + 34, y + _BAR - 3, _caption(row)[5:], "soft"))
            y += _BAR + _GAP
        y += _GROUP_GAP - _GAP
    return parts, y - _GROUP_GAP + _GAP


def _axis(left: float, top: float, bottom: float, scale: float, most: float) -> list[str]:
    step = 0.25 if most <= 2 else (0.5 if most <= 5 else ceil(most / 8))
    parts = []
    for number in range(int(most / step) + 1):
        x = left + number * step * scale
        parts.append(svg.line(x, top - 4, x, bottom + 2))
        parts.append(svg.text(x, top - 8, f"{number * step:g}", "soft mid num"))
    return parts


def _caption(row: Row) -> str:
    """The words behind a bar: the ratio, the kernel, and its rate."""
    rate = f", {row.tflops:.0f} TFLOP/s" if row.tflops >= 100 else f", {row.gbps:.0f} GB/s"
    return f"{row.ratio or 0:.2f} {row.name}{rate}"


def _words(row: Row) -> str:
    rates = f"{row.tflops:.0f} TFLOP/s, {row.gbps:.0f} GB/s"
    return f"{row.name}, {row.us:.1f} us, {rates}, ratio {row.ratio or 0:.3f}"
