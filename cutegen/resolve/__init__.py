"""Fill every field that the user left out with a good value.

Resolving is deterministic and idempotent, and it never judges: what cannot be filled stays empty and
the rules say why. Each step reads only fields that earlier steps have filled.
"""

from __future__ import annotations

from functools import lru_cache

from cutegen.config import GemmConfig
from cutegen.resolve.budget import resolve_budget
from cutegen.resolve.copies import resolve_g2s, resolve_s2r, resolve_smem
from cutegen.resolve.mma import resolve_atom, resolve_tile, resolve_tiled_mma
from cutegen.resolve.types import resolve_types

__all__ = ["resolve"]

_STEPS = (
    resolve_types,
    resolve_atom,
    resolve_tile,
    resolve_tiled_mma,
    resolve_smem,
    resolve_g2s,
    resolve_s2r,
    resolve_budget,
)


@lru_cache(maxsize=1024)
def resolve(cfg: GemmConfig) -> GemmConfig:
    """The config with every ``auto`` filled where that is possible."""
    for step in _STEPS:
        cfg = step(cfg)
    return cfg
