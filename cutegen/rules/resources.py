"""Stages, shared memory, threads and registers."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.arch import ARCHS
from cutegen.resolve import resolve
from cutegen.resources import accumulator_registers, k_block_count, smem_bytes, stage_bytes
from cutegen.rules.facts import Facts
from cutegen.rules.registry import Finding, rule
from cutegen.rules.text import either, yaml_list

_TABLE = "CUDA C++ Programming Guide, table Technical Specifications per Compute Capability"
#: Registers of accumulators per thread that nvcc 13.0 compiles within minutes (see accumulators-compile).
_MOST_ACCUMULATORS = 8192


def _ring(facts: Facts) -> tuple[int, int] | None:
    """(stages, bytes of a stage) of the ring buffer, once its layouts make sense."""
    cfg = facts.cfg
    if not facts.uses_smem or cfg.stages is None or cfg.stages < 1 or facts.tile is None:
        return None
    if facts.a.smem is None or facts.b.smem is None or facts.blamed("smem"):
        return None
    return cfg.stages, stage_bytes(cfg)


def _smaller_tile(facts: Facts, limit: int) -> list[str]:
    """Tiles of which one stage fits, as fixes."""
    free = facts.given.model_copy(update={"tile": None})
    cfg = resolve(free)
    if cfg.tile is not None and 0 < smem_bytes(cfg) <= limit and cfg.tile != facts.tile:
        return [f"tile: {yaml_list(cfg.tile)}"]
    return []


@rule(
    "stages-fit",
    "resources",
    reason="All stages of A and B must fit into the shared memory that one CTA may have; a launch that "
    "asks for more fails.",
    source=f"{_TABLE}: maximum amount of shared memory per thread block",
)
def stages_fit(facts: Facts) -> Iterator[Finding]:
    """The ring buffer fits into shared memory."""
    ring, limit = _ring(facts), facts.arch.smem_per_block
    if ring is None or ring[0] * ring[1] <= limit:
        return
    stages, each = ring
    most = limit // each
    roomy = [a.name for a in ARCHS.values() if a.smem_per_block >= stages * each and a.cc > facts.arch.cc]
    fixes = [f"stages: {most}, the most that fit"] if most else []
    fixes += [] if most else _smaller_tile(facts, limit)
    if roomy:  # an 'a' arch is built for that GPU alone
        fixes.append(f"arch: {roomy[0]}" + (f" and target {roomy[0]}" if roomy[0].endswith("a") else ""))
    yield Finding(
        field="stages" if most else "tile",
        got=f"{stages} x {each} B = {stages * each} B",
        need=f"{stages} stages ask {stages * each} bytes of shared memory, {facts.cfg.arch} allows {limit} "
        "per CTA",
        fix=f"use {either(fixes)}" if fixes else "use a smaller tile",
    )


@rule(
    "epilogue-fits",
    "resources",
    reason="The output tile passes through shared memory as a whole when it is stored from there.",
    source=f"{_TABLE}: maximum amount of shared memory per thread block",
)
def epilogue_fits(facts: Facts) -> Iterator[Finding]:
    """The epilogue's staging buffer fits into shared memory."""
    cfg, limit = facts.cfg, facts.arch.smem_per_block
    if cfg.epilogue.store != "smem" or facts.tile is None:
        return
    staging = smem_bytes(cfg.model_copy(update={"mainloop": "direct"}))
    if staging > limit:
        yield Finding(
            field="epilogue.store",
            got=f"smem, {staging} B for a {facts.tile[0]} x {facts.tile[1]} tile of {cfg.d.dtype}",
            need=f"the staged tile must fit into the {limit} bytes that {cfg.arch} allows per CTA",
            fix="use epilogue.store: direct",
        )


@rule(
    "min-blocks-resident",
    "resources",
    reason="An SM holds a limited number of threads and CTAs; ptxas ignores a launch bound beyond them, so "
    "the register budget would not be what the config says.",
    source=f"{_TABLE}; ptxas 13.0: 'Value of threads per SM is out of range. .minnctapersm will be ignored'",
)
def min_blocks_resident(facts: Facts) -> Iterator[Finding]:
    """An SM can hold as many CTAs as the launch bounds ask for."""
    blocks, threads, limit = facts.cfg.min_blocks, facts.threads, facts.arch
    if blocks is None or threads is None or threads > limit.max_threads_per_block:
        return
    most = max(1, min(limit.max_threads_per_sm // threads, limit.max_blocks_per_sm))
    if blocks > most:
        yield Finding(
            field="min_blocks",
            got=f"{blocks} CTAs of {threads} threads",
            need=f"an SM of {facts.cfg.arch} holds {limit.max_threads_per_sm} threads and "
            f"{limit.max_blocks_per_sm} CTAs: at most {most} of these",
            fix=f"use min_blocks: {most}",
        )


@rule(
    "accumulators-compile",
    "resources",
    reason="A thread has 255 registers. What exceeds them is spilled to local memory, which is slow but "
    "right; beyond 32 times as many nvcc takes half an hour, and each thread 70 KB of local memory.",
    source="measured with nvcc 13.0: 4096 accumulators take 1 minute, 8192 take 2.5, 16384 take 28; "
    f"{_TABLE}: maximum number of 32-bit registers per thread",
)
def accumulators_compile(facts: Facts) -> Iterator[Finding]:
    """The accumulators of one thread stay within what ptxas can handle."""
    if facts.tile is None or facts.layout is None or facts.atom is None:
        return
    words = accumulator_registers(facts.cfg)
    if words <= _MOST_ACCUMULATORS:
        return
    fixes = []
    m, n, k = facts.tile
    while words > 128 and max(m, n) > 1:
        words //= 2
        m, n = (m // 2, n) if m >= n else (m, n // 2)
    if m % (facts.atom.shape[0] * facts.layout[0]) == 0 and n % (facts.atom.shape[1] * facts.layout[1]) == 0:
        fixes.append(f"tile: {yaml_list((m, n, k))}")
    else:
        fixes.append("tile: auto")
    yield Finding(
        field="tile",
        got=f"{facts.tile[0]} x {facts.tile[1]} over {facts.threads} threads, "
        f"{accumulator_registers(facts.cfg)} registers",
        need=f"accumulators must take at most {_MOST_ACCUMULATORS} registers per thread (255 without "
        "spilling)",
        fix=f"use {either(fixes)} or more warps",
    )


@rule(
    "fragment-buffers",
    "resources",
    reason="Two buffers of fragments take turns: while one k-block is multiplied, the next is loaded, "
    "across k-tiles too. So k-blocks must come in pairs and the next k-tile must be on its way.",
    source="the multistage mainloop, templates/parts/mainloop_multistage.cu",
)
def fragment_buffers(facts: Facts) -> Iterator[Finding]:
    """Double-buffered fragments have an even number of k-blocks and at least two stages."""
    cfg = facts.cfg
    if cfg.fragment_buffers != 2:
        return
    reason = None
    if cfg.mainloop != "multistage":
        reason = f"mainloop must be multistage, not {cfg.mainloop}"
    elif cfg.stages is not None and cfg.stages < 2:
        reason = "stages must be at least 2"
    elif facts.permutation[2] is not None and facts.tile is not None and k_block_count(cfg) % 2:
        reason = f"a k-tile must have an even number of k-blocks, not {k_block_count(cfg)}"
    if reason:
        yield Finding(field="fragment_buffers", got="2", need=reason, fix="use fragment_buffers: 1")
