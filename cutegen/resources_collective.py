"""Shared memory and registers of a ``collective`` config: what CUTLASS's collective builders will choose.

The figures are those of CUTLASS 4.2 for ``arch::Sm90``; the rendered kernel asserts that it needs no more.
Sources: include/cutlass/epilogue/collective/builders/sm90_builder.inl (epilogue tile, stages of C and D),
include/cutlass/gemm/collective/builders/sm90_common.inl (ss_smem_selector), sm90_gmma_builder.inl
(compute_stage_count_or_override), include/cutlass/gemm/kernel/sm90_gemm_tma_warpspecialized*.hpp
(SharedStorage).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from cutegen.arch import arch
from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.vectors import vectors_of

__all__ = [
    "MOST_ACCUMULATORS",
    "CollectiveMemory",
    "collective_accumulators",
    "collective_memory",
    "collective_threads",
    "consumers",
    "epilogue_tile",
    "swizzle_period",
]

#: Registers of a consumer's 240 that accumulators may take; the rest is for addresses and the epilogue.
MOST_ACCUMULATORS = 216


_WARPGROUP = 128
_BARRIERS = 16  # bytes of a stage's two mbarriers
_ALIGN = 128  # bytes, of the buffers of A and B and the least of all
_ATOM_ROWS = 8  # after which a swizzle repeats


@dataclass(frozen=True, kw_only=True)
class CollectiveMemory:
    """Shared memory of one CTA.

    Attributes:
        stage_bytes: One stage of A and B together.
        stages: Slots of the ring; as many as fit where the config leaves them out, which may be none.
        epilogue_bytes: Buffers of C and D, and of vectors along N.
        bytes: All of it, barriers included.
    """

    stage_bytes: int
    stages: int
    epilogue_bytes: int
    bytes: int


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def consumers(cfg: GemmConfig) -> int:
    """Warpgroups that multiply; one more loads."""
    return 1 if cfg.schedule == "warp_specialized" else 2


def collective_threads(cfg: GemmConfig) -> int:
    """Threads of one CTA on sm_90a."""
    return _WARPGROUP * (consumers(cfg) + 1)


def collective_accumulators(cfg: GemmConfig) -> int:
    """32-bit registers of a consumer thread's accumulators; twice as many where f32 sums are kept apart."""
    m, n, _ = cfg.tile or (0, 0, 0)
    sharers = 2 if cfg.schedule == "cooperative" else 1
    registers = m * n * dtype(cfg.accumulator or "f32").bits // (32 * _WARPGROUP * sharers)
    return registers * (2 if cfg.fast_accumulation is False else 1)


def epilogue_tile(cfg: GemmConfig) -> tuple[int, int]:
    """Rows and columns that the epilogue stores at a time."""
    m, n, _ = cfg.tile or (1, 1, 1)
    if cfg.schedule == "cooperative":
        return min(128, m), gcd(min(32, n), n)
    wide = dtype(cfg.d.dtype or "f32").bits == 8 and n % 64 == 0
    return min(64, m), gcd(min(64 if wide else 32, n), n)


def swizzle_period(inner_bytes: int) -> int:
    """Elements, as CuTe counts them, after which the swizzle of a buffer repeats."""
    return next((8 * w for w in (128, 64, 32) if inner_bytes % w == 0), 128)


def _alignment(inner_bytes: int) -> int:
    """Of a buffer whose contiguous mode has so many bytes: eight rows of its swizzle."""
    width = next((w for w in (128, 64, 32) if inner_bytes % w == 0), 16)
    return max(_ALIGN, width * _ATOM_ROWS)


def _vector_bytes(cfg: GemmConfig) -> int:
    """A tile's part of each vector along N; those along M and single elements stay in registers."""
    columns = (cfg.tile or (1, 1, 1))[1]
    return sum(_round_up(columns * v.element.bytes, 16) for v in vectors_of(cfg) if v.extent == "n")


def _epilogue(cfg: GemmConfig) -> tuple[int, int, int]:
    """Bytes of the epilogue's buffers and vectors, the alignment, and stages of C."""
    if cfg.epilogue.store != "tma":
        return 0, 1, 0
    m, n, _ = cfg.tile or (1, 1, 1)
    rows, columns = epilogue_tile(cfg)
    tiles = (m // max(1, rows)) * (n // max(1, columns))
    c, d = dtype(cfg.c.dtype or "f32"), dtype(cfg.d.dtype or "f32")
    reuse = c.bits == d.bits and d.bits > 8
    stages_d = min(tiles, 2)
    stages_c = min(tiles, 4)
    if reuse:
        stages_c = max(stages_c, stages_d + 1)
    c_align, d_align = (
        _alignment((columns if out.major == "n" else rows) * element.bytes)
        for out, element in ((cfg.c, c), (cfg.d, d))
    )
    align = max(c_align, d_align)
    buffers = rows * columns * stages_c * c.bytes
    if not reuse:
        buffers = _round_up(buffers, d_align) + rows * columns * stages_d * d.bytes
    vectors = _vector_bytes(cfg) or 1  # an empty struct of C++
    return _round_up(_round_up(buffers, align) + vectors, align), align, stages_c


def _pipelines(cfg: GemmConfig, stages: int, stages_c: int) -> int:
    """Bytes of all barriers."""
    total = (stages + stages_c) * _BARRIERS if stages_c else _round_up(stages * _BARRIERS + 1, 16)
    if cfg.schedule != "warp_specialized":
        total += 16  # the order of loads
        total += 16  # the tile scheduler's
    if cfg.schedule == "pingpong":
        total += 32  # the order of the consumers
    return total


def collective_memory(cfg: GemmConfig) -> CollectiveMemory:
    """Shared memory of a config whose tile, schedule, store and types are filled."""
    m, n, k = cfg.tile or (1, 1, 1)
    a, b = dtype(cfg.a.dtype), dtype(cfg.b.dtype)
    a_bytes, b_bytes = m * k * a.bytes, n * k * b.bytes
    epilogue, align, stages_c = _epilogue(cfg)
    limit = arch(cfg.arch).smem_per_block
    # What sizeof(CollectiveEpilogue::SharedStorage) is, of which the builder leaves room for whole units.
    carveout = _round_up(epilogue + stages_c * _BARRIERS, align) if stages_c else 1
    stage = _round_up(a_bytes + b_bytes, _ALIGN) + _BARRIERS
    room = limit // _ALIGN * _ALIGN - _round_up(carveout, _ALIGN)
    stages = cfg.stages or max(0, room // stage)
    ring = _round_up(stages * a_bytes, _ALIGN) + _round_up(stages * b_bytes, _ALIGN)
    pipelines = _pipelines(cfg, stages, stages_c)
    align = max(align, _ALIGN)
    if cfg.schedule == "warp_specialized":  # buffers of the epilogue lie where A and B were
        total = _round_up(_round_up(max(ring, epilogue), 16) + pipelines, align)
    else:
        total = _round_up(_round_up(pipelines, align) + _round_up(max(epilogue, 1), _ALIGN) + ring, align)
    return CollectiveMemory(
        stage_bytes=a_bytes + b_bytes, stages=stages, epilogue_bytes=epilogue, bytes=total
    )
