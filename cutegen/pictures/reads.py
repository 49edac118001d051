"""``s2r-a`` and ``s2r-b``: which lane gives which address, and which register gets which element."""

from __future__ import annotations

from dataclasses import dataclass

from cutegen.dtypes import dtype
from cutegen.lint.traffic import register_loads, shared_accesses, targets
from cutegen.operands import operand_coords
from cutegen.operands.model import SharedRead, Which
from cutegen.pictures.colours import HUES
from cutegen.pictures.fragments import Run, cells_of_runs, is_down, run_size, runs, value_words
from cutegen.pictures.model import Cell, Grid, Picture
from cutegen.pictures.smem import read_kind
from cutegen.pictures.tile import LINE, SmemTile, bank_names, kernel_tile, product_operand, wgmma_tile
from cutegen.pictures.words import cost_of, count, subtitle
from cutegen.plan import KernelPlan, OperandPlan, WgmmaPlan
from cutegen.wgmma_atoms import A_REGISTERS

__all__ = ["Arrival", "arrivals", "lane_addresses", "register_picture", "s2r_picture"]

_LINES = 32


@dataclass(frozen=True)
class Arrival:
    """An element that a copy puts into a register: of which lane, and which of the values it receives."""

    lane: int
    value: int


def lane_addresses(plan: KernelPlan, operand: OperandPlan, copy: int) -> list[int]:
    """The byte offset that each lane of warp 0 supplies in one copy; for ldmatrix, of the lanes that do."""
    read = _read(operand)
    lanes = targets(plan, operand, read.view)[copy][:32]
    return lanes[: 8 * _matrices(plan, operand)] if read_kind(operand) == "ldmatrix" else lanes


def arrivals(plan: KernelPlan, operand: OperandPlan, copy: int) -> dict[tuple[int, int], list[Arrival]]:
    """(MN, K) to all that get it in one copy of warp 0."""
    read, coords = _read(operand), operand_coords(plan.config, operand.which)
    found: dict[tuple[int, int], list[Arrival]] = {}
    for lane, start in enumerate(coords.thread[:32]):
        for value in range(read.vector):
            step = coords.step[copy * read.vector + value]
            found.setdefault((start[0] + step[0], start[1] + step[1]), []).append(Arrival(lane, value))
    return found


def s2r_picture(plan: KernelPlan, which: Which, label: str = "") -> Picture:
    """The first copy of warp 0: addresses by coordinates and by banks, and where the elements go."""
    operand = plan.a if which == "a" else plan.b
    read, tile = _read(operand), kernel_tile(plan, which)
    ldmatrix = read_kind(operand) == "ldmatrix"
    (access,) = (a for a in shared_accesses(plan, operand) if a.name.startswith("S2R"))
    width = 16 if ldmatrix else read.vector * tile.size
    lanes = lane_addresses(plan, operand, 0)
    landing = arrivals(plan, operand, 0)
    rows = _rows(tile, lanes, width)
    unit = "the row of a matrix" if ldmatrix else "its vector"
    colour = "matrix, 8 lanes each" if ldmatrix else "lane mod 8"
    return Picture(
        what=f"s2r-{which}",
        title=f"Reads of {which.upper()} from shared memory to registers",
        subtitle=subtitle(plan, label),
        panels=(
            (
                _sources(tile, lanes, rows, width, ldmatrix),
                _banks(lanes, width, ldmatrix, cost_of(access)),
                _landing(tile, landing, read.vector, ldmatrix),
            ),
        ),
        notes=(
            f"The first of {count(read.copies, 'copy')} by {read.op} that each warp makes in a k-block, as "
            f"warp 0 makes it. L is the lane that supplies the address of {unit} of {width} B; L0+1: one "
            f"more does. It is coloured by {colour}.",
        ),
    )


def register_picture(plan: WgmmaPlan, which: Which, label: str = "") -> Picture:
    """The first load of warp 0 of the operand that ``tma_wgmma`` puts into registers."""
    operand, held = product_operand(plan, which), plan.held_a
    if operand.registers is None or held is None:
        raise RuntimeError("wgmma reads this operand from shared memory itself")
    tile = wgmma_tile(plan, which)
    (access,) = register_loads(plan)
    lanes = operand.registers.loads()[0][:32]
    landing = {}
    for lane in range(32):
        value = operand.registers.value_of(0, lane)
        at = (held.thread_m(lane) + held.value_m(value), held.thread_k(lane) + held.value_k(value))
        landing[at] = [Arrival(lane, value)]
    return Picture(
        what=f"s2r-{which}",
        title=f"Loads of {which.upper()} from shared memory to registers",
        subtitle=subtitle(plan, label),
        panels=(
            (
                _sources(tile, lanes, _rows(tile, lanes, tile.size), tile.size, False),
                _banks(lanes, tile.size, False, cost_of(access)),
                _landing(tile, landing, A_REGISTERS, False),
            ),
        ),
        notes=(
            f"The first of {count(A_REGISTERS, 'load')} that each warp of a consumer makes for an operation, "
            "as warp 0 makes it. L is the lane, coloured by lane mod 8. Lanes of even and odd columns load "
            "the halves of the columns in opposite order, and exchange the registers.",
        ),
    )


def _read(operand: OperandPlan) -> SharedRead:
    if operand.read is None:
        raise RuntimeError("an operand of a direct mainloop is not read from shared memory")
    return operand.read


def _matrices(plan: KernelPlan, operand: OperandPlan) -> int:
    size = dtype(plan.config.operand(operand.which).dtype).bytes
    return _read(operand).vector * size // 4


def _rows(tile: SmemTile, lanes: list[int], width: int) -> list[int]:
    """Rows of the tile in which the addresses lie."""
    at = {
        tile.offset(r, c): r
        for r in range(tile.rows)
        for c in range(0, tile.columns, max(1, width // tile.size))
    }
    return sorted({at[offset] for offset in lanes})


def _by_address(lanes: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for lane, offset in enumerate(lanes):
        found.setdefault(offset, []).append(lane)
    return found


def _lane_cell(row: int, column: int, lanes: list[int], offset: int, ldmatrix: bool) -> Cell:
    words = f"L{lanes[0]}" if len(lanes) == 1 else f"L{lanes[0]}+{len(lanes) - 1}"
    listed = ", ".join(map(str, lanes))
    return Cell(
        row=row,
        column=column,
        label=(words,),
        group=lanes[0] // 8 if ldmatrix else lanes[0] % len(HUES),
        tip=f"byte {offset}: lane{'s' * (len(lanes) > 1)} {listed}",
        key=f"L{lanes[0]}",
    )


def _sources(tile: SmemTile, lanes: list[int], rows: list[int], width: int, ldmatrix: bool) -> Grid:
    """Rows of the tile that the copy touches, vector by vector."""
    step = max(1, width // tile.size)
    found, cells = _by_address(lanes), []
    touched = max(
        column
        for row in rows
        for column in range(tile.columns // step)
        if tile.offset(row, column * step) in found
    )
    columns = min(tile.columns // step, -(-(touched + 1) // 4) * 4)
    for index, row in enumerate(rows):
        for column in range(columns):
            offset = tile.offset(row, column * step)
            if offset in found:
                cells.append(_lane_cell(index, column, found[offset], offset, ldmatrix))
            else:
                cells.append(Cell(row=index, column=column, tip=f"byte {offset}: another copy's"))
    down, across = tile.modes
    return Grid(
        title="Addresses, in the tile",
        rows=len(rows),
        columns=columns,
        cells=tuple(cells),
        row_names=tuple(f"{down} {row}" for row in rows),
        column_names=tuple(f"{across} {column * step}" for column in range(columns)),
        size=(40.0 if columns <= 16 else 28.0, 22.0),
        colours=HUES,
        notes=(f"Of {tile.rows} rows and {tile.columns} columns, those around what this copy touches.",),
    )


def _banks(lanes: list[int], width: int, ldmatrix: bool, cost: str) -> Grid:
    """The addresses by line and bank."""
    found = _by_address(lanes)
    lines = sorted({offset // LINE for offset in found})[:_LINES]
    per_line = LINE // width
    cells = []
    for index, line in enumerate(lines):
        for place in range(per_line):
            offset = line * LINE + place * width
            if offset in found:
                cells.append(_lane_cell(index, place, found[offset], offset, ldmatrix))
            else:
                cells.append(Cell(row=index, column=place))
    return Grid(
        title="Addresses, by bank",
        rows=len(lines),
        columns=per_line,
        cells=tuple(cells),
        row_names=tuple(f"B {line * LINE}" for line in lines),
        column_names=bank_names(width),
        corner="byte \\ bank",
        size=(40.0 if per_line <= 16 else 24.0, 22.0),
        colours=HUES,
        notes=(f"{cost}.",),
    )


def _landing(
    tile: SmemTile, found: dict[tuple[int, int], list[Arrival]], vector: int, ldmatrix: bool
) -> Grid:
    """Elements that arrive: thread and value; rows and columns that no element is in are left out."""
    arrived = {((mn, k) if tile.along_k else (k, mn)): who for (mn, k), who in found.items()}
    row_of = {row: index for index, row in enumerate(sorted({row for row, _ in arrived}))}
    column_of = {column: index for index, column in enumerate(sorted({column for _, column in arrived}))}
    at = {(row_of[row], column_of[column]): who for (row, column), who in arrived.items()}
    lowest = {place: (who[0].lane, who[0].value) for place, who in at.items()}
    down, extents = is_down(lowest), (len(row_of), len(column_of))
    shown = list(runs(lowest, extents, down=down))
    per_register = max(1, 4 // tile.size)

    def tip(run: Run) -> str:
        others = ", ".join(f"T{arrival.lane}" for arrival in at[run.row, run.column][1:])
        words = value_words("V", run.owner[1], run.length)
        register = run.owner[1] // per_register
        return f"thread {run.owner[0]}: {words}, register {register}{', also ' if others else ''}{others}"

    shortest = min(run.length for run in shown)
    wide, high = run_size(shortest, 24.0, down=down)
    shared = max(len(who) for who in at.values())
    notes = [f"T is the lane, V which of the {count(vector, 'value')} that it gets from this copy."]
    if shared > 1:
        notes.append(f"Each goes to {shared} lanes; the lowest is named.")
    names = tile.modes
    return Grid(
        title="Where the elements go",
        rows=extents[0],
        columns=extents[1],
        cells=cells_of_runs(
            shown,
            "V",
            down=down,
            group=lambda run: run.owner[1] // per_register if ldmatrix else run.owner[0] % len(HUES),
            tip=tip,
        ),
        row_names=tuple(f"{names[0]} {row}" for row in row_of),
        column_names=tuple(f"{names[1]} {column}" for column in column_of),
        size=(wide, high),
        colours=HUES,
        notes=tuple(notes),
    )
