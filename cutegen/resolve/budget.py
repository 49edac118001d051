"""Stages, CTAs per SM, the epilogue's store and the raster group: what shares an SM's resources."""

from __future__ import annotations

from cutegen.arch import arch
from cutegen.config import GemmConfig
from cutegen.resources import fragment_registers, smem_bytes, stage_bytes
from cutegen.resolve.copies import thread_count

__all__ = ["resolve_budget"]

_DEFAULT_STAGES = 4
_ADDRESSES = 50  # registers that addresses, counters and predicates take beside the fragments
_GROUP = 8


def _min_blocks(cfg: GemmConfig, threads: int) -> int:
    """CTAs per SM whose register budget holds accumulators, two k-blocks of fragments and addresses."""
    limit = arch(cfg.arch)
    need = fragment_registers(cfg) + _ADDRESSES
    by_registers = limit.registers_per_sm // (threads * max(1, need))
    by_threads = limit.max_threads_per_sm // threads
    return max(1, min(by_registers, by_threads, 4))


def resolve_budget(cfg: GemmConfig) -> GemmConfig:
    """Fill ``min_blocks``, ``stages``, ``epilogue.store`` and ``scheduler.group``."""
    threads = thread_count(cfg)
    if threads is None or cfg.tile is None or cfg.tiled_mma.permutation is None:
        return cfg
    limit = arch(cfg.arch)
    blocks = cfg.min_blocks or _min_blocks(cfg, threads)
    stages = cfg.stages
    per_stage = stage_bytes(cfg)
    if cfg.mainloop == "direct":
        stages = stages or 1
    elif cfg.mainloop == "simt":
        stages = stages or 2
    if stages is None:
        asynchronous = all(
            (copy.atom or "").startswith("SM80_CP_ASYNC") for copy in (cfg.g2s.a, cfg.g2s.b)
        )
        most = _DEFAULT_STAGES if asynchronous else 2
        while True:
            share = limit.smem_per_sm // blocks - limit.reserved_smem_per_block
            fit = min(share, limit.smem_per_block) // per_stage if per_stage else 1
            if fit >= min(3, most) or blocks == 1 or cfg.min_blocks is not None:
                break
            blocks -= 1
        stages = max(1, min(most, fit))
    scheduler = cfg.scheduler.model_copy(update={"group": cfg.scheduler.group or _GROUP})
    store = cfg.epilogue.store
    cfg = cfg.model_copy(update={"min_blocks": blocks, "stages": stages, "scheduler": scheduler})
    if store is None:
        store = "direct"
        if cfg.mainloop == "multistage":
            through_smem = cfg.model_copy(update={"epilogue": cfg.epilogue.model_copy(update={"store": "smem"})})
            if smem_bytes(through_smem) <= limit.smem_per_block:
                store = "smem"
    return cfg.model_copy(update={"epilogue": cfg.epilogue.model_copy(update={"store": store})})
