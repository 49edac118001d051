"""Defaults of a ``tma_wgmma`` config: tile, schedule, operation, stages, store.

Rules of thumb measured on an H200: pingpong while a warpgroup's accumulators leave room for the epilogue,
else two warpgroups share a tile of up to 128x256; as many stages as fit; no cluster; persistent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from cutegen.arch import arch
from cutegen.config import GemmConfig, Operand
from cutegen.dtypes import dtype
from cutegen.operands.wgmma import TMA_ALIGN, box_extents, bulk_store_obstacle, panel_bytes_wide, warpgroups
from cutegen.resources_wgmma import accumulators_fit, most_stages, shared_memory
from cutegen.wgmma_atoms import WARPGROUP, WGMMA_ATOMS, WGMMA_M

__all__ = ["prefers_wgmma", "resolve_wgmma"]

_ROW_BYTES = 128  # of the widest swizzle: one k-tile
_PINGPONG_ACCUMULATORS = 208  # registers beyond which a second warpgroup's epilogue would spill
_GROUP = 8


def _tile(cfg: GemmConfig) -> tuple[int, int, int]:
    return (128, 256, _ROW_BYTES // dtype(cfg.a.dtype).bytes)


def _layouts(tile: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    """Consumers side by side, the most preferred first."""
    for m, n in ((2, 1), (3, 1), (1, 2), (1, 1)):
        if tile[0] % (m * WGMMA_M) == 0 and tile[1] % (8 * n) == 0:
            yield (m, n, 1)


def _schedule(cfg: GemmConfig, tile: tuple[int, int, int]) -> str:
    accumulators = tile[0] * tile[1] * dtype(cfg.accumulator or "f32").bits // 32 // WARPGROUP
    alone = cfg.tiled_mma.layout in (None, (1, 1, 1)) and (cfg.cluster or (1, 1, 1)) == (1, 1, 1)
    return (
        "pingpong" if alone and tile[0] <= 128 and accumulators <= _PINGPONG_ACCUMULATORS else "cooperative"
    )


def _atom(cfg: GemmConfig) -> str | None:
    wanted = (cfg.a.dtype, cfg.b.dtype, cfg.accumulator, warpgroups(cfg).columns)
    return next(
        (name for name, a in WGMMA_ATOMS.items() if (a.a, a.b, a.acc, a.shape[1]) == wanted),
        None,
    )


def _store(cfg: GemmConfig) -> str:
    """Bulk stores where D's rows are long and aligned enough for them."""
    return "tma" if bulk_store_obstacle(cfg) is None else "direct"


def resolve_wgmma(cfg: GemmConfig) -> GemmConfig:
    """Fill what is left open of a ``tma_wgmma`` config whose types are filled."""
    tile = cfg.tile or _tile(cfg)
    schedule = cfg.schedule or _schedule(cfg, tile)
    layout = cfg.tiled_mma.layout
    if layout is None:
        layout = (1, 1, 1) if schedule == "pingpong" else next(_layouts(tile), (1, 1, 1))
    mma = cfg.tiled_mma.model_copy(update={"layout": layout})
    scheduler = cfg.scheduler.model_copy(
        update={"kind": cfg.scheduler.kind or "persistent", "group": cfg.scheduler.group or _GROUP}
    )
    cfg = cfg.model_copy(
        update={
            "tile": tile,
            "schedule": schedule,
            "cluster": cfg.cluster or (1, 1, 1),
            "tiled_mma": mma,
            "scheduler": scheduler,
        }
    )
    mma = mma.model_copy(update={"atom": mma.atom or _atom(cfg)})
    store = cfg.epilogue.store or _store(cfg)
    cfg = cfg.model_copy(
        update={"tiled_mma": mma, "epilogue": cfg.epilogue.model_copy(update={"store": store})}
    )
    return cfg.model_copy(update={"stages": cfg.stages or most_stages(cfg)})


def prefers_wgmma(cfg: GemmConfig) -> bool:
    """Whether a config without a mainloop, whose types are filled, should get this one.

    On sm_90a it should where it works and nothing is given that only other mainloops have.
    """
    if cfg.arch != "sm_90a":
        return False
    if cfg.schedule or cfg.cluster not in (None, (1, 1, 1)) or cfg.epilogue.store == "tma":
        return True
    mma = cfg.tiled_mma
    fragments = (cfg.smem.a, cfg.smem.b, cfg.s2r.a, cfg.s2r.b, mma.layout, mma.permutation)
    copies = [value for copy in (cfg.g2s.a, cfg.g2s.b) for value in copy.model_dump().values()]
    if any(v is not None for v in (*fragments, *copies, cfg.fragment_buffers, cfg.min_blocks)):
        return False
    if (
        cfg.epilogue.store == "smem"
        or cfg.stages == 1
        or any((o.align or TMA_ALIGN) < TMA_ALIGN for o in (cfg.a, cfg.b))
    ):
        return False
    return _works(resolve_wgmma(cfg))


def _works(cfg: GemmConfig) -> bool:
    """What the rules of this mainloop ask of a config in which only tile and types were given."""
    tile, atom = cfg.tile or (0, 0, 0), WGMMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or tile[0] % WGMMA_M or tile[2] % atom.shape[2] or min(tile) < 1:
        return False
    groups = warpgroups(cfg)
    if groups.rows % WGMMA_M or (atom.a, atom.b, atom.acc, atom.shape[1]) != (
        cfg.a.dtype,
        cfg.b.dtype,
        cfg.accumulator,
        groups.columns,
    ):
        return False
    pairs: tuple[tuple[Operand, Literal["a", "b"]], ...] = ((cfg.a, "a"), (cfg.b, "b"))
    for operand, which in pairs:
        if operand.major != "k" and not atom.any_major:
            return False
        if panel_bytes_wide(cfg, which) is None or box_extents(cfg, which) is None:
            return False
    fits = shared_memory(cfg).bytes <= arch(cfg.arch).smem_per_block
    return fits and accumulators_fit(cfg) and (cfg.stages or 1) > 1
