"""``g2s-a`` and ``g2s-b``: which thread copies which vector in which round, and where to."""

from __future__ import annotations

from cutegen.lint.traffic import shared_accesses
from cutegen.operands.model import Which
from cutegen.pictures.colours import HUES
from cutegen.pictures.model import Cell, Grid, Key, Picture
from cutegen.pictures.tile import LINE, SmemTile, kernel_tile
from cutegen.pictures.words import cost_of, count, subtitle
from cutegen.plan import KernelPlan, OperandPlan

__all__ = ["Round", "g2s_picture", "rounds"]

_ROWS = 32
_OVERVIEW = 420.0

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
    tile, by_place = kernel_tile(plan, which), rounds(plan, operand)
    size, vector = tile.size, operand.copy.vector
    along_k = plan.config.operand(which).major == "k"
    rows, columns = tile.extents if along_k else tile.extents[::-1]
    shown = (min(rows, _ROWS), min(columns // vector, 16 if vector * size > 2 else 32))
    vectors = {
        ((mn, k // vector) if along_k else (k, mn // vector)): (owner, tile.table[mn][k])
        for (mn, k), owner in by_place.items()
    }
    mode = "m" if which == "a" else "n"
    down, across = (mode, "k") if along_k else ("k", mode)
    first = min(plan.threads, 32, max(1, LINE // (vector * size)))
    names = (down, across, vector)
    detail = _global("In global memory", vectors, shown, (rows, columns // vector), names, first)
    overview = _global(
        "The whole tile",
        vectors,
        (min(rows, 256), min(columns // vector, 256)),
        (rows, columns // vector),
        names,
        None,
    )
    notes = [f"{cost_of(a)}." for a in shared_accesses(plan, operand) if a.name.startswith("G2S")]
    return Picture(
        what=f"g2s-{which}",
        title=f"Copies of {which.upper()} from global to shared memory",
        subtitle=subtitle(plan, label),
        panels=(
            (detail, _shared(tile, vectors, vector * size, shown, first, tuple(notes), along_k), overview),
        ),
        legend=(
            *(
                Key(
                    colour=colour,
                    label=f"warp {w}" + (" and each eighth after" if plan.threads > 256 else ""),
                )
                for w, colour in enumerate(HUES)
                if w < plan.threads // 32
            ),
            Key(
                colour="",
                label=(
                    f"thick: the first {count(first, 'lane')} of warp 0, {first * vector * size} B together"
                ),
                kind="marked",
            ),
        ),
        notes=(
            f"A cell is one copy of {vector * size} B ({count(vector, 'element')}) by {operand.copy.op}: "
            "above the thread, "
            f"below its round, of {operand.copy.steps} for each k-tile. Coloured by warp mod 8.",
        ),
    )


Vectors = dict[tuple[int, int], tuple[Round, int]]


def _cell(row: int, column: int, owner: Round, offset: int, first: int | None, words: str) -> Cell:
    thread, number = owner
    return Cell(
        row=row,
        column=column,
        label=(f"T{thread}", f"r{number}") if first is not None else (),
        group=thread // 32 % len(HUES),
        tip=f"{words}: thread {thread}, round {number}, to byte {offset}",
        key=f"T{thread}",
        marked=first is not None and thread < first and number == 0,
    )


def _global(
    title: str,
    vectors: Vectors,
    shown: tuple[int, int],
    whole: tuple[int, int],
    names: tuple[str, str, int],
    first: int | None,
) -> Grid:
    down, across, vector = names
    cells = tuple(
        _cell(row, column, *vectors[row, column], first, f"{down} {row}, {across} {column * vector}")
        for row in range(shown[0])
        for column in range(shown[1])
    )
    size = (38.0, 26.0)
    if first is None:
        size = (max(2.0, min(22.0, _OVERVIEW / shown[1])), max(2.0, min(9.0, _OVERVIEW * 2 / shown[0])))
    part = () if shown == whole or first is None else (f"Shown: {shown[0]} of {whole[0]} rows along {down}.",)
    if first is not None and shown[1] < whole[1]:
        part = (
            f"Shown: {shown[0]} of {whole[0]} along {down}, {shown[1] * vector} of {whole[1] * vector} "
            f"along {across}.",
        )
    return Grid(
        title=title,
        rows=shown[0],
        columns=shown[1],
        cells=cells,
        row_names=tuple(f"{down} {row}" for row in range(shown[0])),
        column_names=tuple(f"{across} {column * vector}" for column in range(shown[1])),
        size=size,
        colours=HUES,
        notes=part,
    )


def _shared(
    tile: SmemTile,
    vectors: Vectors,
    width: int,
    shown: tuple[int, int],
    first: int,
    notes: tuple[str, ...],
    along_k: bool,
) -> Grid:
    """The same vectors by address; those of the rows that the detail shows, as far as they go."""
    by_offset = {offset: (place, owner) for place, (owner, offset) in vectors.items()}
    last = max(
        offset for (row, column), (_, offset) in vectors.items() if row < shown[0] and column < shown[1]
    )
    lines = range(min(_ROWS, last // LINE + 1))
    per_line, banks = LINE // width, max(1, width // 4)
    down, across = tile.modes if along_k == tile.along_k else tile.modes[::-1]
    cells = []
    for offset, ((row, column), owner) in by_offset.items():
        line, within = divmod(offset, LINE)
        if line in lines:
            cells.append(
                _cell(line, within // width, owner, offset, first, f"{down} {row}, {across} vector {column}")
            )
    return Grid(
        title="In shared memory, by address",
        rows=len(lines),
        columns=per_line,
        cells=tuple(cells),
        row_names=tuple(f"B {line * LINE}" for line in lines),
        column_names=tuple(
            (f"{b * width // 4}-{b * width // 4 + banks - 1}" if banks > 1 else str(b * width // 4))
            if b * width % 4 == 0
            else ""
            for b in range(per_line)
        ),
        corner="byte \\ bank",
        size=(38.0 if per_line <= 16 else 30.0, 26.0),
        colours=HUES,
        notes=notes or ("cp.async.cg: the hardware counts no wavefronts.",),
    )
