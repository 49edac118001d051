"""Cells of fragments: neighbouring values of one thread share a cell, as in ``T0: a0,a1``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cutegen.pictures.model import Cell

__all__ = ["Owner", "Run", "cells_of_runs", "is_down", "run_size", "runs", "value_words"]

#: Thread and value.
Owner = tuple[int, int]
Place = tuple[int, int]


@dataclass(frozen=True)
class Run:
    """Values of one thread side by side.

    Attributes:
        row: Of the first; likewise ``column``.
        column: See ``row``.
        owner: Thread, and first value.
        length: How many.
    """

    row: int
    column: int
    owner: Owner
    length: int


def is_down(owners: Mapping[Place, Owner]) -> bool:
    """Whether a thread's values follow one another down the columns, and not along the rows."""
    (thread, value), right = owners[0, 0], owners.get((0, 1))
    return right != (thread, value + 1) and owners.get((1, 0)) == (thread, value + 1)


def runs(owners: Mapping[Place, Owner], extents: tuple[int, int], *, down: bool) -> Iterator[Run]:
    """The longest runs, row by row, that fill the first places of a tile."""
    step = (1, 0) if down else (0, 1)
    done: set[Place] = set()
    for row in range(extents[0]):
        for column in range(extents[1]):
            if (row, column) in done or (row, column) not in owners:
                continue
            thread, value = owners[row, column]
            length = 1
            while True:
                place = (row + step[0] * length, column + step[1] * length)
                inside = place[0] < extents[0] and place[1] < extents[1]
                if not inside or owners.get(place) != (thread, value + length):
                    break
                done.add(place)
                length += 1
            yield Run(row, column, (thread, value), length)


def run_size(shortest: int, high: float, *, down: bool) -> tuple[float, float]:
    """Width and height of a place, in pixels, so that the label of the shortest run has room."""
    if shortest == 1:
        return 32.0, high
    return (46.0, 14.0) if down else (max(44.0 / shortest, 6.0), high)


def value_words(letter: str, first: int, length: int) -> str:
    """Values in words: ``a0``, ``a0,a1`` or ``a0..a3``."""
    last = f"{letter}{first + length - 1}"
    return last if length == 1 else f"{letter}{first}{',' if length == 2 else '..'}{last}"


def cells_of_runs(
    found: list[Run],
    letter: str,
    *,
    down: bool,
    group: Callable[[Run], int],
    tip: Callable[[Run], str],
    local: int = 1 << 30,
) -> tuple[Cell, ...]:
    """A cell for each run, with its thread above its values, which are counted modulo ``local``."""
    cells = []
    for run in found:
        thread, value = run.owner
        cells.append(
            Cell(
                row=run.row,
                column=run.column,
                rows=run.length if down else 1,
                columns=1 if down else run.length,
                label=(f"T{thread}", value_words(letter, value % local, run.length)),
                group=group(run),
                tip=tip(run),
                key=f"T{thread}",
            )
        )
    return tuple(cells)
