"""Tile, epilogue, cluster, shared memory and registers of ``collective``."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.dtypes import dtype
from cutegen.resources_collective import (
    MOST_ACCUMULATORS,
    collective_accumulators,
    collective_memory,
    epilogue_tile,
    swizzle_period,
)
from cutegen.rules.facts import Facts, OperandFacts
from cutegen.rules.registry import Finding, operand_rule, rule
from cutegen.rules.text import either, multiples, yaml_list

_BUILDER = "CUTLASS include/cutlass/gemm/collective/builders/"
_SM90 = f"{_BUILDER}sm90_gmma_builder.inl, sm90_common.inl"
_TMA_ALIGN = 16
_PORTABLE_CLUSTER = 8
_MOST_COLUMNS = 256


def _rows(facts: Facts) -> tuple[int, ...]:
    """BLK_M is a multiple of the first number, and at most the second if there is one."""
    cfg = facts.cfg
    if cfg.arch == "sm_100a":
        return (128, 256) if (cfg.cluster or (1, 1, 1))[0] % 2 == 0 else (64, 128)
    if cfg.arch == "sm_120a":
        return (128, 128)
    return (128,) if cfg.schedule == "cooperative" else (64,)


@rule(
    "collective-tile",
    "collective",
    reason="A warpgroup multiplies 64 rows by 8 to 256 columns by 32 bytes along K, two cooperative ones 128 "
    "rows; on sm_100a one or two CTAs multiply 64 to 256 rows. Tiles of more columns are not offered.",
    source=f"{_SM90}; sm100_common.inl; sm120_mma_builder.inl",
)
def collective_tile(facts: Facts) -> Iterator[Finding]:
    """The tile consists of whole operations."""
    cfg, tile = facts.cfg, facts.tile
    if tile is None or facts.blamed("a", "b", "arch"):
        return
    hopper = cfg.arch == "sm_90a"
    unit, *most = _rows(facts)
    step = 8 if hopper else 32
    k = 32 // dtype(cfg.a.dtype).bytes * (1 if hopper else 4)
    who = f"with schedule {cfg.schedule}" if hopper else f"on {cfg.arch}"
    wrong: dict[int, tuple[str, list[int]]] = {}  # by mode: what must be, and extents that are
    if tile[0] % unit or (most and tile[0] > most[0]):
        fits = [m for m in multiples(tile[0], unit) if not most or m <= most[0]] or [
            most[0] if most else unit
        ]
        bound = f" up to {most[0]}" if most else ""
        wrong[0] = f"a multiple of {unit}{bound} {who}", fits
    if tile[1] % step or tile[1] > _MOST_COLUMNS:
        fits = [n for n in multiples(tile[1], step) if n <= _MOST_COLUMNS] or [_MOST_COLUMNS]
        wrong[1] = f"a multiple of {step} up to {_MOST_COLUMNS} {who}", fits
    if tile[2] % k:
        wrong[2] = f"a multiple of {k} for {cfg.a.dtype} {who}", multiples(tile[2], k)
    right = [wrong[mode][1][0] if mode in wrong else extent for mode, extent in enumerate(tile)]
    for mode, (need, fits) in wrong.items():
        tiles = [yaml_list((*right[:mode], extent, *right[mode + 1 :])) for extent in fits]
        yield Finding(
            field="tile",
            got=f"BLK_{'MNK'[mode]} {tile[mode]}",
            need=f"BLK_{'MNK'[mode]} must be {need}",
            fix=f"use tile: {either(tiles)}",
        )


@operand_rule(
    "collective-swizzle",
    "collective",
    reason="A stage of A or B is cut out of the swizzled layout of all stages, which CuTe does only where "
    "it begins at a whole period of the swizzle.",
    source="CUTLASS include/cute/layout_composed.hpp, slice; include/cute/layout.hpp: Stride Divisibility "
    "Condition",
)
def collective_swizzle(operand: OperandFacts) -> Iterator[Finding]:
    """A stage is a multiple of its swizzle's period."""
    facts, extents = operand.facts, operand.extents
    if extents is None or facts.cfg.arch != "sm_90a" or operand.major is None or facts.blamed("tile"):
        return
    elements = extents[0] * extents[1]
    period = swizzle_period(extents[1 if operand.major == "k" else 0] * operand.dtype.bytes)
    if elements % period == 0:
        return
    tile = list(facts.tile or ())
    unit = next(u for u in range(8, period + 1, 8) if u * extents[1] % period == 0)
    tile[operand.mode] = -(-tile[operand.mode] // unit) * unit
    yield Finding(
        field="tile",
        got=f"{operand.name}'s stages of {extents[0]} x {extents[1]} elements",
        need=f"BLK_{operand.mn} x BLK_K must be a multiple of {period} elements, the period of its swizzle",
        fix=f"use tile: {yaml_list(tile)}",
    )


@rule(
    "collective-store",
    "collective",
    reason="The epilogue stores D, and loads C, in bulk through shared memory, in rows that are multiples "
    "of 16 bytes, or else element by element from registers. Elements of 8 bytes are not offered.",
    source="CUTLASS include/cutlass/epilogue/collective/builders/sm90_builder.inl: C/D Should meet TMA "
    "alignment requirement; sm90_get_epilogue_smem_swizzle_layout_atom",
)
def collective_store(facts: Facts) -> Iterator[Finding]:
    """C and D are such as the epilogue can move."""
    cfg = facts.cfg
    for name, out in (("c", cfg.c), ("d", cfg.d)):
        if dtype(out.dtype or "f32").bits > 32:
            yield Finding(
                field=f"{name}.dtype",
                got=str(out.dtype),
                need="the epilogue has elements of at most 4 bytes",
                fix=f"use {name}.dtype: f32",
            )
    if cfg.epilogue.store == "smem":
        yield Finding(
            field="epilogue.store",
            got="smem",
            need="a collective stores by bulk copies (tma) or from registers (direct)",
            fix="use epilogue.store: tma or epilogue.store: direct",
        )
    if cfg.epilogue.store != "tma":
        return
    for name, out in (("c", cfg.c), ("d", cfg.d)):
        if out.align is not None and out.align < _TMA_ALIGN:
            yield Finding(
                field=f"{name}.align",
                got=f"{out.align} bytes",
                need=f"rows of {name.upper()} must start at multiples of 16 bytes to be moved in bulk",
                fix=f"use {name}.align: {_TMA_ALIGN} or epilogue.store: direct",
            )
        if facts.tile is None or facts.blamed("tile", f"{name}.dtype") or cfg.arch != "sm_90a":
            continue
        size = dtype(out.dtype or "f32").bytes
        if out.major == "n" and epilogue_tile(cfg)[1] * size % _TMA_ALIGN:
            m, n, k = facts.tile
            yield Finding(
                field="tile",
                got=f"BLK_N {n} with {name}.dtype: {out.dtype}",
                need=f"BLK_N must be a multiple of {_TMA_ALIGN // size}: rows of 16 bytes",
                fix=f"use tile: {yaml_list((m, -(-n // 16) * 16, k))} or epilogue.store: direct",
            )


@rule(
    "collective-cluster",
    "collective",
    reason="A cluster of up to 8 CTAs can be scheduled on every GPU that has clusters; sm_120a has none.",
    source="CUDA C++ Programming Guide, Thread Block Clusters: portable cluster size; "
    f"{_BUILDER}sm120_mma_builder.inl: no multicast",
)
def collective_cluster(facts: Facts) -> Iterator[Finding]:
    """Clusters have at most 8 CTAs, in M and N."""
    cluster = facts.cfg.cluster
    most = 1 if facts.cfg.arch == "sm_120a" else _PORTABLE_CLUSTER
    if cluster is None or (min(cluster) >= 1 and cluster[2] == 1 and cluster[0] * cluster[1] <= most):
        return
    yield Finding(
        field="cluster",
        got=yaml_list(cluster),
        need=f"1 to {most} CTAs along M and N together, 1 along K",
        fix=f"use cluster: {'[2, 1, 1]' if most > 1 else '[1, 1, 1]'}",
    )


@operand_rule(
    "collective-slices",
    "collective",
    reason="CTAs of a cluster that share an operand load equal slices of its tile, which a bulk copy writes "
    "to multiples of 128 bytes.",
    source="CUTLASS include/cute/atom/copy_traits_sm90_tma.hpp: make_tma_copy_tiled; PTX ISA, "
    "cp.async.bulk.tensor: dstMem must be 128-byte aligned",
)
def collective_slices(operand: OperandFacts) -> Iterator[Finding]:
    """Each CTA of a cluster loads an equal slice."""
    facts, extents = operand.facts, operand.extents
    cluster, tile = facts.cfg.cluster, facts.tile
    if tile is None or cluster is None or facts.cfg.arch != "sm_90a" or facts.blamed("cluster", "tile"):
        return
    sharers = cluster[1 - operand.mode]
    mode = 2 if operand.major == "mn" else operand.mode
    nbytes = (extents[0] * extents[1] if extents else 0) * operand.dtype.bytes
    if tile[mode] % sharers == 0 and nbytes % (128 * sharers) == 0:
        return
    yield Finding(
        field="cluster",
        got=f"{yaml_list(cluster)} with BLK_{'MNK'[mode]} {tile[mode]}",
        need=f"{sharers} CTAs must share {operand.name} in equal slices of whole 128 bytes",
        fix="use cluster: [1, 1, 1]",
    )


@rule(
    "collective-smem",
    "collective",
    reason="At least two stages of A and B must fit beside the buffers of C and D.",
    source=f"{_SM90}: compute_stage_count_or_override; "
    "sm90_mma_tma_gmma_ss_warpspecialized.hpp: Stages set to value 2 or more",
)
def collective_smem(facts: Facts) -> Iterator[Finding]:
    """Two stages or more fit into shared memory."""
    cfg, limit = facts.cfg, facts.arch.smem_per_block
    if cfg.stages == 1:
        yield Finding(
            field="stages", got="1", need="at least 2 stages", fix="use stages: 2, or leave stages out"
        )
    if facts.tile is None or facts.blamed("tile", "stages", "arch", "c", "d", "epilogue"):
        return
    if cfg.arch != "sm_90a":
        m, n, k = facts.tile
        stage = m * k * dtype(cfg.a.dtype).bytes + n * k * dtype(cfg.b.dtype).bytes
        if stage * (cfg.stages or 2) > limit:
            yield Finding(
                field="stages" if cfg.stages else "tile",
                got=f"{cfg.stages or 2} stages of {stage} B",
                need=f"{cfg.arch} allows {limit} bytes of shared memory per CTA",
                fix="leave stages out" if cfg.stages else "use a smaller tile, or tile: auto",
            )
        return
    need = collective_memory(cfg)
    if need.stages >= 2 and need.bytes <= limit:
        return
    most = collective_memory(cfg.model_copy(update={"stages": None})).stages
    yield Finding(
        field="stages" if most >= 2 else "tile",
        got=f"{max(2, need.stages)} stages of {need.stage_bytes} B and {need.epilogue_bytes} B of epilogue",
        need=f"{cfg.arch} allows {limit} bytes of shared memory per CTA",
        fix=f"use stages: {most}, the most that fit" if most >= 2 else "use a smaller tile, or tile: auto",
    )


@rule(
    "collective-registers",
    "collective",
    reason="The accumulators of a warpgroup MMA stay in registers, of which a consumer's thread has at most "
    "240; sums that are kept apart in f32 take as many again.",
    source="CUTLASS include/cutlass/gemm/kernel/sm90_gemm_tma_warpspecialized_cooperative.hpp: "
    "MmaRegisterRequirement; include/cutlass/gemm/collective/fp8_accumulation.hpp",
)
def collective_registers(facts: Facts) -> Iterator[Finding]:
    """A consumer's accumulators fit into its registers."""
    cfg = facts.cfg
    if facts.tile is None or cfg.arch != "sm_90a" or facts.blamed("tile", "schedule"):
        return
    accumulators = collective_accumulators(cfg)
    if accumulators <= MOST_ACCUMULATORS:
        return
    m, n, k = facts.tile
    ways = [yaml_list((m, n // 2, k))]
    if cfg.schedule != "cooperative" and m == 128:
        ways[0] += " or schedule: cooperative"
    yield Finding(
        field="tile",
        got=f"{accumulators} registers of accumulators per thread",
        need=f"at most {MOST_ACCUMULATORS} of a consumer's 240 registers",
        fix=f"use tile: {ways[0]}",
    )
