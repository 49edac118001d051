"""Fill every field that the user left out with a good value.

Resolving is deterministic and idempotent, and it never judges: what cannot be filled stays empty and
the rules say why. Each step reads only fields that earlier steps have filled. Where tile or warps are
free, the first choice that shared memory and the copies allow is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from cutegen.arch import arch
from cutegen.config import GemmConfig, as_config
from cutegen.resolve.bounds import sane
from cutegen.resolve.budget import resolve_budget
from cutegen.resolve.collective import resolve_collective
from cutegen.resolve.mma import layouts, permutations, resolve_atom, tiles
from cutegen.resolve.operands import resolve_operands, works
from cutegen.resolve.types import resolve_types
from cutegen.resolve.wgmma import resolve_wgmma
from cutegen.resources import smem_bytes

__all__ = ["resolve"]


def resolve(cfg: GemmConfig) -> GemmConfig:
    """The config with every ``auto`` filled where that is possible."""
    return _resolve(as_config(cfg))


def _attempts(cfg: GemmConfig) -> Iterator[GemmConfig]:
    """Complete choices of what was left out, the best first."""
    for tiled in tiles(cfg):
        for laid_out in layouts(tiled):
            for permuted in permutations(laid_out):
                yield resolve_budget(resolve_operands(permuted))


@lru_cache(maxsize=1024)
def _resolve(cfg: GemmConfig) -> GemmConfig:
    cfg = resolve_types(cfg)
    if cfg.mainloop == "tma_wgmma":
        return resolve_wgmma(cfg) if sane(cfg) else cfg
    if cfg.mainloop == "collective":
        return resolve_collective(cfg) if sane(cfg) else cfg
    cfg = resolve_atom(cfg)
    if not sane(cfg):
        return cfg
    first: GemmConfig | None = None
    too_big: tuple[int, int, int] | None = None  # a tile; other warps would not need less
    for attempt in _attempts(cfg):
        first = first or attempt
        if attempt.tile is not None and attempt.tile == too_big:
            continue
        if smem_bytes(attempt) > arch(cfg.arch).smem_per_block:
            too_big = attempt.tile
        elif works(attempt):
            return attempt
    return first or cfg
