"""``smem-a`` and ``smem-b``: a stage of an operand in shared memory, by banks."""

from __future__ import annotations

from collections.abc import Collection

from cutegen.config import SmemLayout
from cutegen.dtypes import dtype
from cutegen.layout.banks import AccessKind, phase_lanes
from cutegen.lint.traffic import register_loads, shared_accesses, targets
from cutegen.operands import PlanFault
from cutegen.operands.model import Which
from cutegen.pictures.colours import HUES, of_groups
from cutegen.pictures.model import Cell, Grid, Key, Picture
from cutegen.pictures.tile import (
    LINE,
    SmemTile,
    Unit,
    bank_names,
    kernel_tile,
    overview_extents,
    product_operand,
    wgmma_tile,
)
from cutegen.pictures.words import PicturePlan, cost_of, count, subtitle
from cutegen.plan import KernelPlan, OperandPlan, WgmmaPlan, derive

__all__ = ["read_kind", "smem_picture"]

_ROWS = 16  # shown in detail
_VECTORS = 8  # of a row, shown in detail; twice as many of narrower units
_OVERVIEW = 320.0  # pixels of the longer side of an overview


def smem_picture(plan: PicturePlan, which: Which, label: str = "") -> Picture:
    """The tile of one stage, element by element or 16 bytes by 16 bytes, without and with its swizzle."""
    tile, notes, phase = _tile(plan, which)
    swizzled = tile.swizzle != "none"
    grids = [_banks(tile, tile.swizzle if swizzled else "No swizzle", notes, phase)]
    overviews = [_overview(tile, "The whole tile")]
    if swizzled:
        plain, plain_notes, plain_phase = _plain_tile(plan, which)
        grids.insert(0, _banks(plain, "Without a swizzle", plain_notes, plain_phase))
        overviews.insert(0, _overview(plain, "The whole tile, without a swizzle"))
    return Picture(
        what=f"smem-{which}",
        title=f"{which.upper()} in shared memory, one stage",
        subtitle=subtitle(plan, label),
        panels=((*grids, _addresses(tile, phase)), tuple(overviews)),
        legend=_legend(tile, marked=bool(phase)),
        notes=(
            f"A cell is {count(tile.unit, 'element')}, {tile.unit * tile.size} B: above its banks, below "
            f"its offset in bytes from the start of {which.upper()}'s stage. Cells of one colour share "
            "banks.",
        ),
    )


# ---- what lies where, and what that costs


def _tile(plan: PicturePlan, which: Which) -> tuple[SmemTile, list[str], set[int]]:
    """The tile, what is said of it, and what warp 0 reads first."""
    if isinstance(plan, KernelPlan):
        operand = plan.a if which == "a" else plan.b
        return kernel_tile(plan, which), _costs(plan, operand), _first_phase(plan, operand)
    seen = product_operand(plan, which)
    if seen.registers is not None:
        (access,) = register_loads(plan)
        return wgmma_tile(plan, which), [f"{cost_of(access)}."], set(seen.registers.loads()[0][:32])
    width = seen.row_bytes
    note = (
        "Bulk copies write it and wgmma reads it through descriptors: the hardware swizzles rows of "
        f"{width} B, and no wavefronts are counted."
    )
    return wgmma_tile(plan, which), [note], set()


def _plain_tile(plan: PicturePlan, which: Which) -> tuple[SmemTile, list[str], set[int]]:
    """The same if the kernel had no swizzle."""
    if isinstance(plan, WgmmaPlan):
        return wgmma_tile(plan, which, plain=True), [], set()
    bare = _without_swizzle(plan, which)
    if bare is None:
        return kernel_tile(plan, which, plain=True), [], set()
    return _tile(bare, which)


def _without_swizzle(plan: KernelPlan, which: Which) -> KernelPlan | None:
    """The same kernel whose operand lies in shared memory as it is; None when its copies do not fit that."""
    cfg = plan.config
    layout: SmemLayout | None = getattr(cfg.smem, which)
    if layout is None:
        return None
    smem = cfg.smem.model_copy(update={which: layout.model_copy(update={"swizzle": "none"})})
    try:
        found = derive(cfg.model_copy(update={"smem": smem}))
    except PlanFault:
        return None
    return found if isinstance(found, KernelPlan) else None


def _costs(plan: KernelPlan, operand: OperandPlan) -> list[str]:
    found = shared_accesses(plan, operand)
    notes = [f"{cost_of(access)}." for access in found]
    if not any(access.name.startswith("G2S") for access in found):
        notes.append(f"G2S {operand.which.upper()} (cp.async.cg): the hardware counts no wavefronts.")
    return notes


def read_kind(operand: OperandPlan) -> AccessKind:
    """How an operand is read from shared memory."""
    return "ldmatrix" if operand.read is not None and "LDSM" in operand.read.op else "load"


def _first_phase(plan: KernelPlan, operand: OperandPlan) -> set[int]:
    """Byte offsets that the lanes of the first phase of the first read of warp 0 have."""
    read, kind = operand.read, read_kind(operand)
    if read is None:
        return set()
    size = dtype(plan.config.operand(operand.which).dtype).bytes
    lanes = tuple(targets(plan, operand, read.view)[0][:32])
    width = 16 if kind == "ldmatrix" else read.vector * size
    return set(lanes[: phase_lanes(lanes, width, kind)])


# ---- grids


def _legend(tile: SmemTile, *, marked: bool) -> tuple[Key, ...]:
    width, every = tile.banks_of_unit, max(1, tile.groups // len(HUES))
    keys = [
        Key(colour=colour, label=f"banks {g * width}-{(g + 1) * width - 1}" if width > 1 else f"bank {g}")
        for g, colour in enumerate(of_groups(tile.groups))
        if g % every == 0
    ]
    if marked:
        keys.append(Key(colour="", label="thick: the first phase of warp 0's first read", kind="marked"))
    return tuple(keys)


def _shown(tile: SmemTile) -> tuple[int, int]:
    """Rows and units of a row that the detail has."""
    most = _VECTORS if tile.banks_of_unit > 1 else 2 * _VECTORS
    return min(tile.rows, _ROWS), min(tile.columns // tile.unit, most)


def _cell(
    tile: SmemTile,
    unit: Unit,
    place: tuple[int, int],
    label: tuple[str, ...],
    group: int,
    phase: Collection[int] = (),
) -> Cell:
    down, across = tile.modes
    banks = f"{'banks' if tile.banks_of_unit > 1 else 'bank'} {tile.banks(unit.offset)}"
    return Cell(
        row=place[0],
        column=place[1],
        label=label,
        group=group,
        tip=f"{down} {unit.row}, {across} {tile.span(unit.column)}: byte {unit.offset}, {banks}",
        key=f"{unit.row},{unit.column * tile.unit}",
        marked=unit.offset in phase,
    )


def _banks(tile: SmemTile, title: str, notes: list[str], phase: set[int]) -> Grid:
    """The first rows by their coordinates."""
    rows, columns = _shown(tile)
    down, across = tile.modes
    cells = [
        _cell(
            tile,
            unit,
            (unit.row, unit.column),
            (tile.banks(unit.offset), str(unit.offset)),
            tile.group(unit.offset),
            phase,
        )
        for unit in tile.units
        if unit.row < rows and unit.column < columns
    ]
    return Grid(
        title=title,
        rows=rows,
        columns=columns,
        cells=tuple(cells),
        row_names=tuple(f"{down} {row}" for row in range(rows)),
        column_names=tuple(f"{across} {tile.span(column)}" for column in range(columns)),
        size=(48.0 if tile.banks_of_unit > 1 else 27.0, 28.0),
        colours=of_groups(tile.groups),
        notes=(*notes, *_part(tile, rows, columns)),
    )


def _part(tile: SmemTile, rows: int, columns: int) -> tuple[str, ...]:
    """What of the tile is shown, unless all of it is."""
    down, across = tile.modes
    parts = []
    if rows < tile.rows:
        parts.append(f"{down} 0 to {rows - 1} of {tile.rows}")
    if columns * tile.unit < tile.columns:
        parts.append(f"{across} 0 to {columns * tile.unit - 1} of {tile.columns}")
    return (f"Shown: {', '.join(parts)}.",) if parts else ()


def _addresses(tile: SmemTile, phase: set[int]) -> Grid:
    """The first lines as they lie in memory: what is in each place, coloured by its column in the tile."""
    rows, columns = _shown(tile)
    down, across = tile.modes
    width = tile.unit * tile.size
    last = max(unit.offset for unit in tile.units if unit.row < rows and unit.column < columns)
    lines = min(_ROWS, last // LINE + 1)
    cells = [
        _cell(
            tile,
            unit,
            (unit.offset // LINE, unit.offset % LINE // width),
            (f"{down} {unit.row}", f"{across} {unit.column * tile.unit}"),
            unit.column % len(HUES),
            phase,
        )
        for unit in tile.units
        if unit.offset < lines * LINE
    ]
    return Grid(
        title="By address: each row has all 32 banks once",
        rows=lines,
        columns=LINE // width,
        cells=tuple(cells),
        row_names=tuple(f"B {line * LINE}" for line in range(lines)),
        column_names=bank_names(width),
        corner="byte \\ bank",
        size=(44.0 if width >= 16 else 28.0, 28.0),
        colours=HUES,
        notes=(f"Coloured by {across}: a column of the tile has one colour, of eight.",),
    )


def _overview(tile: SmemTile, title: str) -> Grid:
    """The whole tile, small, by banks."""
    rows, columns = overview_extents(tile.rows, tile.columns // tile.unit)
    down, across = tile.modes
    return Grid(
        title=title,
        rows=rows,
        columns=columns,
        cells=tuple(
            _cell(tile, unit, (unit.row, unit.column), (), tile.group(unit.offset))
            for unit in tile.units
            if unit.row < rows and unit.column < columns
        ),
        row_names=tuple(f"{down} {row}" for row in range(rows)),
        column_names=tuple(f"{across} {tile.span(column)}" for column in range(columns)),
        size=(max(2.0, min(26.0, _OVERVIEW / columns)), max(2.0, min(9.0, _OVERVIEW / rows))),
        colours=of_groups(tile.groups),
        notes=_part(tile, rows, columns),
    )
