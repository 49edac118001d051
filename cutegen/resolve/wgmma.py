"""Defaults of a ``tma_wgmma`` config: tile, schedule, operation, stages, store.

Rules of thumb measured on an H200: pingpong while a warpgroup's accumulators leave room for the epilogue,
else two warpgroups share a tile of up to 128x256; as many stages as fit; no cluster; persistent.
With operands swapped or K split the problem is small: tiles are, too, and warpgroups share them, as they do
with stream-K.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from cutegen.arch import arch
from cutegen.config import GemmConfig, ScheduleName
from cutegen.dtypes import dtype
from cutegen.operands.model import Which
from cutegen.operands.swap import product, transposed
from cutegen.operands.wgmma import TMA_ALIGN, box_extents, bulk_store_obstacle, panel_bytes_wide, warpgroups
from cutegen.operands.wgmma_registers import (
    a_in_registers,
    a_is_readable,
    b_is_readable,
    fragment_a_registers,
)
from cutegen.resolve.bounds import sane
from cutegen.resources_wgmma import accumulators_fit, most_stages, shared_memory
from cutegen.vectors import vectors_of
from cutegen.wgmma_atoms import WARPGROUP, WGMMA_ATOMS, WGMMA_M

__all__ = ["prefers_wgmma", "resolve_wgmma"]

Extents = tuple[int, int, int]

_ROWS = (128, 64)
_COLUMNS = (256, 192, 128, 64, 32, 16, 8)
_PROMOTED_COLUMNS = (128, 192, 64, 32, 16, 8)  # first what leaves registers for two sets of sums
_ROW_BYTES = (128, 64, 32)  # of a k-tile: the widest swizzle, then the others
_SMALL_COLUMNS = (64, 32, 16, 8, 128, 256)  # of the product, with operands swapped
_SMALL_ROW_BYTES = (256, *_ROW_BYTES)
_PINGPONG_ACCUMULATORS = 208  # registers beyond which a second warpgroup's epilogue would spill
_VECTOR_REGISTERS = 16  # of which scales and bias need a few
_STEP_BYTES = 32  # of one operation along K
_GROUP = 8
_TYPES = {(atom.a, atom.b, atom.acc) for atom in WGMMA_ATOMS.values()}


def _tiles(cfg: GemmConfig, swapped: bool) -> Iterator[Extents]:
    """The tile that was given, or those that are worth a try, the best first."""
    if cfg.tile is not None:
        yield cfg.tile
        return
    size = dtype(cfg.a.dtype).bytes
    atom = WGMMA_ATOMS.get(cfg.tiled_mma.atom or "")
    m, n, _ = cfg.tiled_mma.layout or (1, 1, 1)
    rows = (WGMMA_M * m,) if swapped or m >= 3 else _ROWS
    if atom is None:
        preferred = _PROMOTED_COLUMNS if cfg.promote is not None else _COLUMNS
        columns = [n * c for c in (_SMALL_COLUMNS if swapped else preferred)]
        wide = [c for c in columns if 128 <= c <= 256 and not swapped]
        groups = [wide, [c for c in columns if c not in wide]]
    else:
        groups = [[i * atom.shape[1]] for i in ((1, 2, 3) if cfg.tiled_mma.layout is None else (n,))]
    for group in groups:
        for blk_m in rows:
            for blk_k in _depths(cfg, size, swapped):
                yield from ((blk_m, blk_n, blk_k) for blk_n in group)


def _depths(cfg: GemmConfig, size: int, swapped: bool) -> list[int]:
    """BLK_K: what is promoted, if it can be one k-tile."""
    promoted = (cfg.promote or 0) * size
    if promoted and promoted % _STEP_BYTES == 0 and promoted <= 2 * _ROW_BYTES[0]:
        return [promoted // size]
    return [row // size for row in (_SMALL_ROW_BYTES if swapped else _ROW_BYTES)]


def _schedules(cfg: GemmConfig, tile: Extents, swapped: bool) -> list[ScheduleName]:
    if cfg.schedule is not None:
        return [cfg.schedule]
    if (
        swapped
        or cfg.epilogue.overlap
        or (cfg.scheduler.split_k or 1) > 1
        or cfg.scheduler.kind == "stream_k"
    ):
        return ["cooperative"]
    accumulators = tile[0] * tile[1] * dtype(cfg.accumulator or "f32").bits // 32 // WARPGROUP
    if cfg.promote is not None:
        accumulators *= 2
    accumulators += fragment_a_registers(cfg.model_copy(update={"tile": tile}), tile[0] // WGMMA_M)
    most = _PINGPONG_ACCUMULATORS - (_VECTOR_REGISTERS if vectors_of(cfg) else 0)
    alone = cfg.tiled_mma.layout in (None, (1, 1, 1)) and (cfg.cluster or (1, 1, 1)) == (1, 1, 1)
    if alone and tile[0] <= _ROWS[0] and accumulators <= most:
        return ["pingpong", "cooperative"]
    return ["cooperative"]


def _layouts(cfg: GemmConfig, tile: Extents, schedule: ScheduleName, swapped: bool) -> list[Extents]:
    """Consumers side by side, the most preferred first; a small M is not shared."""
    if cfg.tiled_mma.layout is not None:
        return [cfg.tiled_mma.layout]
    if schedule == "pingpong":
        return [(1, 1, 1)]
    beside = ((2, 1), (3, 1), (1, 1), (1, 2), (1, 3)) if swapped else ((2, 1), (3, 1), (1, 2), (1, 1), (1, 3))
    fitting = [(m, n, 1) for m, n in beside if tile[0] % (m * WGMMA_M) == 0 and tile[1] % (8 * n) == 0]
    return fitting or [(1, 1, 1)]


def _atom(cfg: GemmConfig) -> str | None:
    wanted = (cfg.a.dtype, cfg.b.dtype, cfg.accumulator, warpgroups(cfg).columns, a_in_registers(cfg))
    return next(
        (n for n, a in WGMMA_ATOMS.items() if (a.a, a.b, a.acc, a.shape[1], a.a_registers) == wanted),
        None,
    )


def _stores(cfg: GemmConfig) -> list[Literal["direct", "smem", "tma"]]:
    """Bulk stores where D's rows are long and aligned enough for them."""
    if cfg.epilogue.store is not None:
        return [cfg.epilogue.store]
    return ["tma", "direct"] if bulk_store_obstacle(cfg) is None else ["direct"]


def _choices(cfg: GemmConfig, swapped: bool) -> Iterator[GemmConfig]:
    """Complete choices of what was left out of a product, the best first."""
    for tile in _tiles(cfg, swapped):
        for schedule in _schedules(cfg, tile, swapped):
            for layout in _layouts(cfg, tile, schedule, swapped):
                laid_out = _laid_out(cfg, tile, schedule, layout)
                for store in _stores(laid_out):
                    epilogue = cfg.epilogue.model_copy(update={"store": store})
                    stored = laid_out.model_copy(update={"epilogue": epilogue})
                    yield stored.model_copy(update={"stages": cfg.stages or max(2, most_stages(stored))})


def _laid_out(cfg: GemmConfig, tile: Extents, schedule: ScheduleName, layout: Extents) -> GemmConfig:
    mma = cfg.tiled_mma.model_copy(update={"layout": layout})
    cfg = cfg.model_copy(update={"tile": tile, "schedule": schedule, "tiled_mma": mma})
    mma = mma.model_copy(update={"atom": mma.atom or _atom(cfg)})
    return cfg.model_copy(update={"tiled_mma": mma})


def resolve_wgmma(cfg: GemmConfig) -> GemmConfig:
    """Fill what is left open of a ``tma_wgmma`` config whose types are filled."""
    if cfg.swap_ab or _must_swap(cfg):
        swapped = product(cfg.model_copy(update={"swap_ab": True}))
        few_rows = not a_in_registers(swapped)  # which is why operands are swapped, unless majors are
        return transposed(_filled(swapped, few_rows)).model_copy(update={"swap_ab": True})
    return _filled(cfg, False)


def _must_swap(cfg: GemmConfig) -> bool:
    """Whether only B can pass through registers and must, or a tile has too few rows for wgmma's M."""
    if cfg.swap_ab is not None:
        return False
    if not b_is_readable(cfg):
        return b_is_readable(product(cfg.model_copy(update={"swap_ab": True})))
    m, n, _ = cfg.tile or (WGMMA_M, 0, 0)
    return m % WGMMA_M != 0 and m % 8 == 0 and n % WGMMA_M == 0


def _filled(cfg: GemmConfig, swapped: bool) -> GemmConfig:
    """A product, perhaps one of swapped operands, with everything that works or else the first choice."""
    scheduler = cfg.scheduler.model_copy(
        update={"kind": cfg.scheduler.kind or "persistent", "group": cfg.scheduler.group or _GROUP}
    )
    cfg = cfg.model_copy(update={"cluster": cfg.cluster or (1, 1, 1), "scheduler": scheduler})
    working = (c for c in _choices(cfg, swapped) if _works(c))
    return next(working, None) or next(_choices(cfg, swapped))


def prefers_wgmma(cfg: GemmConfig) -> bool:
    """Whether a config without a mainloop, whose types are filled, should get this one.

    On sm_90a it should where something is given that only it has, or else where it works and nothing is given
    that only other mainloops have. A layout of the MMA alone is taken to count warps, as theirs do.
    """
    if cfg.arch != "sm_90a":
        return False
    mma, store = cfg.tiled_mma, cfg.epilogue.store
    if cfg.schedule or cfg.promote or cfg.cluster not in (None, (1, 1, 1)) or mma.atom in WGMMA_ATOMS:
        return True
    if store == "tma" or cfg.epilogue.overlap or cfg.scheduler.kind == "persistent":
        return True
    if cfg.swap_ab or cfg.pdl or (cfg.scheduler.split_k or 1) > 1 or cfg.scheduler.reduction:
        return True
    if any(o.constant or o.cache not in (None, "normal") for o in (cfg.a, cfg.b)):
        return True
    others = (cfg.smem.a, cfg.smem.b, cfg.s2r.a, cfg.s2r.b, mma.atom, mma.layout, mma.permutation)
    copies = [value for copy in (cfg.g2s.a, cfg.g2s.b) for value in copy.model_dump().values()]
    if any(v is not None for v in (*others, *copies, cfg.fragment_buffers, cfg.min_blocks)):
        return False
    if store == "smem" or (cfg.a.dtype, cfg.b.dtype, cfg.accumulator) not in _TYPES or not sane(cfg):
        return False
    if any((operand.align or TMA_ALIGN) < TMA_ALIGN for operand in (cfg.a, cfg.b)):
        return False
    resolved = resolve_wgmma(cfg)
    seen = product(resolved)
    if not a_is_readable(seen) or not b_is_readable(seen):
        return False
    few_rows = resolved.swap_ab and not a_in_registers(seen)
    return not few_rows and resolved.stages != 1 and _works(seen)


def _works(cfg: GemmConfig) -> bool:
    """Whether the fields that were chosen are what the rules of this mainloop ask for."""
    tile, atom, groups = cfg.tile or (0, 0, 0), WGMMA_ATOMS.get(cfg.tiled_mma.atom or ""), warpgroups(cfg)
    if atom is None or groups.columns != atom.shape[1]:
        return False
    if any(t % unit for t, unit in zip(tile, (WGMMA_M * groups.m, groups.n, atom.shape[2]), strict=True)):
        return False
    if cfg.epilogue.store == "tma" and bulk_store_obstacle(cfg) == "row":
        return False
    both: tuple[Which, Which] = ("a", "b")
    if any(panel_bytes_wide(cfg, which) is None or box_extents(cfg, which) is None for which in both):
        return False
    return accumulators_fit(cfg) and shared_memory(cfg).bytes <= arch(cfg.arch).smem_per_block
