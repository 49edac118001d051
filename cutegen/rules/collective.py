"""What CUTLASS's collective builders take: types, schedules and fields of ``collective``."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName
from cutegen.rules.facts import Facts, OperandFacts
from cutegen.rules.registry import Finding, operand_rule, rule
from cutegen.rules.text import either
from cutegen.rules.tma import wgmma_fields
from cutegen.vectors import vectors_of

_BUILDER = "CUTLASS include/cutlass/gemm/collective/builders/"
_SM90 = f"{_BUILDER}sm90_gmma_builder.inl, sm90_common.inl"
_ARCHS = ("sm_90a", "sm_100a", "sm_120a")
_TMA_ALIGN = 16

_FLOAT8: tuple[DTypeName, ...] = ("e4m3", "e5m2")
#: Pairs of operand types with their accumulators.
_TYPES: dict[tuple[DTypeName, DTypeName], tuple[DTypeName, ...]] = {
    ("f16", "f16"): ("f32", "f16"),
    ("bf16", "bf16"): ("f32",),
    ("tf32", "tf32"): ("f32",),
    ("s8", "s8"): ("s32",),
    ("u8", "u8"): ("s32",),
    **{(a, b): ("f32", "f16") for a in _FLOAT8 for b in _FLOAT8},
}


def _types(cfg: GemmConfig) -> dict[tuple[DTypeName, DTypeName], tuple[DTypeName, ...]]:
    if cfg.arch != "sm_120a":
        return _TYPES
    return {pair: ("f32",) for pair in _TYPES if pair[0] in _FLOAT8}


@rule(
    "collective-arch",
    "collective",
    reason="The collective builders of CUTLASS 3.x begin with Hopper; their kernels use features of one "
    "architecture alone.",
    source=f"{_BUILDER}: sm90, sm100, sm120",
)
def collective_arch(facts: Facts) -> Iterator[Finding]:
    """There is a builder for the architecture."""
    if facts.cfg.arch not in _ARCHS:
        yield Finding(
            field="arch",
            got=facts.cfg.arch,
            need=f"mainloop collective needs {either(_ARCHS)}",
            fix="use arch: sm_90a or mainloop: multistage",
        )


@rule(
    "collective-types",
    "collective",
    reason="The builder picks a tensor-core operation for the types of A, B and accumulator; sm_120a has one "
    "for 8-bit floats only.",
    source=f"{_SM90} (ss_op_selector); sm120_common.inl (rr_op_selector_sm120)",
)
def collective_types(facts: Facts) -> Iterator[Finding]:
    """The builder has an operation for the types."""
    cfg = facts.cfg
    have = _types(cfg)
    accumulators = have.get((cfg.a.dtype, cfg.b.dtype))
    if accumulators is not None and cfg.accumulator in accumulators:
        return
    if accumulators:
        field, fixes = "accumulator", [f"accumulator: {acc}" for acc in accumulators]
    elif any(a == cfg.a.dtype for a, _ in have):
        field, fixes = "b.dtype", [f"b.dtype: {b}" for a, b in have if a == cfg.a.dtype]
    else:
        field, fixes = "a.dtype", []
    yield Finding(
        field=field,
        got=f"{cfg.a.dtype} x {cfg.b.dtype} -> {cfg.accumulator} on {cfg.arch}",
        need="the collective builder must have an operation for operand types and accumulator",
        fix=f"use {either(fixes)}" if fixes else "leave mainloop out",
    )


@operand_rule(
    "collective-major",
    "collective",
    reason="The tensor core reads operands of 8 and 32 bits K-major only; what CUTLASS would transpose on "
    "the way is not offered. On sm_120a all are K-major.",
    source="PTX ISA, wgmma.mma_async: imm-trans-a and imm-trans-b exist for .f16 and .bf16 only",
)
def collective_major(operand: OperandFacts) -> Iterator[Finding]:
    """Operands of 8 and 32 bits are K-major."""
    if operand.major == "mn" and (operand.dtype.bits != 16 or operand.facts.cfg.arch == "sm_120a"):
        yield Finding(
            field=f"{operand.which}.major",
            got=f"{operand.config.major} with {operand.config.dtype}",
            need=f"{operand.name} of {operand.dtype.bits} bits must be K-major",
            fix=f"use {operand.which}.major: k",
        )


@operand_rule(
    "collective-align",
    "collective",
    reason="The mainloop loads A and B in bulk, from addresses and rows at multiples of 16 bytes.",
    source=f"{_SM90}: Should meet TMA alignment requirement",
)
def collective_align(operand: OperandFacts) -> Iterator[Finding]:
    """A and B are aligned as bulk copies need it."""
    align = operand.config.align
    if align is not None and align < _TMA_ALIGN:
        yield Finding(
            field=f"{operand.which}.align",
            got=f"{align} bytes",
            need="a bulk copy needs a base and rows at multiples of 16 bytes",
            fix=f"use {operand.which}.align: {_TMA_ALIGN}, or mainloop: multistage",
        )


@rule(
    "collective-schedule",
    "collective",
    reason="Hopper's kernels differ in how many warpgroups multiply, and how they share tiles; those of "
    "later GPUs have schedules of their own, among which the builder chooses.",
    source="CUTLASS include/cutlass/gemm/dispatch_policy.hpp: KernelTmaWarpSpecialized, ...Pingpong, "
    "...Cooperative",
)
def collective_schedule(facts: Facts) -> Iterator[Finding]:
    """Schedules are those of Hopper, and elsewhere left to the builder."""
    cfg = facts.cfg
    if cfg.arch == "sm_90a":
        return
    stated = {
        "schedule": cfg.schedule,
        "scheduler.kind": None if cfg.scheduler.kind == "persistent" else cfg.scheduler.kind,
        "epilogue.store": None if cfg.epilogue.store in ("tma", "smem") else cfg.epilogue.store,
    }
    for field, value in stated.items():
        if value is not None:
            yield Finding(
                field=field,
                got=value,
                need=f"on {cfg.arch} the builder chooses it",
                fix=f"leave {field} out, or use arch: sm_90a",
            )


@rule(
    "collective-scheduler",
    "collective",
    reason="With one consumer warpgroup CUTLASS has a kernel of one CTA for each tile; with two, persistent "
    "ones, whose stream-K scheduler is for consumers that share a tile.",
    source="CUTLASS include/cutlass/gemm/kernel/sm90_gemm_tma_warpspecialized.hpp: does not support "
    "specializing the tile scheduler; ..._pingpong.hpp: does not currently support stream-K",
)
def collective_scheduler(facts: Facts) -> Iterator[Finding]:
    """The tile scheduler goes with the schedule."""
    cfg = facts.cfg
    kinds = {
        "warp_specialized": ("static",),
        "pingpong": ("persistent",),
        "cooperative": ("persistent", "stream_k"),
    }
    schedule, kind = cfg.schedule or "", cfg.scheduler.kind or ""
    if cfg.arch != "sm_90a" or kind in kinds.get(schedule, (kind,)):
        return
    others = [f"schedule: {name}" for name, allowed in kinds.items() if kind in allowed]
    yield Finding(
        field="scheduler.kind",
        got=f"{kind} with schedule {schedule}",
        need=f"schedule {schedule} has the scheduler {either(kinds[schedule])}",
        fix=f"use {either([f'scheduler.kind: {kinds[schedule][0]}', *others])}",
    )


@rule(
    "collective-raster",
    "collective",
    reason="CUTLASS's schedulers walk 1, 2, 4 or 8 tiles before the other mode advances; one CTA for each "
    "tile walks along M.",
    source="CUTLASS include/cutlass/gemm/kernel/tile_scheduler_params.h: get_log_swizzle_size; "
    "sm90_gemm_tma_warpspecialized.hpp: tiles from blockIdx",
)
def collective_raster(facts: Facts) -> Iterator[Finding]:
    """The order of tiles is one that the scheduler has."""
    scheduler = facts.cfg.scheduler
    static = scheduler.kind == "static"
    allowed = (1,) if static else (1, 2, 4, 8)
    if scheduler.group not in (None, *allowed):
        yield Finding(
            field="scheduler.group",
            got=str(scheduler.group),
            need=f"must be {either(allowed)} for a collective with the {scheduler.kind} scheduler",
            fix=f"use scheduler.group: {either(allowed)}",
        )
    if static and scheduler.raster == "n":
        yield Finding(
            field="scheduler.raster",
            got="n",
            need="one CTA for each tile walks along M",
            fix="use scheduler.raster: m",
        )


@rule(
    "collective-fast-accumulation",
    "collective",
    reason="Only tensor cores of Hopper sum 8-bit floats with fewer bits than f32, and only for them has "
    "CUTLASS two kernels.",
    source="CUTLASS include/cutlass/gemm/dispatch_policy.hpp: ...FP8FastAccum; "
    "include/cutlass/gemm/collective/fp8_accumulation.hpp",
)
def collective_fast_accumulation(facts: Facts) -> Iterator[Finding]:
    """There is a choice of how to sum."""
    cfg = facts.cfg
    if cfg.fast_accumulation is None:
        return
    choice = cfg.arch == "sm_90a" and cfg.a.dtype in _FLOAT8
    if choice and (cfg.fast_accumulation or cfg.accumulator == "f32"):
        return
    yield Finding(
        field="fast_accumulation",
        got=f"{str(cfg.fast_accumulation).lower()} with {cfg.a.dtype} -> {cfg.accumulator} on {cfg.arch}",
        need="only 8-bit floats on sm_90a, summed in f32, have this choice",
        fix="leave fast_accumulation out",
    )


@rule(
    "collective-vectors",
    "collective",
    reason="The epilogue that stores D in bulk takes a tree of operations; the one that stores from "
    "registers takes alpha, beta and C alone.",
    source="CUTLASS include/cutlass/epilogue/collective/builders/sm90_builder.inl: No-smem builder",
)
def collective_vectors(facts: Facts) -> Iterator[Finding]:
    """D is stored in bulk where there are scales or a bias."""
    cfg = facts.cfg
    if cfg.epilogue.store != "direct" or cfg.arch != "sm_90a":
        return
    aligned = all((out.align or _TMA_ALIGN) >= _TMA_ALIGN for out in (cfg.c, cfg.d))
    for vector in vectors_of(cfg):
        yield Finding(
            field=f"epilogue.{vector.name}",
            got=f"{vector.kind} with epilogue.store: direct",
            need="scales and a bias need epilogue.store: tma, and with it C and D aligned to 16 bytes",
            fix=f"leave epilogue.{vector.name} out" + (", or use epilogue.store: tma" if aligned else ""),
        )


@rule(
    "collective-unused-fields",
    "collective",
    reason="The builder chooses the operation, layouts in shared memory and copies from tile, types and "
    "schedule; there is nothing that these fields could change.",
    source="CUTLASS include/cutlass/gemm/collective/collective_builder_decl.hpp: the builder's parameters",
)
def collective_unused_fields(facts: Facts) -> Iterator[Finding]:
    """Fields of other mainloops are left out."""
    given = facts.given
    stated = {
        "tiled_mma.atom": given.tiled_mma.atom,
        "tiled_mma.layout": given.tiled_mma.layout,
        "tiled_mma.permutation": given.tiled_mma.permutation,
        "smem.a": given.smem.a,
        "smem.b": given.smem.b,
        **{
            f"g2s.{w}.{f}": getattr(getattr(given.g2s, w), f)
            for w in ("a", "b")
            for f in ("atom", "bits", "threads", "values")
        },
        "s2r.a": given.s2r.a,
        "s2r.b": given.s2r.b,
        "fragment_buffers": given.fragment_buffers,
        "min_blocks": None if given.min_blocks == 1 else given.min_blocks,
    }
    for other, fields in (("multistage", stated), ("tma_wgmma", wgmma_fields(given))):
        for field, value in fields.items():
            if value is not None:
                yield Finding(
                    field=field,
                    got=str(value),
                    need="mainloop collective has no such choice",
                    fix=f"leave {field} out, or use mainloop: {other}",
                )
