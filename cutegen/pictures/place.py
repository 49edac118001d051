"""Gives each part of a picture its place on the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from cutegen.pictures.colours import is_light
from cutegen.pictures.model import Bar, Grid, Key, Panel, Picture, Timeline
from cutegen.pictures.shapes import Box, Drawing, Line, Shape, Words
from cutegen.pictures.svg import text_width

__all__ = ["place"]

_MARGIN = 24.0
_GAP = 36.0  # between panels
_NOTE = 15.0  # from line to line
_NARROWEST = 280.0  # of a panel's words
_NAME = 9.5  # size of letters of rows and columns
_LANE = 26.0
_WIDER = 1.1  # the widest of the usual fonts, against what text_width says
_SMALLEST = 5.0  # letters below this are left out


@dataclass
class _Sheet:
    """Shapes so far, from the place of a panel on."""

    x: float
    y: float
    shapes: list[Shape] = field(default_factory=list)

    def words(self, x: float, y: float, text: str, size: float = 11.0, **kind: object) -> None:
        self.shapes.append(Words(self.x + x, self.y + y, text, size, **kind))  # type: ignore[arg-type]

    def box(self, x: float, y: float, width: float, height: float, **kind: object) -> None:
        self.shapes.append(Box(self.x + x, self.y + y, width, height, **kind))  # type: ignore[arg-type]

    def line(self, x1: float, y1: float, x2: float, y2: float, **kind: object) -> None:
        x, y = self.x, self.y
        self.shapes.append(Line(x + x1, y + y1, x + x2, y + y2, **kind))  # type: ignore[arg-type]


def place(picture: Picture) -> Drawing:
    """The picture with every part in its place."""
    top = _MARGIN + 58
    sizes = [[_size(panel) if panel else (0.0, 0.0) for panel in row] for row in picture.panels]
    columns = max(map(len, sizes))
    widths = [max((row[i][0] for row in sizes if i < len(row)), default=0.0) for i in range(columns)]
    shapes: list[Shape] = []
    y = top
    for row, row_sizes in zip(picture.panels, sizes, strict=True):
        x, above = _MARGIN, max((_top(panel) for panel in row if panel), default=0.0)
        for panel, width in zip(row, widths, strict=False):
            if panel is not None:
                shapes += _panel(panel, x, y, above)
            x += width + _GAP
        y += above + max(height for _, height in row_sizes) + _GAP * 0.7
    width = max(
        _MARGIN * 2 + sum(widths) + _GAP * (columns - 1),
        _MARGIN * 2 + text_width(picture.title, 17) * _WIDER * 1.08,
        _MARGIN * 2 + text_width(picture.subtitle, 11.5) * _WIDER,
        640.0,
    )
    head = _Sheet(_MARGIN, _MARGIN)
    head.words(0, 14, picture.title, 17.0, bold=True)
    head.words(0, 34, picture.subtitle, 11.5, tone="soft")
    foot = _Sheet(_MARGIN, y)
    bottom = _legend(foot, picture.legend, width - 2 * _MARGIN)
    for note in picture.notes:
        for text in _wrapped(note, width - 2 * _MARGIN):
            bottom += _NOTE
            foot.words(0, bottom, text, tone="soft")
    return Drawing(
        width=ceil(width),
        height=ceil(y + bottom + _MARGIN),
        title=f"{picture.title}, {picture.subtitle}",
        description=" ".join([picture.title + ".", *_said(picture)]),
        shapes=(*head.shapes, *shapes, *foot.shapes),
    )


def _said(picture: Picture) -> list[str]:
    """What the panels say in words."""
    panels = [panel for row in picture.panels for panel in row if panel]
    return [
        f"{panel.title}: {' '.join(panel.notes)}" if panel.notes else f"{panel.title}." for panel in panels
    ]


def _legend(sheet: _Sheet, keys: Sequence[Key], width: float) -> float:
    """The legend in lines; returns where it ends."""
    if not keys:
        return 0.0
    x, y = 0.0, 12.0
    for key in keys:
        needed = 22 + text_width(key.label, 11) * _WIDER + 18
        if x and x + needed > width:
            x, y = 0.0, y + 18
        _swatch(sheet, x, y - 10, key)
        sheet.words(x + 22, y, key.label, tone="soft")
        x += needed
    return y + 4


def _swatch(sheet: _Sheet, x: float, y: float, key: Key) -> None:
    if key.kind in ("cell", "marked"):
        sheet.box(x, y, 16, 12, fill=key.colour, edge="thick" if key.kind == "marked" else "thin")
    else:
        _bar(sheet, x, y, 16, 12, key.kind, key.colour, "")


def _wrapped(text: str, width: float, size: float = 11.0) -> list[str]:
    """Words in lines no wider than that."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) * _WIDER <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


# ---- panels


def _size(panel: Panel) -> tuple[float, float]:
    """Width of a panel, and height of its body."""
    if isinstance(panel, Timeline):
        height = _phase_height(panel) + len(panel.lanes) * _LANE
    else:
        height = panel.rows * panel.size[1]
    return max(_left(panel) + _inner(panel), _words_width(panel)), height


def _words_width(panel: Panel) -> float:
    left, inner = _left(panel), _inner(panel)
    longest = max((text_width(t, 11) * _WIDER for t in _notes(panel)), default=0.0)
    return min(max(text_width(panel.title, 12.5) * _WIDER * 1.08, longest), max(left + inner, 2 * _NARROWEST))


def _inner(panel: Panel) -> float:
    if isinstance(panel, Timeline):
        return panel.unit * max((bar.end for bar in panel.bars), default=1.0)
    return panel.columns * panel.size[0]


def _left(panel: Panel) -> float:
    if isinstance(panel, Timeline):
        return max(text_width(lane.name, 11) for lane in panel.lanes) * _WIDER + 12
    corner = text_width(panel.corner, _NAME)
    if not panel.row_names:
        return 0.0
    return max([corner, *(text_width(name, _NAME) for name in panel.row_names)]) + 8


def _notes(panel: Panel) -> list[str]:
    width = max(_left(panel) + _inner(panel), _NARROWEST)
    return [text for note in panel.notes for text in _wrapped(note, width)]


def _top(panel: Panel) -> float:
    """Space above a panel's body."""
    names = 14.0 if isinstance(panel, Grid) and panel.column_names else 0.0
    return 22 + _NOTE * len(_notes(panel)) + names


def _panel(panel: Panel, x: float, y: float, head: float) -> list[Shape]:
    """A panel whose body begins at ``head``, so that those of a row begin together."""
    sheet = _Sheet(x, y)
    sheet.words(0, 12, panel.title, 12.5, bold=True)
    for number, text in enumerate(_notes(panel)):
        sheet.words(0, 12 + _NOTE * (number + 1), text, tone="soft")
    body = _Sheet(x + _left(panel), y + head)
    if isinstance(panel, Timeline):
        _timeline(body, panel)
    else:
        _grid(body, panel)
    return [*sheet.shapes, *body.shapes]


def _grid(sheet: _Sheet, grid: Grid) -> None:
    width, height = grid.size
    every = 1
    while every * height < _NAME + 1:
        every *= 2
    for index, name in enumerate(grid.row_names):
        if index % every == 0:
            sheet.words(
                -6, index * height + height / 2 + _NAME * 0.36, name, _NAME, anchor="end", tone="soft"
            )
    widest = max((text_width(name, _NAME) for name in grid.column_names), default=0.0)
    every = 1
    while every * width < widest + 4:
        every *= 2
    for index, name in enumerate(grid.column_names):
        if index % every == 0:
            middle = index * width + width / 2
            if every == 1:
                sheet.words(middle, -5, name, _NAME, anchor="mid", tone="soft")
            else:
                sheet.words(index * width, -5, name, _NAME, tone="soft")
    if grid.corner and grid.row_names:
        sheet.words(-6, -5, grid.corner, _NAME, anchor="end", tone="soft")
    marked: list[Shape] = []
    for cell in grid.cells:
        fill = grid.colours[cell.group % len(grid.colours)] if cell.group >= 0 else ""
        x, y = cell.column * width, cell.row * height
        w, h = cell.columns * width, cell.rows * height
        edge = "none" if min(width, height) < 8 else "thin"
        sheet.box(x, y, w, h, fill=fill, edge=edge, tip=cell.tip, key=cell.key)
        if cell.marked:
            marked.append(Box(sheet.x + x + 1, sheet.y + y + 1, w - 2, h - 2, "none", "thick"))
        _label(sheet, x, y, w, h, cell.label, fill)
    sheet.shapes += marked


def _label(
    sheet: _Sheet, x: float, y: float, width: float, height: float, label: Sequence[str], fill: str
) -> None:
    """Lines of words in the middle of a box, as large as they fit; the first is heavier."""
    if not label:
        return
    widest = max(text_width(text, 1.1 if len(label) > 1 else 1.0) for text in label)
    size = min(10.0, (height - 2) / (len(label) * 1.12), (width - 2.5) / (widest * _WIDER))
    if size < _SMALLEST:
        return
    size = int(size * 2) / 2
    tone = "ink" if not fill else ("dark" if is_light(fill) else "light")
    first = y + height / 2 - (len(label) - 1) * size * 0.56 + size * 0.36
    for number, text in enumerate(label):
        bold = number == 0 and len(label) > 1
        sheet.words(
            x + width / 2, first + number * size * 1.12, text, size, anchor="mid", tone=tone, bold=bold
        )


# ---- timelines


def _phase_height(line: Timeline) -> float:
    return (18.0 if line.phases else 0.0) + 14.0 * _mark_rows(line)


def _mark_rows(line: Timeline) -> int:
    return 1 if any(mark.label for mark in line.marks) else 0


def _timeline(sheet: _Sheet, line: Timeline) -> None:
    unit, end = line.unit, max((bar.end for bar in line.bars), default=1.0)
    y = 0.0
    for phase in line.phases:
        sheet.box(phase.start * unit + 1, 0, (phase.end - phase.start) * unit - 2, 14, edge="thin")
        _label(sheet, phase.start * unit, 0, (phase.end - phase.start) * unit, 14, (phase.label,), "")
    y = _phase_height(line)
    for index, lane in enumerate(line.lanes):
        middle = y + index * _LANE + _LANE / 2
        sheet.words(
            -8, middle + 4, lane.name, 11.0, anchor="end", tone="soft" if lane.kind == "ring" else "ink"
        )
        sheet.line(0, y + (index + 1) * _LANE, end * unit, y + (index + 1) * _LANE)
    for bar in line.bars:
        _place_bar(sheet, line, bar, y)
    for mark in line.marks:
        top = y + mark.first * _LANE - 2
        sheet.line(mark.at * unit, top, mark.at * unit, y + (mark.last + 1) * _LANE, kind="dash")
        if mark.label:
            sheet.words(mark.at * unit, y - 5, mark.label, 8.5, anchor="mid", tone="soft")


def _place_bar(sheet: _Sheet, line: Timeline, bar: Bar, y: float) -> None:
    colour = line.colours[bar.group % len(line.colours)] if bar.group >= 0 else ""
    x, width = bar.start * line.unit, (bar.end - bar.start) * line.unit
    top = y + bar.lane * _LANE + 3
    fill = _bar(sheet, x + 0.5, top, width - 1, _LANE - 6, bar.kind, colour, bar.tip)
    _label(sheet, x, top, width, _LANE - 6, (bar.label,), fill)


def _bar(
    sheet: _Sheet, x: float, y: float, width: float, height: float, kind: str, colour: str, tip: str
) -> str:
    """A bar of a kind; returns the colour that letters on it stand on."""
    if kind == "use":
        sheet.box(x, y, width, height, fill=colour, edge="thin", tip=tip)
        return colour
    if kind == "fill":  # a dashed outline over a stripe of colour: on its way
        sheet.box(x, y + height - 4, width, 4, fill=colour, edge="none")
        sheet.box(x, y, width, height, fill="none", edge="dashed", tip=tip)
        return ""
    if kind == "full":
        sheet.box(x, y + height - 4, width, 4, fill=colour, edge="none")
        sheet.box(x, y, width, height, fill="none", edge="thin", tip=tip)
        return ""
    sheet.box(x, y, width, height, fill="none", edge="dashed" if kind == "wait" else "thin", tip=tip)
    return ""
