"""An operand's tile in shared memory: where each element lies, and in which bank."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from cutegen.dtypes import dtype
from cutegen.layout.banks import bank_of
from cutegen.layout.partition import tile_offsets
from cutegen.layout.swizzle import NO_SWIZZLE, Swizzle
from cutegen.operands.model import Which
from cutegen.operands.wgmma import WgmmaOperand
from cutegen.plan import KernelPlan, WgmmaPlan
from cutegen.resources import swizzle_of

__all__ = [
    "LINE",
    "SmemTile",
    "Unit",
    "bank_names",
    "kernel_tile",
    "overview_extents",
    "product_operand",
    "wgmma_tile",
]

#: Bytes of a line that has every bank once.
LINE = 128

_VECTOR = 16  # bytes of the widest access of a lane
_BANKS = 32
_MOST_ROWS = 256  # of an overview
_MOST_CELLS = 8192


@dataclass(frozen=True)
class Unit:
    """Neighbouring elements that stay together in shared memory.

    Attributes:
        row: Coordinate along the mode that is not contiguous.
        column: Number of the unit along the contiguous mode.
        offset: Bytes from the start of the operand's stage.
    """

    row: int
    column: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class SmemTile:
    """One stage of an operand.

    Attributes:
        which: ``a`` or ``b``.
        extents: Of the tile, along MN and K.
        size: Bytes of an element.
        along_k: Whether K is the contiguous mode.
        swizzle: In what its offsets are swizzled, in words.
        table: Byte offset by MN and K.
    """

    which: Which
    extents: tuple[int, int]
    size: int
    along_k: bool
    swizzle: str
    table: tuple[tuple[int, ...], ...]

    @property
    def modes(self) -> tuple[str, str]:
        """Names of the modes of rows and of columns, the contiguous mode along the columns."""
        mn = "m" if self.which == "a" else "n"
        return (mn, "k") if self.along_k else ("k", mn)

    @property
    def rows(self) -> int:
        """Extent of the mode that is not contiguous."""
        return self.extents[0] if self.along_k else self.extents[1]

    @property
    def columns(self) -> int:
        """Extent of the contiguous mode."""
        return self.extents[1] if self.along_k else self.extents[0]

    def offset(self, row: int, column: int) -> int:
        """Byte offset of an element."""
        return self.table[row][column] if self.along_k else self.table[column][row]

    @cached_property
    def unit(self) -> int:
        """Elements that stay together everywhere: as many as 16 bytes hold, if all of them do."""
        run = max(1, _VECTOR // self.size)
        while run > 1 and not self._stay_together(run):
            run //= 2
        return run

    def _stay_together(self, run: int) -> bool:
        return self.columns % run == 0 and all(
            line[at] % (run * self.size) == 0
            and all(line[at + i] == line[at] + i * self.size for i in range(1, run))
            for line in self._lines()
            for at in range(0, self.columns, run)
        )

    def _lines(self) -> Iterator[list[int]]:
        for row in range(self.rows):
            yield [self.offset(row, column) for column in range(self.columns)]

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All units, row by row."""
        return tuple(
            Unit(row, column // self.unit, self.offset(row, column))
            for row in range(self.rows)
            for column in range(0, self.columns, self.unit)
        )

    @property
    def banks_of_unit(self) -> int:
        """Banks that a unit takes, at least one."""
        return max(1, self.unit * self.size // 4)

    @property
    def groups(self) -> int:
        """Groups of banks that a unit can lie in."""
        return _BANKS // self.banks_of_unit

    def group(self, offset: int) -> int:
        """The group of banks of the unit at a byte offset."""
        return bank_of(offset) // self.banks_of_unit

    def banks(self, offset: int) -> str:
        """The banks of the unit at a byte offset, in words."""
        first = bank_of(offset)
        return str(first) if self.banks_of_unit == 1 else f"{first}-{first + self.banks_of_unit - 1}"

    def span(self, column: int) -> str:
        """The elements of a unit along the contiguous mode, in words."""
        first = column * self.unit
        return str(first) if self.unit == 1 else f"{first}-{first + self.unit - 1}"


def bank_names(width: int) -> tuple[str, ...]:
    """The banks of each vector of so many bytes in a line; empty where another one begins a bank."""
    banks = max(1, width // 4)
    return tuple(
        "" if at % 4 else str(at // 4) if banks == 1 else f"{at // 4}-{at // 4 + banks - 1}"
        for at in range(0, LINE, width)
    )


def overview_extents(rows: int, columns: int) -> tuple[int, int]:
    """How much of a tile an overview shows: all of it, unless that is too much for a file."""
    shown = min(rows, _MOST_ROWS)
    return shown, min(columns, _MOST_CELLS // shown)


def _tile(
    which: Which,
    extents: tuple[int, int],
    size: int,
    along_k: bool,
    swizzle: str,
    offset: Callable[[int, int], int],
) -> SmemTile:
    table = tuple(tuple(offset(mn, k) for k in range(extents[1])) for mn in range(extents[0]))
    return SmemTile(which=which, extents=extents, size=size, along_k=along_k, swizzle=swizzle, table=table)


def kernel_tile(plan: KernelPlan, which: Which, *, plain: bool = False) -> SmemTile:
    """A stage of an operand that is copied there vector by vector.

    Args:
        plan: The kernel.
        which: The operand.
        plain: Without its swizzle.
    """
    cfg = plan.config
    layout = cfg.smem.a if which == "a" else cfg.smem.b
    if layout is None or layout.shape is None or layout.stride is None:
        raise RuntimeError("a checked plan has a layout of shared memory")
    extents = (plan.tile[0 if which == "a" else 1], plan.tile[2])
    swizzle = NO_SWIZZLE if plain else swizzle_of(layout.swizzle)
    offsets = tile_offsets(layout.shape, layout.stride, extents)
    size = dtype(cfg.operand(which).dtype).bytes
    along_k = abs(offsets.k[1] if len(offsets.k) > 1 else LINE) <= (
        offsets.mn[1] if len(offsets.mn) > 1 else LINE
    )
    words = "none" if swizzle.b == 0 else swizzle.cxx()
    return _tile(
        which, extents, size, along_k, words, lambda mn, k: swizzle(offsets.mn[mn] + offsets.k[k]) * size
    )


def product_operand(plan: WgmmaPlan, which: Which) -> WgmmaOperand:
    """What holds an operand of the config: with ``swap_ab``, the product's other one."""
    return plan.a if plan.a.map.matrix == which else plan.b


def wgmma_tile(plan: WgmmaPlan, which: Which, *, plain: bool = False) -> SmemTile:
    """A stage of an operand that bulk copies write, panel by panel.

    The swizzle xors bits of the address from 4 on with those from 7 on (PTX ISA, "Shared Memory Matrix
    Layout").
    """
    operand = product_operand(plan, which)
    size = operand.map.bytes
    extents = (plan.tile[0 if which == "a" else 1], plan.tile[2])
    bits = {128: 3, 64: 2, 32: 1}[operand.row_bytes]
    swizzle = NO_SWIZZLE if plain else Swizzle(bits, 4, 3)

    def offset(mn: int, k: int) -> int:
        along, across = (k, mn) if operand.k_major else (mn, k)
        panel, inner = divmod(along, operand.panel_inner)
        return swizzle(panel * operand.panel_bytes + across * operand.row_bytes + inner * size)

    words = "none" if plain else f"Swizzle of {operand.row_bytes} bytes"
    return _tile(which, extents, size, operand.k_major, words, offset)
