"""``tv-a``, ``tv-b`` and ``tv-c``: which thread holds which element of the tile, in which register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cutegen.layout.algebra import Layout
from cutegen.operands import operand_coords
from cutegen.operands.model import OutputPlan
from cutegen.pictures.colours import HUES
from cutegen.pictures.fragments import Run, cells_of_runs, is_down, run_size, runs, value_words
from cutegen.pictures.model import Cell, Grid, Picture
from cutegen.pictures.words import PicturePlan, count, subtitle
from cutegen.plan import KernelPlan, WgmmaPlan
from cutegen.wgmma_atoms import A_REGISTERS

__all__ = ["Owners", "Tensor", "owners", "tv_picture"]

Tensor = Literal["a", "b", "c"]

_DETAIL = (32, 32)  # rows and columns
_OVERVIEW = 560.0  # pixels of the longer side of an overview
_MOST_BLOCKS = 4096
_MODES: dict[Tensor, tuple[str, str]] = {"a": ("m", "k"), "b": ("n", "k"), "c": ("m", "n")}


@dataclass(frozen=True)
class Owners:
    """Who holds each element of a tile.

    Attributes:
        extents: Of the tile.
        held: Element to (thread, value) of all that hold it, lowest thread first.
        per_block: Values of a thread in one k-block; values of later k-blocks count on from there.
    """

    extents: tuple[int, int]
    held: dict[tuple[int, int], list[tuple[int, int]]]
    per_block: int


def owners(plan: PicturePlan, tensor: Tensor) -> Owners:
    """Who holds each element of A, B or the output tile."""
    m, n, k = plan.tile
    if tensor == "c":
        return _output_owners(plan.output, (m, n))
    if isinstance(plan, WgmmaPlan):
        return _register_owners(plan, (m if tensor == "a" else n, k))
    coords = operand_coords(plan.config, tensor)
    held: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for thread, start in enumerate(coords.thread):
        for value, step in enumerate(coords.step):
            held.setdefault((start[0] + step[0], start[1] + step[1]), []).append((thread, value))
    fragments = (plan.a if tensor == "a" else plan.b).fragments
    return Owners((m if tensor == "a" else n, k), held, fragments.size)


def _register_owners(plan: WgmmaPlan, extents: tuple[int, int]) -> Owners:
    """Of the operand that wgmma takes from registers."""
    at = plan.held_a
    if at is None:
        raise RuntimeError("wgmma reads A and B from shared memory")
    held: dict[tuple[int, int], list[tuple[int, int]]] = {}
    values = list(zip(at.value_m.table(), at.value_k.table(), strict=True))
    for thread, (m, k) in enumerate(zip(at.thread_m.table(), at.thread_k.table(), strict=True)):
        for value, (i, j) in enumerate(values):
            held.setdefault((m + i, k + j), []).append((thread, value))
    return Owners(extents, held, A_REGISTERS * plan.groups.atoms_m)


def _output_owners(output: OutputPlan, extents: tuple[int, int]) -> Owners:
    def pairs(rows: Layout, columns: Layout) -> Sequence[tuple[int, int]]:
        return list(zip(rows.table(), columns.table(), strict=True))

    held: dict[tuple[int, int], list[tuple[int, int]]] = {}
    registers = pairs(output.register_m, output.register_n)
    for thread, (m, n) in enumerate(pairs(output.thread_m, output.thread_n)):
        for value, (i, j) in enumerate(registers):
            held.setdefault((m + i, n + j), []).append((thread, value))
    return Owners(extents, held, output.registers)


def tv_picture(plan: PicturePlan, tensor: Tensor, label: str = "") -> Picture:
    """The thread-value layout of the TiledMMA over the CTA's tile."""
    found = owners(plan, tensor)
    names = {"a": "A", "b": "B", "c": "C, the accumulators"}
    return Picture(
        what=f"tv-{tensor}",
        title=f"Threads and values of {names[tensor]}",
        subtitle=subtitle(plan, label),
        panels=(
            (
                _detail(found, tensor),
                _overview(found, tensor, isinstance(plan, KernelPlan) and plan.atom.is_simt),
            ),
        ),
        notes=_notes(plan, found, tensor),
    )


def _notes(plan: PicturePlan, found: Owners, tensor: Tensor) -> tuple[str, ...]:
    values = found.per_block
    notes = []
    if tensor == "c":
        notes.append(f"V is a thread's accumulator in order, {count(values, 'value')} in all.")
    else:
        notes.append(
            f"V is the place in a thread's fragment of one k-block, {count(values, 'value')}; "
            + (
                "the tile has one."
                if max(v for o in found.held.values() for _, v in o) < values
                else "K goes on with the next one."
            )
        )
    sharers = {len(o) for o in found.held.values()}
    if isinstance(plan, WgmmaPlan) and plan.groups.pingpong:
        notes.append(
            "Both warpgroups hold a tile like this one, each its own; threads of the first are shown."
        )
    elif max(sharers) > 1:
        first = found.held[0, 0]
        others = ", ".join(f"T{t}" for t, _ in first[1:5]) + (" and more" if len(first) > 5 else "")
        notes.append(
            f"Each element is held by {max(sharers)} threads, of which the lowest is shown: that of "
            f"T{first[0][0]} also by {others}."
        )
    return tuple(notes)


def _detail(found: Owners, tensor: Tensor) -> Grid:
    rows, columns = (min(extent, most) for extent, most in zip(found.extents, _DETAIL, strict=True))
    lowest = {place: held[0] for place, held in found.held.items()}
    down = is_down(lowest)
    shown = list(runs(lowest, (rows, columns), down=down))
    row_mode, column_mode = _MODES[tensor]
    shortest = min(run.length for run in shown)

    def tip(run: Run) -> str:
        others = ", ".join(f"T{thread}" for thread, _ in found.held[run.row, run.column][1:9])
        words = value_words("V", run.owner[1] % found.per_block, run.length)
        return f"({run.row},{run.column}): thread {run.owner[0]} {words}{', also ' if others else ''}{others}"

    wide, high = run_size(shortest, 26.0, down=down)
    return Grid(
        title=f"{row_mode} and {column_mode}, element by element",
        rows=rows,
        columns=columns,
        cells=cells_of_runs(
            shown,
            "V",
            down=down,
            group=lambda run: run.owner[0] % len(HUES),
            tip=tip,
            local=found.per_block,
        ),
        row_names=tuple(map(str, range(rows))),
        column_names=tuple(map(str, range(columns))),
        corner=f"{row_mode} \\ {column_mode}",
        size=(wide, high),
        colours=HUES,
        notes=(
            f"Coloured by thread mod 8. Shown: {row_mode} 0 to {rows - 1} of {found.extents[0]}, "
            f"{column_mode} 0 to {columns - 1} of {found.extents[1]}.",
        ),
    )


def _overview(found: Owners, tensor: Tensor, simt: bool) -> Grid:
    """The whole tile by warps, in the largest blocks that a set of warps holds alone."""
    down, across = _MODES[tensor]
    warps = {place: tuple(sorted({t // 32 for t, _ in held})) for place, held in found.held.items()}
    high = _block(warps, found.extents, 0)
    wide = _block(warps, found.extents, 1)
    rows, columns = found.extents[0] // high, found.extents[1] // wide
    shown_rows = min(rows, max(1, _MOST_BLOCKS // min(columns, 64)))
    shown_columns = min(columns, 64)
    size = (
        max(5.0, min(48.0, _OVERVIEW / shown_columns)),
        max(5.0, min(30.0, _OVERVIEW * 1.2 / shown_rows)),
    )
    cells = []
    for row in range(shown_rows):
        for column in range(shown_columns):
            held = warps[row * high, column * wide]
            words = f"W{held[0]}" if len(held) == 1 else f"W{held[0]}+{len(held) - 1}"
            cells.append(
                Cell(
                    row=row,
                    column=column,
                    label=(words,),
                    group=held[0] % len(HUES),
                    tip=(
                        f"({row * high},{column * wide}): warp{'s' * (len(held) > 1)} "
                        f"{', '.join(map(str, held))}"
                    ),
                    key=f"W{held[0]}",
                )
            )
    many = max(len(w) for w in warps.values())
    notes = [f"A block is {high} by {wide}; coloured by warp mod 8."]
    if many > 1:
        notes.append(f"W0+{many - 1}: {many} warps hold the same elements; the lowest is named.")
    return Grid(
        title="The whole tile, by warps",
        rows=shown_rows,
        columns=shown_columns,
        cells=tuple(cells),
        row_names=tuple(str(row * high) for row in range(shown_rows)),
        column_names=tuple(str(column * wide) for column in range(shown_columns)),
        corner=f"{down} \\ {across}",
        size=size,
        colours=HUES,
        notes=tuple(notes),
    )


def _block(warps: dict[tuple[int, int], tuple[int, ...]], extents: tuple[int, int], mode: int) -> int:
    """The largest run along a mode, a divisor of its extent, within which the warps are the same."""
    run = 1
    for candidate in range(2, min(extents[mode], 64) + 1):
        if extents[mode] % candidate == 0 and all(
            held == warps[(r // candidate * candidate, c) if mode == 0 else (r, c // candidate * candidate)]
            for (r, c), held in warps.items()
        ):
            run = candidate
    return run
