"""Configs of ``tma_wgmma`` for few rows of A against many of B.

As in decoding: the time is that of reading B. The rules were measured on an H200 with 132 SMs; other numbers
of them change how many tiles are few, not what is right.
"""

from __future__ import annotations

from typing import Any

from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName, dtype
from cutegen.errors import ArgumentError

__all__ = ["MOST_ROWS", "small_m_config"]

#: Rows of A beyond which a tile of the plain kernel has no idle rows worth saving.
MOST_ROWS = 128

_ROWS = (8, 16, 32, 64, 128)  # of a tile
_PROCESSORS = 132
_CLUSTERS = {8: 15, 4: 30, 2: 66}  # CTAs of a cluster to how many an H200 holds, one CTA on an SM
_PARTIAL_BYTES = 64 << 10  # of shared memory for the sums of other CTAs
_SPLIT_STAGES = 5  # of 128 rows: one more than fits beside two buffers of the epilogue for each warp
_L2_WORTH = 256 << 20  # bytes of B beyond which a hint to L2 costs more than it saves


def _split(tiles: int, k_tiles: int, partial: int) -> int:
    """CTAs for each tile: as many as keep all clusters resident, have work and room for their sums."""
    for split, clusters in _CLUSTERS.items():
        if tiles <= clusters and split <= k_tiles and (split - 1) * partial <= _PARTIAL_BYTES:
            return split
    return 1


def small_m_config(m: int, n: int, k: int, element: DTypeName, *, pdl: bool = False) -> GemmConfig:
    """A config of ``tma_wgmma`` for D = A * B^T with few rows of A, (M,K), and B, (N,K), K-major both.

    Operands are swapped, so that a tile has 8 to 128 rows and 64 or, at 128 rows, 128 columns; the fewer
    rows, the deeper its k-tiles, which ``pdl`` halves. Few tiles share K among the CTAs of a cluster; more
    tiles than SMs are taken in turns. The types of C and D and all alignments are the defaults, to be
    replaced as needed.

    Args:
        m: Rows of A and D, 1 to :data:`MOST_ROWS`.
        n: Rows of B, columns of D.
        k: Columns of A and B.
        element: Type of A and B, one that a warpgroup MMA takes.
        pdl: Start while the kernel before in the stream ends and load B meanwhile, which it must not write.
            Taken up to 64 rows, beyond which it is slower.

    Raises:
        ArgumentError: M is not from 1 to 128, or N or K less than 1.
    """
    if not 1 <= m <= MOST_ROWS or n < 1 or k < 1:
        raise ArgumentError(f"m must be 1 to {MOST_ROWS}, n and k at least 1 (got {m}, {n} and {k})")
    size = dtype(element).bytes
    rows = next(r for r in _ROWS if r >= m)
    columns = 128 if rows == 128 else 64
    early = pdl and rows < 128
    row_bytes = 512 if rows <= 16 else 256 if rows <= 64 else 128
    depth = (row_bytes // 2 if early else row_bytes) // size  # loads ahead are let go in smaller pieces
    while depth * size > 128 and depth // 2 >= k:
        depth //= 2
    tiles = -(-n // columns)
    split = _split(tiles, -(-k // depth), rows * columns * 4)
    b: dict[str, Any] = {"dtype": element}
    if n * k * size <= _L2_WORTH:
        b["cache"] = "evict_first"
    data: dict[str, Any] = {
        "arch": "sm_90a",
        "mainloop": "tma_wgmma",
        "a": {"dtype": element},
        "b": b,
        "tile": (rows, columns, depth),
        "schedule": "cooperative",
        "swap_ab": True,
        "scheduler": {"kind": "persistent" if tiles > _PROCESSORS else "static"},
    }
    if split > 1:
        data["scheduler"]["split_k"] = split
    if early:
        data["pdl"], b["constant"] = True, True
    if rows == 128 and split == 2:
        data["stages"] = _SPLIT_STAGES
    return GemmConfig(**data)
