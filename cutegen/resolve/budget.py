"""Stages, CTAs per SM, the epilogue's store and the raster group: what shares an SM's resources."""

from __future__ import annotations

from cutegen.arch import arch
from cutegen.config import GemmConfig
from cutegen.resolve.smem import thread_count
from cutegen.resources import (
    fragment_registers,
    k_block_count,
    mma_repeats,
    smem_bytes,
    stage_bytes,
)

__all__ = ["resolve_budget"]

_DEFAULT_STAGES = 4
_ADDRESSES = 50  # registers that addresses, counters and predicates take beside the fragments
_FEWER_ADDRESSES = 40  # the same when fragments are not double-buffered
_HIDING_MMAS = 24  # MMAs per k-block behind which a load of the next fragments hides
_GROUP = 8


def _buffers(cfg: GemmConfig) -> int:
    """Two k-blocks of fragments where they fit and there are enough MMAs to hide a load behind."""
    repeats = mma_repeats(cfg)
    k_blocks = k_block_count(cfg)
    fits = fragment_registers(cfg, 2) + _ADDRESSES <= arch(cfg.arch).max_registers_per_thread
    enough = repeats[0] * repeats[1] >= _HIDING_MMAS
    several = cfg.stages is None or cfg.stages > 1
    return 2 if cfg.mainloop == "multistage" and several and k_blocks % 2 == 0 and fits and enough else 1


def _min_blocks(cfg: GemmConfig, threads: int, buffers: int) -> int:
    """CTAs per SM whose register budget holds accumulators, fragments and addresses."""
    limit = arch(cfg.arch)
    addresses = _ADDRESSES if buffers > 1 else _FEWER_ADDRESSES
    need = fragment_registers(cfg, buffers) + addresses
    by_registers = limit.registers_per_sm // (threads * max(1, need))
    by_threads = limit.max_threads_per_sm // threads
    return max(1, min(by_registers, by_threads, 4))


def _stages(cfg: GemmConfig, blocks: int) -> tuple[int, int]:
    """As many stages as pay and fit, and the CTAs per SM that share the memory with them."""
    limit = arch(cfg.arch)
    per_stage = stage_bytes(cfg)
    if not per_stage:
        return 1, blocks
    asynchronous = all((copy.atom or "").startswith("SM80_CP_ASYNC") for copy in (cfg.g2s.a, cfg.g2s.b))
    most = 2 if not asynchronous else 3 if cfg.mainloop == "simt" else _DEFAULT_STAGES
    while True:
        share = limit.smem_per_sm // blocks - limit.reserved_smem_per_block
        fit = min(share, limit.smem_per_block) // per_stage
        if fit >= min(3, most) or blocks == 1 or cfg.min_blocks is not None:
            return max(1, min(most, fit)), blocks
        blocks -= 1


def resolve_budget(cfg: GemmConfig) -> GemmConfig:
    """Fill ``min_blocks``, ``stages``, ``epilogue.store`` and ``scheduler.group``."""
    threads = thread_count(cfg)
    if threads is None or cfg.tile is None or cfg.tiled_mma.permutation is None:
        return cfg
    limit = arch(cfg.arch)
    buffers = cfg.fragment_buffers or _buffers(cfg)
    blocks = cfg.min_blocks or _min_blocks(cfg, threads, buffers)
    stages = cfg.stages
    if stages is None:
        stages, blocks = _stages(cfg, blocks)
    elif cfg.min_blocks is None:  # registers need not be saved for CTAs that shared memory has no room for
        resident = limit.smem_per_sm // (stages * stage_bytes(cfg) + limit.reserved_smem_per_block or 1)
        blocks = max(1, min(blocks, resident))
    scheduler = cfg.scheduler.model_copy(
        update={"kind": cfg.scheduler.kind or "static", "group": cfg.scheduler.group or _GROUP}
    )
    store = cfg.epilogue.store
    if cfg.fragment_buffers is None and stages == 1:
        buffers = 1
    cfg = cfg.model_copy(
        update={
            "min_blocks": blocks,
            "stages": stages,
            "scheduler": scheduler,
            "fragment_buffers": buffers,
        }
    )
    if store is None:
        store = "direct"
        if cfg.mainloop == "multistage":
            through_smem = cfg.model_copy(
                update={"epilogue": cfg.epilogue.model_copy(update={"store": "smem"})}
            )
            if smem_bytes(through_smem) <= limit.smem_per_block:
                store = "smem"
    return cfg.model_copy(update={"epilogue": cfg.epilogue.model_copy(update={"store": store})})
