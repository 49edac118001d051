"""A plain ``tl.dot`` kernel with autotuned tiles, as Triton's tutorial writes one. Needs triton."""

from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl

from cutegen.bench.operands import Operands, Tensors

__all__ = ["binder"]

_TILES = (  # BLK_M, BLK_N, BLK_K, stages, warps
    (128, 256, 64, 3, 8),
    (256, 128, 64, 3, 8),
    (128, 128, 64, 4, 4),
    (128, 128, 64, 3, 8),
    (128, 128, 32, 4, 4),
    (64, 256, 64, 4, 4),
    (128, 64, 64, 4, 4),
    (64, 128, 64, 4, 4),
    (64, 64, 64, 5, 4),
    (64, 32, 64, 5, 2),
    (16, 64, 128, 5, 4),
    (16, 128, 128, 4, 4),
    (16, 32, 256, 4, 4),
)


def binder(operands: Operands) -> Callable[[Tensors], Callable[[], object]] | str:
    """What makes a launch of the kernel, or why it cannot take the operands."""
    if operands.a != operands.b or operands.a not in ("f16", "bf16"):
        return "the kernel takes f16 or bf16"
    if operands.d != operands.a:
        return "the kernel's D has the type of A"
    return _bind


def _bind(t: Tensors) -> Callable[[], object]:
    m, k = t.a.shape
    n = t.b.shape[0]

    def grid(meta: Any) -> tuple[int]:
        return (triton.cdiv(m, meta["BLK_M"]) * triton.cdiv(n, meta["BLK_N"]),)

    def launch() -> None:
        _gemm[grid](t.a, t.b, t.d, m, n, k, *t.a.stride(), *t.b.stride(), *t.d.stride())

    return launch


@triton.autotune(
    configs=[
        triton.Config({"BLK_M": m, "BLK_N": n, "BLK_K": k}, num_stages=stages, num_warps=warps)
        for m, n, k, stages, warps in _TILES
    ],
    key=["m", "n", "k"],
)
@triton.jit
def _gemm(
    a_pointer, b_pointer, d_pointer, m, n, k, a_m, a_k, b_n, b_k, d_m, d_n,
    BLK_M: tl.constexpr, BLK_N: tl.constexpr, BLK_K: tl.constexpr,
):  # fmt: skip
    """D(M,N) = A(M,K) * B(N,K)^T, one CTA a tile, in groups of 8 rows of tiles."""
    tiles_m, tiles_n = tl.cdiv(m, BLK_M), tl.cdiv(n, BLK_N)
    tile = tl.program_id(0)
    first = tile // (8 * tiles_n) * 8
    width = min(tiles_m - first, 8)
    rest = tile % (8 * tiles_n)
    row = (first + rest % width) * BLK_M + tl.arange(0, BLK_M)
    column = rest // width * BLK_N + tl.arange(0, BLK_N)
    inner = tl.arange(0, BLK_K)
    a = a_pointer + (row % m)[:, None] * a_m + inner[None, :] * a_k
    b = b_pointer + (column % n)[None, :] * b_n + inner[:, None] * b_k
    total = tl.zeros((BLK_M, BLK_N), dtype=tl.float32)
    for step in range(tl.cdiv(k, BLK_K)):
        left = k - step * BLK_K
        x = tl.load(a, mask=inner[None, :] < left, other=0.0)
        y = tl.load(b, mask=inner[:, None] < left, other=0.0)
        total = tl.dot(x, y, total)
        a += BLK_K * a_k
        b += BLK_K * b_k
    d = d_pointer + row[:, None] * d_m + column[None, :] * d_n
    tl.store(d, total.to(d_pointer.dtype.element_ty), mask=(row[:, None] < m) & (column[None, :] < n))
