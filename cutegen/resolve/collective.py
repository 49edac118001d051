"""Defaults of a ``collective`` config: tile, schedule, cluster, scheduler, store.

Stages may stay open: then CUTLASS counts how many fit.
"""

from __future__ import annotations

from cutegen.config import GemmConfig
from cutegen.dtypes import dtype

__all__ = ["resolve_collective"]

_ROW_BYTES = 128  # of the widest swizzle: one k-tile
_GROUP = 8
_TMA_ALIGN = 16


def _tile(cfg: GemmConfig) -> tuple[int, int, int]:
    """One on which the given, or else the best, schedule works."""
    k = _ROW_BYTES // dtype(cfg.a.dtype).bytes
    if cfg.arch == "sm_120a":
        return (128, 128, k)
    alone = cfg.schedule in ("pingpong", "warp_specialized") or cfg.scheduler.kind == "static"
    if alone or cfg.fast_accumulation is False:
        return (64 if cfg.schedule == "pingpong" else 128, 128, k)
    return (128, 256 if cfg.arch == "sm_90a" else 128, k)


def _schedule(cfg: GemmConfig, tile: tuple[int, int, int]) -> str | None:
    if cfg.arch != "sm_90a":
        return None
    if cfg.scheduler.kind == "static":
        return "warp_specialized"
    shared = (
        cfg.scheduler.kind == "stream_k" or cfg.fast_accumulation is False or tile[0] * tile[1] > 64 * 256
    )
    if tile[0] % 128 == 0 and shared:
        return "cooperative"
    return "pingpong" if tile[0] % 64 == 0 and cfg.scheduler.kind != "stream_k" else "cooperative"


def _fast(cfg: GemmConfig) -> bool | None:
    if cfg.fast_accumulation is not None or cfg.arch != "sm_90a":
        return cfg.fast_accumulation
    return True if cfg.a.dtype in ("e4m3", "e5m2") else None


def resolve_collective(cfg: GemmConfig) -> GemmConfig:
    """Fill what is left open of a ``collective`` config whose types are filled."""
    cfg = cfg.model_copy(update={"fast_accumulation": _fast(cfg)})
    tile = cfg.tile or _tile(cfg)
    schedule = cfg.schedule or _schedule(cfg, tile)
    kind = cfg.scheduler.kind or ("static" if schedule == "warp_specialized" else "persistent")
    group = cfg.scheduler.group or (1 if kind == "static" else _GROUP)
    aligned = (cfg.d.align or _TMA_ALIGN) >= _TMA_ALIGN and (cfg.c.align or _TMA_ALIGN) >= _TMA_ALIGN
    store = cfg.epilogue.store or ("tma" if aligned else "direct")
    return cfg.model_copy(
        update={
            "tile": tile,
            "schedule": schedule,
            "cluster": cfg.cluster or (1, 1, 1),
            "scheduler": cfg.scheduler.model_copy(update={"kind": kind, "group": group}),
            "epilogue": cfg.epilogue.model_copy(update={"store": store}),
        }
    )
