"""What a picture shows, before anyone says where on the paper: grids of cells and lanes of bars.

Functions from a plan make these; :mod:`cutegen.pictures.place` gives each part its place, and the writers of
SVG and TikZ put that down. A test, or a report, asks the model and not the drawing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Bar", "Cell", "Grid", "Key", "Lane", "Mark", "Panel", "Phase", "Picture", "Timeline"]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A rectangle of a grid, of one place or more.

    Attributes:
        row: Topmost row; likewise ``column``.
        column: See ``row``.
        rows: Rows that it spans; likewise ``columns``.
        columns: See ``rows``.
        label: Its words, one line each.
        group: Index of its colour in the grid's; below 0 for none.
        tip: What is said of it under the mouse.
        key: What a program finds it by, for example ``T0``.
        marked: Whether it has a thick outline.
    """

    row: int
    column: int
    rows: int = 1
    columns: int = 1
    label: tuple[str, ...] = ()
    group: int = -1
    tip: str = ""
    key: str = ""
    marked: bool = False


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Cells in rows and columns.

    Attributes:
        title: What it is.
        rows: How many; likewise ``columns``.
        columns: See ``rows``.
        cells: The cells; places without one stay empty.
        row_names: A name for each row, or none; likewise ``column_names``.
        column_names: See ``row_names``.
        corner: What the names are.
        size: Width and height of one place, in pixels.
        colours: Colours of the groups, as ``#rrggbb``.
        notes: Sentences under the title.
    """

    title: str
    rows: int
    columns: int
    cells: tuple[Cell, ...]
    row_names: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()
    corner: str = ""
    size: tuple[float, float]
    colours: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Lane:
    """A row of a timeline.

    Attributes:
        name: What or who it is.
        kind: ``ring`` for a slot of the ring buffer, ``work`` for someone who does something.
    """

    name: str
    kind: Literal["ring", "work"] = "work"


@dataclass(frozen=True, kw_only=True)
class Bar:
    """What happens in a lane for some time.

    Attributes:
        lane: Index of the lane.
        start: When it begins; likewise ``end``.
        end: See ``start``.
        label: Its words.
        group: Index of its colour in the timeline's: the slot of the ring; below 0 for none.
        kind: ``fill`` while bytes are under way, ``full`` when they wait, ``use`` for work on them,
            ``wait`` for someone who can go no further, ``other`` for the rest.
        k_tile: The k-tile it is about; below 0 for none.
        tip: What is said of it under the mouse.
    """

    lane: int
    start: float
    end: float
    label: str = ""
    group: int = -1
    kind: Literal["fill", "full", "use", "wait", "other"] = "use"
    k_tile: int = -1
    tip: str = ""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A moment that all lanes, or some, share.

    Attributes:
        at: When.
        label: What happens.
        first: First of the lanes that it crosses; likewise ``last``.
        last: See ``first``.
    """

    at: float
    label: str
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A part of the time with a name, for example the prologue."""

    start: float
    end: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Bars in lanes over time.

    Attributes:
        title: What it is.
        lanes: The rows.
        bars: What happens.
        marks: Moments.
        phases: Parts of the time.
        unit: Pixels of one unit of time.
        colours: Colours of the groups, as ``#rrggbb``.
        notes: Sentences under the title.
    """

    title: str
    lanes: tuple[Lane, ...]
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...] = ()
    phases: tuple[Phase, ...] = ()
    unit: float
    colours: tuple[str, ...]
    notes: tuple[str, ...] = ()


Panel = Grid | Timeline


@dataclass(frozen=True, kw_only=True)
class Key:
    """A line of the legend: a colour, or a kind of bar, and what it means."""

    colour: str
    label: str
    kind: Literal["cell", "marked", "fill", "full", "use", "wait", "other"] = "cell"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A whole picture.

    Attributes:
        what: Its name on the command line, for example ``smem-a``.
        title: What it shows.
        subtitle: Of which kernel.
        panels: Rows of panels, from left to right; None leaves a place empty.
        legend: What the colours mean.
        notes: Sentences below everything.
    """

    what: str
    title: str
    subtitle: str
    panels: tuple[tuple[Panel | None, ...], ...]
    legend: tuple[Key, ...] = ()
    notes: tuple[str, ...] = ()

    def _repr_svg_(self) -> str:
        """The picture in a notebook."""
        from cutegen.pictures.write_svg import to_svg

        return to_svg(self)

    @property
    def grids(self) -> tuple[Grid, ...]:
        """All grids, row by row."""
        return tuple(panel for row in self.panels for panel in row if isinstance(panel, Grid))

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """All timelines, row by row."""
        return tuple(panel for row in self.panels for panel in row if isinstance(panel, Timeline))
