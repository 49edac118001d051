"""``mma``: the fragments of one MMA operation as the PTX ISA draws them: A left, B above, C between."""

from __future__ import annotations

from cutegen.atoms import MmaAtom
from cutegen.layout.algebra import Layout
from cutegen.pictures.colours import HUES
from cutegen.pictures.fragments import Owner, Run, cells_of_runs, is_down, runs, value_words
from cutegen.pictures.model import Cell, Grid, Picture
from cutegen.pictures.words import PicturePlan, subtitle
from cutegen.plan import WgmmaPlan
from cutegen.wgmma_atoms import A_REGISTERS, WARPGROUP, WGMMA_M

__all__ = ["fragment_table", "mma_picture"]

_CELL = (36.0, 26.0)
_WGMMA_COLUMNS = 16  # of the accumulators that are shown


def fragment_table(tv: Layout, threads: int, rows: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(row, column) to (thread, value) of an atom's layout, whose offsets are row + rows * column."""
    return {
        (offset % rows, offset // rows): (index % threads, index // threads)
        for index, offset in enumerate(tv.table())
    }


def mma_picture(plan: PicturePlan, label: str = "") -> Picture:
    """The thread-value layouts of the MMA operation."""
    if isinstance(plan, WgmmaPlan):
        return _wgmma(plan, label)
    atom = plan.atom
    m, n, k = atom.shape
    a = fragment_table(atom.a_tv, atom.threads, m)
    b = {(c, r): owner for (r, c), owner in fragment_table(atom.b_tv, atom.threads, n).items()}
    c = fragment_table(atom.c_tv, atom.threads, m)
    return Picture(
        what="mma",
        title=f"MMA operation {atom.name}",
        subtitle=subtitle(plan, label),
        panels=(
            (None, _fragment("B", b, (k, n), "k \\ n")),
            (_fragment("A", a, (m, k), "m \\ k"), _fragment("C", c, (m, n), "m \\ n")),
        ),
        notes=(
            f"{_who(atom)} A holds {atom.a_values}, B {atom.b_values} and C {atom.c_values} values of each "
            "thread; coloured by thread mod 8.",
        ),
    )


def _who(atom: MmaAtom) -> str:
    if atom.is_simt:
        return "One multiply-add of a CUDA core."
    return (
        f"T0 to T{atom.threads - 1} are the lanes of a warp; a, b and c are their registers' elements in "
        "order."
    )


def _fragment(
    name: str,
    owners: dict[tuple[int, int], Owner],
    extents: tuple[int, int],
    corner: str,
    notes: tuple[str, ...] = (),
) -> Grid:
    """A fragment of a thread's registers."""
    letter, down = name.lower(), is_down(owners)

    def tip(run: Run) -> str:
        return f"thread {run.owner[0]}: {value_words(letter, run.owner[1], run.length)}"

    return Grid(
        title=name,
        rows=extents[0],
        columns=extents[1],
        cells=cells_of_runs(
            list(runs(owners, extents, down=down)),
            letter,
            down=down,
            group=lambda run: run.owner[0] % len(HUES),
            tip=tip,
        ),
        row_names=tuple(map(str, range(extents[0]))),
        column_names=tuple(map(str, range(extents[1]))),
        corner=corner,
        size=_CELL,
        colours=HUES,
        notes=notes,
    )


# ---- wgmma


def _wgmma(plan: WgmmaPlan, label: str) -> Picture:
    """Accumulators of a warpgroup; A and B stay in shared memory, in core matrices of 8 rows by 16 bytes."""
    atom = plan.atom
    m, n, k = atom.shape
    shown = min(n, _WGMMA_COLUMNS)
    c = {
        (row, column): (
            32 * (row // 16) + 4 * (row % 8) + column % 8 // 2,
            column % 2 + 2 * (row % 16 // 8) + column // 8 * 4,
        )
        for row in range(m)
        for column in range(n)
    }
    held = _held(plan)
    a = _core("A", (WGMMA_M, k), plan, down=False) if held is None else _fragment("A", held, (m, k), "m \\ k")
    where = "A and B are" if held is None else "a is a thread's registers of A; B is"
    note = f"Columns 0 to {shown - 1} of {n}: each 8 columns add 4 values." if shown < n else ""
    return Picture(
        what="mma",
        title=f"Warpgroup MMA operation {atom.name}",
        subtitle=subtitle(plan, label),
        panels=(
            (None, _core("B", (k, shown), plan, down=True)),
            (
                a,
                _fragment("C", c, (m, shown), "m \\ n", notes=(note,) if note else ()),
            ),
        ),
        notes=(
            "T0 to T127 are the threads of a warpgroup, each warp with 16 rows; c are a thread's "
            f"accumulators in order; coloured by thread mod 8. {where} read from shared memory through "
            "matrix descriptors.",
            *(("Operands are swapped: the operation's A is the kernel's B.",) if plan.config.swap_ab else ()),
        ),
    )


def _held(plan: WgmmaPlan) -> dict[tuple[int, int], Owner] | None:
    """(row, column) of A to (thread, register) of one operation; None where it is in shared memory."""
    at = plan.held_a
    if at is None:
        return None
    return {
        (at.thread_m(thread) + at.value_m(value), at.thread_k(thread) + at.value_k(value)): (thread, value)
        for thread in range(WARPGROUP)
        for value in range(A_REGISTERS)
    }


def _core(name: str, extents: tuple[int, int], plan: WgmmaPlan, *, down: bool) -> Grid:
    """The core matrices of an operand, 8 rows of 16 bytes along K."""
    operand = plan.a if name == "A" else plan.b
    piece = 16 // operand.map.bytes
    rows, columns = extents
    high, wide = (piece, 8) if down else (8, piece)
    cells = tuple(
        Cell(
            row=row,
            column=column,
            rows=high,
            columns=wide,
            label=("8 rows", "of 16 B") if operand.k_major else ("core", "matrix"),
            tip=f"core matrix of {name} at {row}, {column}",
        )
        for row in range(0, rows, high)
        for column in range(0, columns, wide)
    )
    return Grid(
        title=f"{name}, in shared memory",
        rows=rows,
        columns=columns,
        cells=cells,
        row_names=tuple(map(str, range(rows))),
        column_names=tuple(map(str, range(columns))),
        corner="k \\ n" if down else "m \\ k",
        size=_CELL if rows * columns <= 1024 else (max(6.0, 496.0 / columns), _CELL[1]),
        colours=HUES,
    )
