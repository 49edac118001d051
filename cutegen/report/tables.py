"""Tables of one config, or of two with what differs between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Row", "Table", "merged", "table"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of a table.

    Attributes:
        name: What it is about.
        cells: For each config the texts of its columns; None for a config that has no such line.
        differs: Whether the configs differ in it.
    """

    name: str
    cells: tuple[tuple[str, ...] | None, ...]
    differs: bool


@dataclass(frozen=True, kw_only=True)
class Table:
    """Lines with the same columns for each config.

    Attributes:
        title: What the lines are about.
        columns: Names of a config's columns.
        rows: The lines.
        numbers: Columns of numbers, which stand at the right.
        marks: Texts of cells that stand out.
        notes: What is said below.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    numbers: frozenset[int] = frozenset()
    marks: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    @property
    def differing(self) -> list[str]:
        """Names of the lines in which the configs differ."""
        return [row.name for row in self.rows if row.differs]


def table(
    title: str,
    columns: Sequence[str],
    configs: Sequence[Mapping[str, tuple[str, ...]]],
    numbers: Iterable[int] = (),
    compared: int | None = None,
    marks: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> Table:
    """The lines of one config or more, in the order in which they first occur.

    Args:
        title: As of :class:`Table`; likewise ``columns`` and ``numbers``.
        columns: See ``title``.
        configs: Lines of each config by name.
        numbers: See ``title``.
        compared: The first so many columns tell whether configs differ; all of them when left out.
        marks: As of :class:`Table`; likewise ``notes``.
        notes: See ``marks``.
    """
    names = list(dict.fromkeys(name for config in configs for name in config))
    rows = []
    for name in names:
        cells = tuple(config.get(name) for config in configs)
        told = {None if own is None else own[:compared] for own in cells}
        rows.append(Row(name=name, cells=cells, differs=len(told) > 1))
    return Table(
        title=title,
        columns=tuple(columns),
        rows=tuple(rows),
        numbers=frozenset(numbers),
        marks=frozenset(marks),
        notes=tuple(notes),
    )


def merged(pairs: Iterable[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Pairs of a name and a text; one without a name goes on with the line before."""
    found: dict[str, tuple[str, ...]] = {}
    last = ""
    for name, text in pairs:
        last = name or last
        found[last] = (f"{found[last][0]}; {text}",) if last in found else (text,)
    return found
