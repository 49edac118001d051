"""Fill every field that the user left out with a good value.

Resolving is deterministic and idempotent, and it never judges: what cannot be filled stays empty and
the rules say why. Each step reads only fields that earlier steps have filled. Where tile or warps are
free, the first choice that shared memory and the copies allow is taken.
"""

from __future__ import annotations

from functools import lru_cache

from cutegen.arch import arch
from cutegen.config import GemmConfig, as_config
from cutegen.resolve.bounds import sane
from cutegen.resolve.budget import resolve_budget
from cutegen.resolve.copies import resolve_g2s, resolve_s2r, resolve_smem
from cutegen.resolve.mma import layouts, resolve_atom, resolve_permutation, tiles
from cutegen.resolve.types import resolve_types
from cutegen.resources import smem_bytes

__all__ = ["resolve"]

_STEPS = (
    resolve_permutation,
    resolve_smem,
    resolve_g2s,
    resolve_s2r,
    resolve_budget,
)


def _finish(cfg: GemmConfig) -> GemmConfig:
    for step in _STEPS:
        cfg = step(cfg)
    return cfg


def _has_copies(cfg: GemmConfig) -> bool:
    if cfg.mainloop == "direct":
        return True
    return all(
        None not in (copy.atom, copy.bits, copy.threads, copy.values) for copy in (cfg.g2s.a, cfg.g2s.b)
    )


def resolve(cfg: GemmConfig) -> GemmConfig:
    """The config with every ``auto`` filled where that is possible."""
    return _resolve(as_config(cfg))


@lru_cache(maxsize=1024)
def _resolve(cfg: GemmConfig) -> GemmConfig:
    cfg = resolve_atom(resolve_types(cfg))
    if not sane(cfg):
        return cfg
    first: GemmConfig | None = None
    for tiled in tiles(cfg):
        for candidate in layouts(tiled):
            attempt = _finish(candidate)
            first = first or attempt
            if smem_bytes(attempt) > arch(cfg.arch).smem_per_block:
                break  # other warps would not need less
            if _has_copies(attempt):
                return attempt
    return first or cfg
