"""Shared memory, descriptors and accumulators of a ``tma_wgmma`` kernel.

A stage of an operand is a row of *panels*. A panel holds the swizzle's width, at most 128 bytes, of the
contiguous mode, by all of the other mode in the tile; one bulk copy writes it. Source: PTX ISA,
"Asynchronous Warpgroup Level Matrix Shared Memory Layout"; ``cute/atom/mma_traits_sm90_gmma.hpp``,
``make_gmma_desc``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName, dtype
from cutegen.layout.algebra import Layout
from cutegen.operands.model import OutputPlan, Which
from cutegen.operands.wgmma_registers import RegisterOperand, derive_register_operand
from cutegen.wgmma_atoms import WARPGROUP, WGMMA_M, WgmmaAtom, wgmma_atom

__all__ = [
    "TMA_ALIGN",
    "TensorMap",
    "Warpgroups",
    "WgmmaOperand",
    "box_extents",
    "bulk_store_obstacle",
    "derive_wgmma_operand",
    "derive_wgmma_output",
    "fragment_layout",
    "panel_bytes_wide",
    "staging_widths",
    "warpgroups",
]

#: Bytes of which addresses and strides of a bulk copy, and the widths of its boxes, must be multiples.
TMA_ALIGN = 16

_WIDTHS = (128, 64, 32)  # bytes of a swizzle's row
_MODES = {128: 1, 64: 2, 32: 3, 16: 0}  # of a matrix descriptor
#: CUtensorMapDataType; fp8 has the type of an integer of its size, as nothing but bits moves.
_MAP_TYPES: dict[DTypeName, int] = {
    "u8": 0,
    "s8": 0,
    "e4m3": 0,
    "e5m2": 0,
    "s32": 3,
    "f16": 6,
    "f32": 7,
    "tf32": 7,
    "bf16": 9,
}
_MAP_SWIZZLES = {16: 0, 32: 1, 64: 2, 128: 3}
_GROUP = 8  # rows after which a swizzle repeats
_MOST_BOX = 256  # elements of a box along a mode


@dataclass(frozen=True, kw_only=True)
class TensorMap:
    """How a bulk copy sees a matrix of two modes.

    Attributes:
        matrix: ``a``, ``b`` or ``d``.
        dtype: Element type.
        mn_inner: Whether the contiguous mode is M (of A and D) or N (of B), not K (of A and B) or N (of D).
        box_inner: Elements of a box along the contiguous mode.
        box_outer: Elements of a box along the other mode.
        swizzle: Bytes of the swizzle's row: 128, 64, 32, or 16 for none.
    """

    matrix: Literal["a", "b", "d"]
    dtype: DTypeName
    mn_inner: bool
    box_inner: int
    box_outer: int
    swizzle: int

    @property
    def bytes(self) -> int:
        """Bytes of an element."""
        return dtype(self.dtype).bytes

    @property
    def type_code(self) -> int:
        """``CUtensorMapDataType``."""
        return _MAP_TYPES[self.dtype]

    @property
    def swizzle_code(self) -> int:
        """``CUtensorMapSwizzle``."""
        return _MAP_SWIZZLES[self.swizzle]


@dataclass(frozen=True, kw_only=True)
class Warpgroups:
    """Who multiplies what.

    Attributes:
        m: Consumers of one tile side by side along M.
        n: Likewise along N.
        count: Consumers of a CTA.
        pingpong: Whether each has a tile of its own.
        rows: Of the tile, for one warpgroup.
        columns: Likewise.
    """

    m: int
    n: int
    count: int
    pingpong: bool
    rows: int
    columns: int

    @property
    def atoms_m(self) -> int:
        """Operations of one warpgroup along M."""
        return self.rows // WGMMA_M


@dataclass(frozen=True, kw_only=True)
class WgmmaOperand:
    """One operand in shared memory.

    Attributes:
        which: ``a`` or ``b``.
        k_major: Whether K is the contiguous mode.
        panels: Panels of a stage.
        panel_inner: Elements of a panel along the contiguous mode.
        panel_outer: Elements of a panel along the other mode.
        row_bytes: Bytes of ``panel_inner`` elements: the swizzle's width.
        stage_bytes: Bytes of a stage.
        sharers: CTAs of the cluster that use the same tile of it.
        boxes: Bulk copies of one CTA for each panel.
        swizzle_mode: Field of the matrix descriptor.
        leading_bytes: Likewise; between panels of an MN-major operand.
        stride_bytes: Likewise; between groups of 8 rows.
        warpgroup_bytes: From one warpgroup's part of the tile to the next one's.
        atom_bytes: Operation along M to bytes.
        step_bytes: Operation along K to bytes.
        map: For the bulk copies.
        registers: How threads load it, where wgmma takes it from registers.
    """

    which: Which
    k_major: bool
    panels: int
    panel_inner: int
    panel_outer: int
    row_bytes: int
    stage_bytes: int
    sharers: int
    boxes: int
    swizzle_mode: int
    leading_bytes: int
    stride_bytes: int
    warpgroup_bytes: int
    atom_bytes: Layout
    step_bytes: Layout
    map: TensorMap
    registers: RegisterOperand | None

    @property
    def panel_bytes(self) -> int:
        """Bytes of a panel."""
        return self.panel_outer * self.row_bytes

    @property
    def box_outer(self) -> int:
        """Elements of a bulk copy along the panel's outer mode."""
        return self.panel_outer // (self.sharers * self.boxes)


def warpgroups(cfg: GemmConfig) -> Warpgroups:
    """The consumers of a config that has a tile, a layout and a schedule."""
    m, n, _ = cfg.tiled_mma.layout or (1, 1, 1)
    pingpong = cfg.schedule == "pingpong"
    blk_m, blk_n, _ = cfg.tile or (0, 0, 0)
    return Warpgroups(
        m=m,
        n=n,
        count=2 if pingpong else m * n,
        pingpong=pingpong,
        rows=blk_m // max(1, m),
        columns=blk_n // max(1, n),
    )


def panel_bytes_wide(cfg: GemmConfig, which: Which) -> int | None:
    """The widest swizzle, in bytes, whose rows divide the tile and a warpgroup's part of it, if any."""
    operand = cfg.operand(which)
    size = dtype(operand.dtype).bytes
    groups = warpgroups(cfg)
    if operand.major == "k":
        extents = [(cfg.tile or (0, 0, 0))[2]]
    else:
        extents = [WGMMA_M if which == "a" else groups.columns]
    return next((w for w in _WIDTHS if all(e > 0 and e * size % w == 0 for e in extents)), None)


def box_extents(cfg: GemmConfig, which: Which) -> tuple[int, int] | None:
    """Boxes of one CTA for each panel, and one's extent along the panel's outer mode, if any."""
    operand = cfg.operand(which)
    blk_m, blk_n, blk_k = cfg.tile or (0, 0, 0)
    cluster = cfg.cluster or (1, 1, 1)
    outer = (blk_m if which == "a" else blk_n) if operand.major == "k" else blk_k
    part = outer // max(1, cluster[1] if which == "a" else cluster[0])
    for boxes in range(1, part // _GROUP + 1):
        if part % (boxes * _GROUP) == 0 and part // boxes <= _MOST_BOX:
            return boxes, part // boxes
    return None


def derive_wgmma_operand(cfg: GemmConfig, which: Which) -> WgmmaOperand:
    """One operand of a legal config."""
    operand = cfg.operand(which)
    size = dtype(operand.dtype).bytes
    atom = wgmma_atom(cfg.tiled_mma.atom or "")
    groups = warpgroups(cfg)
    blk_m, blk_n, blk_k = cfg.tile or (0, 0, 0)
    blk_mn = blk_m if which == "a" else blk_n
    part = groups.rows if which == "a" else groups.columns
    k_major = operand.major == "k"
    row_bytes = panel_bytes_wide(cfg, which) or 0
    inner = row_bytes // size
    outer, across = (blk_mn, blk_k) if k_major else (blk_k, blk_mn)
    panels = across // inner
    panel_bytes = outer * row_bytes
    cluster = cfg.cluster or (1, 1, 1)
    sharers = cluster[1] if which == "a" else cluster[0]
    boxes, box = box_extents(cfg, which) or (1, outer)
    steps = blk_k // atom.shape[2]
    if k_major:
        mn_bytes = row_bytes
        per_panel = row_bytes // (atom.shape[2] * size)
        step_bytes = _steps(steps, per_panel, atom.shape[2] * size, panel_bytes)
        atom_stride, warpgroup_bytes = WGMMA_M * mn_bytes, part * mn_bytes
    else:
        step_bytes = Layout.make(steps, atom.shape[2] * row_bytes)
        atom_stride, warpgroup_bytes = WGMMA_M // inner * panel_bytes, part // inner * panel_bytes
    return WgmmaOperand(
        which=which,
        k_major=k_major,
        panels=panels,
        panel_inner=inner,
        panel_outer=outer,
        row_bytes=row_bytes,
        stage_bytes=panels * panel_bytes,
        sharers=sharers,
        boxes=boxes,
        swizzle_mode=_MODES[row_bytes],
        leading_bytes=16 if k_major else panel_bytes,
        stride_bytes=_GROUP * row_bytes,
        warpgroup_bytes=warpgroup_bytes,
        atom_bytes=Layout.make(groups.atoms_m, atom_stride if groups.atoms_m > 1 else 0),
        step_bytes=step_bytes,
        map=TensorMap(
            matrix=which,
            dtype=operand.dtype,
            mn_inner=not k_major,
            box_inner=inner,
            box_outer=box,
            swizzle=row_bytes,
        ),
        registers=derive_register_operand(cfg, row_bytes, panel_bytes) if which == "a" else None,
    )


def _steps(steps: int, per_panel: int, step: int, panel: int) -> Layout:
    if steps <= per_panel:
        return Layout.make(steps, step if steps > 1 else 0)
    if per_panel == 1:
        return Layout.make(steps, panel)
    return Layout.make((per_panel, steps // per_panel), (step, panel))


def derive_wgmma_output(cfg: GemmConfig) -> OutputPlan:
    """Where each consumer thread's accumulators lie: 4 warps by 16 rows, 8 rows by 4 pairs of columns."""
    groups = warpgroups(cfg)
    n_major = cfg.d.major == "n"
    octets = groups.columns // 8
    beside = (2, 1) if groups.pingpong else (groups.m, groups.n)
    down, right = (0, 0) if groups.pingpong else (groups.rows, groups.columns)
    return OutputPlan(
        thread_m=Layout((4, 8, 4, *beside), (0, 1, 16, down, 0)),
        thread_n=Layout((4, 8, 4, *beside), (2, 0, 0, 0, right)),
        register_m=Layout((2, 2, octets, groups.atoms_m), (0, 8, 0, WGMMA_M)),
        register_n=Layout((2, 2, octets, groups.atoms_m), (1, 0, 8, 0)),
        registers=groups.rows * groups.columns // WARPGROUP,
        atoms_m=groups.atoms_m,
        atoms_n=1,
        vector=2 if n_major else 1,
    )


def bulk_store_obstacle(cfg: GemmConfig) -> Literal["transpose", "align", "row", "size"] | None:
    """What keeps D from being stored by bulk copies: its M-major element, alignment, rows or element size."""
    size = dtype(cfg.d.dtype or "f32").bytes
    if cfg.d.major == "m" and size != 2:
        return "transpose"
    if (cfg.d.align or TMA_ALIGN) < TMA_ALIGN:
        return "align"
    if cfg.d.major == "n" and warpgroups(cfg).columns * size % TMA_ALIGN:
        return "row"
    return "size" if size > 4 else None


def staging_widths(columns_bytes: int) -> tuple[int, ...]:
    """Bytes of the chunks in which a warp stores its columns: 128 as often as they fit, then 64, 32, 16."""
    widths = [128] * (columns_bytes // 128)
    widths += [w for w in (64, 32, 16) if columns_bytes & w]
    return tuple(widths)


def fragment_layout(atom: WgmmaAtom, atoms_m: int) -> Layout:
    """(value, operation along M) to register."""
    return Layout((atom.values, atoms_m), (1, atom.values if atoms_m > 1 else 0))
