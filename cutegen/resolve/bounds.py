"""Whether the integers of a config are of a kind that layouts can be computed with at all.

Resolving stops at a config that is not sane, and rules of the family ``bounds`` say what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from cutegen.config import GemmConfig, LayoutSpec, SmemLayout

__all__ = ["EXTENT_LIMIT", "SWIZZLE_BITS", "integers", "rank_is_sane", "ranks", "sane", "swizzle_is_sane"]

#: No extent, stride or count of a CTA reaches this: more than any shared memory or register file holds.
EXTENT_LIMIT = 1 << 20

#: No CTA has as many MMA atoms side by side: it has at most 1024 threads.
MOST_ATOMS = 1024

#: Bits of an offset that a swizzle may read or write.
SWIZZLE_BITS = 20


def _layout(field: str, layout: LayoutSpec | SmemLayout) -> Iterator[tuple[str, int, int]]:
    for extent in layout.shape:
        yield f"{field}.shape", extent, 1
    for stride in layout.stride or ():
        yield f"{field}.stride", stride, 0


def integers(cfg: GemmConfig) -> Iterator[tuple[str, int, int]]:
    """(field, value, least legal value) of every extent, stride and count that is given."""
    for extent in cfg.tile or ():
        yield "tile", extent, 1
    if cfg.stages is not None:
        yield "stages", cfg.stages, 1
    for count in cfg.tiled_mma.layout or ():
        yield "tiled_mma.layout", count, 1
    for count in cfg.cluster or ():
        yield "cluster", count, 1
    if cfg.scheduler.split_k is not None:
        yield "scheduler.split_k", cfg.scheduler.split_k, 1
    for entry in cfg.tiled_mma.permutation or ():
        if isinstance(entry, int):
            yield "tiled_mma.permutation", entry, 1
        else:
            yield from _layout("tiled_mma.permutation", entry)
    for which in ("a", "b"):
        smem = getattr(cfg.smem, which)
        if smem is not None:
            yield from _layout(f"smem.{which}", smem)
        copy = getattr(cfg.g2s, which)
        if copy.bits is not None:
            yield f"g2s.{which}.bits", copy.bits, 1
        for name in ("threads", "values"):
            layout = getattr(copy, name)
            if layout is not None:
                yield from _layout(f"g2s.{which}.{name}", layout)


def ranks(cfg: GemmConfig) -> Iterator[tuple[str, LayoutSpec, int | None]]:
    """(field, layout, number of modes it must have, or None) of every layout of free rank."""
    for entry in cfg.tiled_mma.permutation or ():
        if isinstance(entry, LayoutSpec):
            yield "tiled_mma.permutation", entry, None
    for which in ("a", "b"):
        copy = getattr(cfg.g2s, which)
        for name in ("threads", "values"):
            layout = getattr(copy, name)
            if layout is not None:
                yield f"g2s.{which}.{name}", layout, 2


def rank_is_sane(layout: LayoutSpec, modes: int | None) -> bool:
    """Whether shape and stride have as many modes as each other and as they must."""
    rank = len(layout.shape)
    return rank >= 1 and modes in (None, rank) and (layout.stride is None or len(layout.stride) == rank)


def swizzle_is_sane(layout: SmemLayout) -> bool:
    """Whether a swizzle's numbers describe bits of an offset."""
    if layout.swizzle == "none":
        return True
    b, m, s = layout.swizzle
    return b >= 0 and m >= 0 and b + m + abs(s) <= SWIZZLE_BITS


def sane(cfg: GemmConfig) -> bool:
    """Whether layouts can be computed from what is given."""
    return (
        prod(cfg.tiled_mma.layout or ()) <= MOST_ATOMS
        and all(low <= value <= EXTENT_LIMIT for _, value, low in integers(cfg))
        and all(rank_is_sane(layout, modes) for _, layout, modes in ranks(cfg))
        and all(swizzle_is_sane(s) for s in (cfg.smem.a, cfg.smem.b) if s is not None)
    )
