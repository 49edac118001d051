"""Shared memory and registers of a ``tma_wgmma`` config."""

from __future__ import annotations

from dataclasses import dataclass

from cutegen.arch import arch
from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.operands.wgmma import staging_widths, warpgroups
from cutegen.operands.wgmma_registers import a_in_registers, fragment_a_registers
from cutegen.vectors import scale_type, vectors_of
from cutegen.wgmma_atoms import A_REGISTERS, WARPGROUP

__all__ = [
    "EPILOGUE_REGISTERS",
    "OPERATION_REGISTERS",
    "SharedMemory",
    "accumulator_limit",
    "accumulator_registers",
    "accumulators_fit",
    "cluster_shares",
    "entry_registers",
    "flags_of_a_slot",
    "live_registers",
    "most_stages",
    "operation_registers",
    "pending_registers",
    "register_budget",
    "register_split",
    "shared_memory",
    "slot_bytes",
    "stage_bytes_of",
    "sum_sets",
    "sums_in_global_memory",
    "workspace_shares",
]


#: Addresses, scale and a few values beside the accumulators.
EPILOGUE_REGISTERS = 24

#: Beyond them ptxas spills kilobytes and serialises the products, whatever is left: 216, of 128x216, did.
MOST_ACCUMULATORS = 208

#: More of them: the place in the order of units and their sums, where these meet in global memory.
UNIT_REGISTERS = 24

#: More of them: addresses of A, and what its loads bring, where they put it into registers.
LOAD_REGISTERS = 24

#: What ptxas wants beside one operation's accumulators.
OPERATION_REGISTERS = 26

_ALIGN = 1024  # of operands and staging: the period of the widest swizzle
_BARRIERS = 16  # bytes of a stage's two mbarriers, or of a consumer's two of split K
_WARPS = 4
_SLOT_BYTES = 16 * 128  # a staging buffer of one warp: 16 rows
_MOST_STAGES = 16
_ENOUGH_STAGES = 4  # beyond which a staging buffer is worth more than a stage
_COLUMN = 512  # registers of a register file for each of 128 threads, all warpgroups together


@dataclass(frozen=True, kw_only=True)
class SharedMemory:
    """Where everything lies, in bytes from the start.

    Attributes:
        a: The ring of A.
        b: The ring of B.
        staging: The epilogue's buffers.
        vectors: Scales and bias of columns.
        partials: What other CTAs that share the k-tiles send.
        partial_bytes: From one of them.
        barriers: The mbarriers.
        bytes: All of it.
        vector_bytes: Of one warpgroup's vectors; 0 without any.
        slots: Staging buffers of one warp or, for an M-major D, warpgroup; 0 without bulk stores.
        slot_bytes: Of one of them.
        chunks: Bytes of a row of each chunk of D.
        chunk_columns: Columns of a chunk of an M-major D; 0 for an N-major one.
    """

    a: int
    b: int
    staging: int
    vectors: int
    partials: int
    partial_bytes: int
    barriers: int
    bytes: int
    vector_bytes: int
    slots: int
    slot_bytes: int
    chunks: tuple[int, ...]
    chunk_columns: int


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _operand_bytes(cfg: GemmConfig) -> tuple[int, int]:
    m, n, k = cfg.tile or (0, 0, 0)
    return m * k * dtype(cfg.a.dtype).bytes, n * k * dtype(cfg.b.dtype).bytes


def stage_bytes_of(cfg: GemmConfig) -> int:
    """Bytes of one stage of A and B together."""
    return sum(_operand_bytes(cfg))


def _chunk_columns(cfg: GemmConfig) -> int:
    """The most columns that fit a staging buffer of a warpgroup, 128 bytes along M each."""
    if cfg.epilogue.store != "tma" or cfg.d.major != "m":
        return 0
    return next((c for c in (64, 32, 16, 8) if warpgroups(cfg).columns % c == 0), 0)


def _chunks(cfg: GemmConfig) -> tuple[int, ...]:
    if cfg.epilogue.store != "tma":
        return ()
    if cfg.d.major == "m":
        return (128,) * (warpgroups(cfg).columns // max(1, _chunk_columns(cfg)))
    return staging_widths(warpgroups(cfg).columns * dtype(cfg.d.dtype or "f32").bytes)


def _vector_bytes(cfg: GemmConfig) -> int:
    """Bytes of what a warpgroup keeps of the vectors along N."""
    count = sum(vector.extent == "n" for vector in vectors_of(cfg))
    return count * warpgroups(cfg).columns * dtype(scale_type(cfg)).bytes


def shared_memory(cfg: GemmConfig) -> SharedMemory:
    """The layout of shared memory, with as many staging buffers as there is room for."""
    a_bytes, b_bytes = _operand_bytes(cfg)
    stages = cfg.stages or 1
    groups = warpgroups(cfg)
    chunks = _chunks(cfg)
    b = _round_up(stages * a_bytes, _ALIGN)
    staging = _round_up(b + stages * b_bytes, _ALIGN)
    slots, vector_bytes = 0, _vector_bytes(cfg)
    extra = _split_bytes(cfg)
    if chunks:
        taken = staging + extra + stages * _BARRIERS + groups.count * vector_bytes
        room = arch(cfg.arch).smem_per_block - taken
        most = len(chunks) * max(1, groups.atoms_m)
        slots = max(1, min(most, room // (groups.count * _WARPS * _SLOT_BYTES)))
    vectors = staging + slots * groups.count * _WARPS * _SLOT_BYTES
    partials = vectors + groups.count * vector_bytes
    split_barriers = groups.count * _BARRIERS if extra else 0
    barriers = partials + extra - split_barriers
    return SharedMemory(
        a=0,
        b=b,
        staging=staging,
        vectors=vectors,
        partials=partials,
        partial_bytes=_partial_bytes(cfg),
        barriers=barriers,
        bytes=barriers + stages * _BARRIERS + split_barriers,
        vector_bytes=vector_bytes,
        slots=slots,
        slot_bytes=_SLOT_BYTES * (_WARPS if cfg.d.major == "m" else 1),
        chunks=chunks,
        chunk_columns=_chunk_columns(cfg),
    )


def cluster_shares(cfg: GemmConfig) -> int:
    """CTAs of a cluster that share the k-tiles of an output tile."""
    return 1 if cfg.scheduler.reduction == "semaphore" else cfg.scheduler.split_k or 1


def workspace_shares(cfg: GemmConfig) -> int:
    """CTAs, or clusters of them, that share the k-tiles of an output tile and sum in global memory."""
    return cfg.scheduler.split_k or 1 if cfg.scheduler.reduction == "semaphore" else 1


def sums_in_global_memory(cfg: GemmConfig) -> bool:
    """Whether CTAs that share an output tile sum in global memory."""
    return cfg.scheduler.kind == "stream_k" or workspace_shares(cfg) > 1


def slot_bytes(cfg: GemmConfig) -> int:
    """Bytes of global memory for the accumulators of one CTA's tile."""
    return _partial_bytes(cfg) // (warpgroups(cfg).count if warpgroups(cfg).pingpong else 1)


def flags_of_a_slot(cfg: GemmConfig) -> int:
    """Warps that have a tile's accumulators."""
    return _WARPS * (1 if warpgroups(cfg).pingpong else warpgroups(cfg).count)


def _partial_bytes(cfg: GemmConfig) -> int:
    """Bytes of a CTA's accumulators."""
    return warpgroups(cfg).count * accumulator_registers(cfg) * 4 * WARPGROUP


def _split_bytes(cfg: GemmConfig) -> int:
    """What split K needs beside the ring: accumulators of all senders, and mbarriers."""
    senders = cluster_shares(cfg) - 1
    return senders * _partial_bytes(cfg) + warpgroups(cfg).count * _BARRIERS if senders > 0 else 0


def most_stages(cfg: GemmConfig) -> int:
    """As many stages as fit beside two staging buffers for each warp, or one if that leaves too few."""
    per_stage = stage_bytes_of(cfg) + _BARRIERS
    taken = _split_bytes(cfg) + warpgroups(cfg).count * _vector_bytes(cfg)
    limit = arch(cfg.arch).smem_per_block - _ALIGN - taken
    buffers = warpgroups(cfg).count * _WARPS * _SLOT_BYTES if cfg.epilogue.store == "tma" else 0
    for slots in (2, 1):
        stages = min(_MOST_STAGES, (limit - slots * buffers) // max(1, per_stage))
        if stages >= _ENOUGH_STAGES:
            break
    return max(1, stages)


def accumulator_registers(cfg: GemmConfig) -> int:
    """32-bit registers of a consumer thread's accumulators."""
    groups = warpgroups(cfg)
    return groups.rows * groups.columns * dtype(cfg.accumulator or "f32").bits // (32 * WARPGROUP)


def sum_sets(cfg: GemmConfig) -> int:
    """Sets of a stage's sums beside the accumulators: two if they fit, else one; none without promotion."""
    if cfg.promote is None:
        return 0
    live = 3 * accumulator_registers(cfg)
    fits = live + EPILOGUE_REGISTERS <= register_split(warpgroups(cfg).count, live)[1]
    return 2 if fits and live <= MOST_ACCUMULATORS else 1


def live_registers(cfg: GemmConfig) -> int:
    """32-bit registers of accumulators, sums of stages, a result that waits, and A where it is there."""
    return _kept_registers(cfg) + fragment_a_registers(cfg, max(1, warpgroups(cfg).atoms_m))


def _kept_registers(cfg: GemmConfig) -> int:
    """Those without A, which is loaded anew for each k-step."""
    return accumulator_registers(cfg) * (1 + sum_sets(cfg)) + pending_registers(cfg)


def register_budget(cfg: GemmConfig) -> tuple[int, int]:
    """Registers of a producer's and of a consumer's thread."""
    return register_split(warpgroups(cfg).count, _kept_registers(cfg))


def accumulators_fit(cfg: GemmConfig) -> bool:
    """Whether accumulators, sums of stages and epilogue fit into a consumer's registers."""
    if operation_registers(cfg) + OPERATION_REGISTERS > entry_registers(warpgroups(cfg).count):
        return False
    return live_registers(cfg) <= accumulator_limit(cfg)


def accumulator_limit(cfg: GemmConfig) -> int:
    """What of a consumer's registers is left for accumulators, sums of stages, a result that waits, and A."""
    others = EPILOGUE_REGISTERS + (UNIT_REGISTERS if sums_in_global_memory(cfg) else 0)
    left = register_budget(cfg)[1] - others - (LOAD_REGISTERS if a_in_registers(cfg) else 0)
    return min(left, MOST_ACCUMULATORS)


def pending_registers(cfg: GemmConfig) -> int:
    """32-bit registers of a tile's result that waits for its store: none without ``epilogue.overlap``."""
    groups = warpgroups(cfg)
    elements = groups.rows * groups.columns // WARPGROUP
    return elements * dtype(cfg.d.dtype or "f32").bits // 32 if cfg.epilogue.overlap else 0


def operation_registers(cfg: GemmConfig) -> int:
    """32-bit registers of a thread that one operation takes: accumulators, and A where it is in registers."""
    one = accumulator_registers(cfg) // max(1, warpgroups(cfg).atoms_m)
    return one + (A_REGISTERS if a_in_registers(cfg) else 0)


def entry_registers(consumers: int) -> int:
    """Registers with which a thread starts, before setmaxnreg: ptxas takes no operation that has more."""
    return _COLUMN // (consumers + 1) // 8 * 8


def register_split(consumers: int, accumulators: int) -> tuple[int, int]:
    """Registers of a producer's and of a consumer's thread, multiples of 8 that the register file holds.

    Source: PTX ISA, setmaxnreg: 24 to 256 in steps of 8.
    """
    if consumers >= 3:
        producer = 32
        return producer, min(240, (_COLUMN - producer) // consumers // 8 * 8)
    producer = 24 if accumulators >= 192 else 40
    return producer, min(240, (_COLUMN - producer) // consumers // 8 * 8)
