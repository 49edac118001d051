"""``g2s-a`` and ``g2s-b``: which thread copies which vector in which round, and where to."""

from __future__ import annotations

from dataclasses import dataclass

from cutegen.lint.traffic import shared_accesses
from cutegen.operands.model import Which
from cutegen.pictures.colours import HUES
from cutegen.pictures.model import Cell, Grid, Key, Picture
from cutegen.pictures.tile import LINE, bank_names, kernel_tile, overview_extents
from cutegen.pictures.words import cost_of, count, subtitle
from cutegen.plan import KernelPlan, OperandPlan

__all__ = ["Round", "g2s_picture", "rounds"]

_ROWS = 32  # shown in detail; likewise _COLUMNS
_COLUMNS = 16
_MOST_CELLS = 2048  # with labels
_OVERVIEW = 420.0  # pixels of the longer side of an overview

#: Thread and round that copy a vector.
Round = tuple[int, int]


def rounds(plan: KernelPlan, operand: OperandPlan) -> dict[tuple[int, int], Round]:
    """(MN, K) of each vector's first element to the thread that copies it, and in which of its rounds."""
    copy = operand.copy
    threads = list(zip(copy.thread_mn.table(), copy.thread_k.table(), strict=True))
    steps = list(zip(copy.step_mn.table(), copy.step_k.table(), strict=True))
    return {
        (mn + i, k + j): (thread, number)
        for number, (i, j) in enumerate(steps)
        for thread, (mn, k) in enumerate(threads)
    }


def g2s_picture(plan: KernelPlan, which: Which, label: str = "") -> Picture:
    """Vectors in coordinates of the tile, and the same in shared memory."""
    operand = plan.a if which == "a" else plan.b
    seen = _seen(plan, operand)
    rows, columns = seen.extents
    first = min(plan.threads, 32, max(1, LINE // seen.width))
    costs = tuple(f"{cost_of(a)}." for a in shared_accesses(plan, operand) if a.name.startswith("G2S"))
    shown = min(rows, _ROWS), min(columns, _COLUMNS if seen.width > 2 else 2 * _COLUMNS)
    detail, shared = _global(seen, shown, first), _shared(seen, shown, first, costs)
    eighth = " and each eighth after" if plan.threads > 32 * len(HUES) else ""
    together = f"the first {count(first, 'lane')} of warp 0, {first * seen.width} B together"
    return Picture(
        what=f"g2s-{which}",
        title=f"Copies of {which.upper()} from global to shared memory",
        subtitle=subtitle(plan, label),
        panels=((detail, shared, _global(seen, overview_extents(rows, columns), None)),),
        legend=(
            *(Key(colour=c, label=f"warp {w}{eighth}") for w, c in enumerate(HUES) if w < plan.threads // 32),
            Key(colour="", label=f"thick: {together}", kind="marked"),
        ),
        notes=(
            f"A cell is one copy of {seen.width} B ({count(operand.copy.vector, 'element')}) by "
            f"{operand.copy.op}: above the thread, below its round, of {operand.copy.steps} for each "
            "k-tile. Coloured by warp mod 8.",
        ),
    )


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """An operand's vectors as global memory has them, its contiguous mode along the columns.

    Attributes:
        modes: Names of the modes of rows and of columns.
        extents: Rows, and vectors of a row.
        vector: Elements of a vector.
        width: Bytes of a vector.
        owners: Row and vector to thread and round.
        offsets: Row and vector to bytes from the start of the operand's stage.
    """

    modes: tuple[str, str]
    extents: tuple[int, int]
    vector: int
    width: int
    owners: dict[tuple[int, int], Round]
    offsets: dict[tuple[int, int], int]

    def cell(self, at: tuple[int, int], row: int, column: int, first: int | None) -> Cell:
        """The cell of a vector at a place of a grid; without a label where ``first`` is None."""
        thread, number = self.owners[at]
        where = f"{self.modes[0]} {at[0]}, {self.modes[1]} {at[1] * self.vector}"
        return Cell(
            row=row,
            column=column,
            label=(f"T{thread}", f"r{number}") if first is not None else (),
            group=thread // 32 % len(HUES),
            tip=f"{where}: thread {thread}, round {number}, to byte {self.offsets[at]}",
            key=f"T{thread}",
            marked=first is not None and thread < first and number == 0,
        )


def _seen(plan: KernelPlan, operand: OperandPlan) -> _Seen:
    tile, vector = kernel_tile(plan, operand.which), operand.copy.vector
    along_k = plan.config.operand(operand.which).major == "k"
    mode = "m" if operand.which == "a" else "n"
    owners, offsets = {}, {}
    for (mn, k), owner in rounds(plan, operand).items():
        at = (mn, k // vector) if along_k else (k, mn // vector)
        owners[at], offsets[at] = owner, tile.table[mn][k]
    rows, columns = tile.extents if along_k else tile.extents[::-1]
    return _Seen(
        modes=(mode, "k") if along_k else ("k", mode),
        extents=(rows, columns // vector),
        vector=vector,
        width=vector * tile.size,
        owners=owners,
        offsets=offsets,
    )


def _global(seen: _Seen, shown: tuple[int, int], first: int | None) -> Grid:
    """Vectors by their coordinates: some with labels, or many without."""
    (rows, columns), (down, across) = shown, seen.modes
    size = (38.0, 26.0)
    if first is None:
        size = (max(2.0, min(22.0, _OVERVIEW / columns)), max(2.0, min(9.0, _OVERVIEW * 2 / rows)))
    part = f"Shown: {rows} of {seen.extents[0]} along {down}"
    if columns < seen.extents[1]:
        part += f", {columns * seen.vector} of {seen.extents[1] * seen.vector} along {across}"
    return Grid(
        title="The whole tile" if first is None else "In global memory",
        rows=rows,
        columns=columns,
        cells=tuple(seen.cell((r, c), r, c, first) for r in range(rows) for c in range(columns)),
        row_names=tuple(f"{down} {row}" for row in range(rows)),
        column_names=tuple(f"{across} {column * seen.vector}" for column in range(columns)),
        size=size,
        colours=HUES,
        notes=(f"{part}.",) if shown != seen.extents else (),
    )


def _shared(seen: _Seen, shown: tuple[int, int], first: int, costs: tuple[str, ...]) -> Grid:
    """The same vectors by address, as far as those go that the detail shows."""
    last = max(offset for at, offset in seen.offsets.items() if at[0] < shown[0] and at[1] < shown[1])
    lines = min(_ROWS, _MOST_CELLS // (LINE // seen.width), last // LINE + 1)
    cells = [
        seen.cell(at, offset // LINE, offset % LINE // seen.width, first)
        for at, offset in seen.offsets.items()
        if offset < lines * LINE
    ]
    return Grid(
        title="In shared memory, by address",
        rows=lines,
        columns=LINE // seen.width,
        cells=tuple(sorted(cells, key=lambda cell: (cell.row, cell.column))),
        row_names=tuple(f"B {line * LINE}" for line in range(lines)),
        column_names=bank_names(seen.width),
        corner="byte \\ bank",
        size=(38.0 if seen.width >= 8 else 30.0, 26.0),
        colours=HUES,
        notes=costs or ("cp.async.cg: the hardware counts no wavefronts.",),
    )
