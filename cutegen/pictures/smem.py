"""``smem-a`` and ``smem-b``: a stage of an operand in shared memory, by banks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cutegen.config import SmemLayout
from cutegen.dtypes import dtype
from cutegen.layout.banks import AccessKind, phase_lanes
from cutegen.lint.traffic import shared_accesses, targets
from cutegen.operands import PlanFault
from cutegen.operands.model import Which
from cutegen.pictures.colours import HUES, of_groups
from cutegen.pictures.model import Cell, Grid, Key, Picture
from cutegen.pictures.tile import LINE, SmemTile, kernel_tile, product_operand, wgmma_tile
from cutegen.pictures.words import PicturePlan, cost_of, subtitle
from cutegen.plan import KernelPlan, OperandPlan, WgmmaPlan, derive

__all__ = ["address_grid", "coordinate_grid", "first_phase", "read_kind", "smem_picture", "without_swizzle"]

_ROWS = 16  # shown in detail
_MOST_PLACES = 8  # of a row, in detail
_OVERVIEW = 320.0  # pixels of the longer side of an overview

Paint = Callable[[int, int, int], Cell | None]


def smem_picture(plan: PicturePlan, which: Which, label: str = "") -> Picture:
    """The tile of one stage, element by element or 16 bytes by 16 bytes, without and with its swizzle."""
    if isinstance(plan, WgmmaPlan):
        plain, tile = wgmma_tile(plan, which, plain=True), wgmma_tile(plan, which)
        operand = product_operand(plan, which)
        note = (
            f"Bulk copies write it and wgmma reads it through descriptors: the hardware swizzles rows of "
            f"{operand.row_bytes} B, and no wavefronts are counted."
        )
        notes: tuple[list[str], list[str]] = ([], [note])
        phases: tuple[set[int], set[int]] = (set(), set())
    else:
        plain, tile = kernel_tile(plan, which, plain=True), kernel_tile(plan, which)
        bare = without_swizzle(plan, which)
        both = [found.a if which == "a" else found.b for found in (bare, plan)]
        notes = (_costs(bare, both[0]), _costs(plan, both[1]))
        phases = (first_phase(bare, both[0]), first_phase(plan, both[1]))
    grids = [_banks(tile, tile.swizzle if tile.swizzle != "none" else "No swizzle", notes[1], phases[1])]
    if tile.swizzle != "none":
        grids.insert(0, _banks(plain, "Without a swizzle", notes[0], phases[0]))
    groups = tile.banks_of_unit
    legend = tuple(
        Key(
            colour=colour,
            label=f"banks {g * groups}-{(g + 1) * groups - 1}" if groups > 1 else f"bank {g}",
        )
        for g, colour in enumerate(of_groups(tile.groups))
        if tile.groups <= len(HUES) or g % (tile.groups // 8) == 0
    )
    if any(phases):
        legend += (Key(colour="", label="thick: the first phase of warp 0's first read", kind="marked"),)
    last = _addresses(tile, phases[1])
    return Picture(
        what=f"smem-{which}",
        title=f"{which.upper()} in shared memory, one stage",
        subtitle=subtitle(plan, label),
        panels=((*grids, last), (*(_overview(t) for t in ((plain, tile) if len(grids) == 2 else (tile,))),)),
        legend=legend,
        notes=(
            f"A cell is {tile.unit} element{'s' * (tile.unit > 1)}, {tile.unit * tile.size} B: above its "
            "banks, below "
            f"its offset from the start of {which.upper()}'s stage in bytes. Cells of one colour share "
            "banks.",
        ),
    )


def without_swizzle(plan: KernelPlan, which: Which) -> KernelPlan:
    """The same kernel whose operand lies in shared memory as it is, without a swizzle."""
    cfg = plan.config
    layout: SmemLayout | None = getattr(cfg.smem, which)
    if layout is None or layout.swizzle == "none":
        return plan
    smem = cfg.smem.model_copy(update={which: layout.model_copy(update={"swizzle": "none"})})
    try:
        found = derive(cfg.model_copy(update={"smem": smem}))
    except PlanFault:
        return plan
    return found if isinstance(found, KernelPlan) else plan


def _costs(plan: KernelPlan, operand: OperandPlan) -> list[str]:
    found = shared_accesses(plan, operand)
    notes = [f"{cost_of(access)}." for access in found]
    if not any(access.name.startswith("G2S") for access in found):
        notes.append(f"G2S {operand.which.upper()} (cp.async.cg): the hardware counts no wavefronts.")
    return notes


def read_kind(operand: OperandPlan) -> AccessKind:
    """How an operand is read from shared memory."""
    return "ldmatrix" if operand.read is not None and "LDSM" in operand.read.op else "load"


def first_phase(plan: KernelPlan, operand: OperandPlan) -> set[int]:
    """Byte offsets that the lanes of the first phase of the first read of warp 0 have."""
    read = operand.read
    if read is None:
        return set()
    size = dtype(plan.config.operand(operand.which).dtype).bytes
    lanes = tuple(targets(plan, operand, read.view)[0][:32])
    width = 16 if read_kind(operand) == "ldmatrix" else read.vector * size
    return set(lanes[: phase_lanes(lanes, width, read_kind(operand))])


def _shown(tile: SmemTile) -> tuple[int, int]:
    """Rows and units of a row that the detail has."""
    units = tile.columns // tile.unit
    return min(tile.rows, _ROWS), min(units, _MOST_PLACES if tile.banks_of_unit > 1 else 2 * _MOST_PLACES)


def coordinate_grid(
    tile: SmemTile,
    title: str,
    paint: Paint,
    *,
    shown: tuple[int, int],
    colours: tuple[str, ...],
    size: tuple[float, float],
    notes: tuple[str, ...] = (),
    first_row: int = 0,
) -> Grid:
    """Units by their coordinates; ``paint`` makes a cell of a row, a column and a byte offset."""
    rows, columns = shown
    cells = []
    for unit in tile.units:
        row = unit.row - first_row
        if 0 <= row < rows and unit.column < columns:
            cell = paint(unit.row, unit.column, unit.offset)
            if cell is not None:
                cells.append(replace(cell, row=row, column=unit.column))
    down, across = tile.modes
    whole = (tile.rows, tile.columns // tile.unit)
    if shown != whole:
        notes = (*notes, _part(tile, shown, first_row))
    return Grid(
        title=title,
        rows=rows,
        columns=columns,
        cells=tuple(cells),
        row_names=tuple(f"{down} {first_row + row}" for row in range(rows)),
        column_names=tuple(f"{across} {tile.span(column)}" for column in range(columns)),
        size=size,
        colours=colours,
        notes=notes,
    )


def _part(tile: SmemTile, shown: tuple[int, int], first_row: int) -> str:
    down, across = tile.modes
    last = shown[1] * tile.unit
    text = f"{down} {first_row} to {first_row + shown[0] - 1} of {tile.rows}"
    if last < tile.columns:
        text += f", {across} 0 to {last - 1} of {tile.columns}"
    return f"Shown: {text}."


def address_grid(
    tile: SmemTile,
    title: str,
    paint: Paint,
    *,
    lines: range,
    unit_bytes: int,
    colours: tuple[str, ...],
    notes: tuple[str, ...] = (),
    size: tuple[float, float] | None = None,
) -> Grid:
    """The same by address: a row has every bank once; ``paint`` as in :func:`coordinate_grid`."""
    per_line = LINE // unit_bytes
    cells = []
    for unit in tile.units:
        line, within = divmod(unit.offset, LINE)
        if line in lines and within % unit_bytes == 0:
            cell = paint(unit.row, unit.column, unit.offset)
            if cell is not None:
                cells.append(replace(cell, row=line - lines.start, column=within // unit_bytes))
    banks = max(1, unit_bytes // 4)
    names = [f"{b}-{b + banks - 1}" if banks > 1 else str(b) for b in range(0, 32, banks)]
    if unit_bytes < 4:
        names = [str(i * unit_bytes // 4) if i * unit_bytes % 4 == 0 else "" for i in range(per_line)]
    return Grid(
        title=title,
        rows=len(lines),
        columns=per_line,
        cells=tuple(cells),
        row_names=tuple(f"B {line * LINE}" for line in lines),
        column_names=tuple(names),
        corner="byte \\ bank",
        size=size or (44.0 if per_line <= 8 else 26.0 if per_line <= 32 else 14.0, 28.0),
        colours=colours,
        notes=notes,
    )


def _banks(tile: SmemTile, title: str, notes: list[str], phase: set[int]) -> Grid:
    def paint(row: int, column: int, offset: int) -> Cell:
        return _bank_cell(tile, row, column, offset, phase)

    wide = 48.0 if tile.banks_of_unit > 1 else 27.0
    return coordinate_grid(
        tile,
        title,
        paint,
        shown=_shown(tile),
        colours=of_groups(tile.groups),
        size=(wide, 28.0),
        notes=tuple(notes),
    )


def _tip(tile: SmemTile, row: int, column: int, offset: int) -> str:
    down, across = tile.modes
    plural = "banks" if tile.banks_of_unit > 1 else "bank"
    return f"{down} {row}, {across} {tile.span(column)}: byte {offset}, {plural} {tile.banks(offset)}"


def _bank_cell(tile: SmemTile, row: int, column: int, offset: int, phase: set[int]) -> Cell:
    return Cell(
        row=row,
        column=column,
        label=(tile.banks(offset), str(offset)),
        group=tile.group(offset),
        tip=_tip(tile, row, column, offset),
        key=f"{row},{column * tile.unit}",
        marked=offset in phase,
    )


def _addresses(tile: SmemTile, phase: set[int]) -> Grid:
    """The first lines as they lie in memory: what is in each place, coloured by its column in the tile."""
    down, across = tile.modes
    rows, columns = _shown(tile)
    last = max(unit.offset for unit in tile.units if unit.row < rows and unit.column < columns)
    lines = range(min(_ROWS, last // LINE + 1))

    def paint(row: int, column: int, offset: int) -> Cell:
        return Cell(
            row=row,
            column=column,
            label=(f"{down} {row}", f"{across} {column * tile.unit}"),
            group=column % len(HUES),
            tip=_tip(tile, row, column, offset),
            key=f"{row},{column * tile.unit}",
            marked=offset in phase,
        )

    return address_grid(
        tile,
        "By address: each row has all 32 banks once",
        paint,
        lines=lines,
        unit_bytes=tile.unit * tile.size,
        colours=HUES,
        notes=(f"Coloured by {across}: a column of the tile has one colour, of eight.",),
    )


def _overview(tile: SmemTile) -> Grid:
    """The whole tile, small, by banks."""
    units = tile.columns // tile.unit
    rows, columns = min(tile.rows, 256), min(units, 256)
    high = max(2.0, min(9.0, _OVERVIEW / rows))
    wide = max(2.0, min(26.0, _OVERVIEW / columns))

    def paint(row: int, column: int, offset: int) -> Cell:
        return Cell(row=row, column=column, group=tile.group(offset), tip=_tip(tile, row, column, offset))

    return coordinate_grid(
        tile,
        "The whole tile" + ("" if tile.swizzle != "none" else ", without a swizzle"),
        paint,
        shown=(rows, columns),
        colours=of_groups(tile.groups),
        size=(wide, high),
    )
