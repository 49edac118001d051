"""Choose a swizzle by counting wavefronts, where no ldmatrix rule of thumb applies."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from cutegen.atoms import MMA_ATOMS
from cutegen.config import GemmConfig, SmemLayout
from cutegen.dtypes import dtype
from cutegen.layout.banks import wavefronts
from cutegen.layout.partition import tile_offsets
from cutegen.layout.swizzle import NO_SWIZZLE, Swizzle

__all__ = ["best_swizzle"]


def best_swizzle(cfg: GemmConfig, which: Literal["a", "b"], plain: SmemLayout) -> SmemLayout:
    """``plain`` with the smallest swizzle under which one warp reads its fragments with fewest wavefronts."""
    atom = MMA_ATOMS[cfg.tiled_mma.atom or ""]
    swizzle = _search(atom.name, which, plain.shape, plain.stride, dtype(cfg.operand(which).dtype).bytes)
    if swizzle.b == 0:
        return plain
    return plain.model_copy(update={"swizzle": (swizzle.b, swizzle.m, swizzle.s)})


@lru_cache(maxsize=256)
def _search(
    atom_name: str, which: Literal["a", "b"], shape: tuple[int, int], stride: tuple[int, int], size: int
) -> Swizzle:
    atom = MMA_ATOMS[atom_name]
    mn = atom.shape[0 if which == "a" else 1]
    tv = atom.a_tv if which == "a" else atom.b_tv
    tile = (max(mn, shape[0]), max(atom.shape[2], shape[1]))
    offsets = tile_offsets(
        shape, stride, (-(-tile[0] // shape[0]) * shape[0], -(-tile[1] // shape[1]) * shape[1])
    )
    table = [offsets.mn[i % mn] + offsets.k[i // mn] for i in tv.table()]
    requests = [table[v : v + atom.threads] for v in range(0, len(table), atom.threads)]
    vector = max(1, 16 // size).bit_length() - 1

    def cost(swizzle: Swizzle) -> int:
        return sum(wavefronts([size * swizzle(o) for o in lanes], size, "load") for lanes in requests)

    # The vector of a wide copy must stay whole: M covers 16 bytes.
    candidates = [
        Swizzle(b, m, s) for b in (1, 2, 3) for m in (vector, vector + 1) for s in (b, b + 1, b + 2) if s <= 4
    ]
    return min([NO_SWIZZLE, *candidates], key=lambda s: (cost(s), s.b, s.m, s.s))
