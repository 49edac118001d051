"""Warpgroup MMA of ``tma_wgmma``: types, tile, warpgroups, and what shares an SM among them."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.operands.wgmma import panel_bytes_wide, warpgroups
from cutegen.operands.wgmma_registers import a_in_registers, a_is_readable, b_is_readable
from cutegen.resources_wgmma import (
    OPERATION_REGISTERS,
    accumulator_limit,
    accumulators_fit,
    cluster_shares,
    entry_registers,
    live_registers,
    most_stages,
    operation_registers,
    register_budget,
    shared_memory,
)
from cutegen.rules.facts import Facts, OperandFacts
from cutegen.rules.registry import Finding, operand_rule, rule
from cutegen.rules.text import either, yaml_list
from cutegen.wgmma_atoms import A_REGISTERS, WGMMA_ATOMS, WGMMA_M, wgmma_columns

_PTX = "PTX ISA, wgmma.mma_async: matrix shapes, data types and shared memory layout"
_MOST_CONSUMERS = 3


@rule(
    "wgmma-arch",
    "wgmma",
    reason="wgmma and setmaxnreg are features of sm_90a alone. For sm_90 nvcc compiles a kernel without "
    "one wgmma in it, which traps; later GPUs have other instructions.",
    source="PTX ISA, wgmma.mma_async: target ISA notes; NVIDIA/cutlass issue 1874",
)
def wgmma_arch(facts: Facts) -> Iterator[Finding]:
    """Warpgroup MMA needs sm_90a."""
    if facts.cfg.arch != "sm_90a":
        yield Finding(
            field="arch",
            got=facts.cfg.arch,
            need="mainloop tma_wgmma runs on sm_90a only",
            fix="use arch: sm_90a or mainloop: multistage",
        )


@rule(
    "wgmma-types",
    "wgmma",
    reason="A warpgroup MMA exists for certain pairs of operand types and accumulators.",
    source=_PTX,
)
def wgmma_types(facts: Facts) -> Iterator[Finding]:
    """Some operation has these types."""
    cfg = facts.cfg
    have: dict[tuple[str, str], list[str]] = {(a.a, a.b): [] for a in WGMMA_ATOMS.values()}
    for atom in WGMMA_ATOMS.values():
        if atom.acc not in have[atom.a, atom.b]:
            have[atom.a, atom.b].append(atom.acc)
    accumulators = have.get((cfg.a.dtype, cfg.b.dtype))
    if accumulators is not None and cfg.accumulator in accumulators:
        return
    if accumulators:
        fixes = [f"accumulator: {acc}" for acc in accumulators]
    else:
        fixes = [f"b.dtype: {b}" for a, b in have if a == cfg.a.dtype] or ["mainloop: multistage"]
    yield Finding(
        field="accumulator" if accumulators else "b.dtype",
        got=f"{cfg.a.dtype} x {cfg.b.dtype} -> {cfg.accumulator}",
        need="a warpgroup MMA must exist for operand types and accumulator",
        fix=f"use {either(fixes)}",
    )


@operand_rule(
    "wgmma-major",
    "wgmma",
    reason="The descriptor of an operand in shared memory can say MN-major for types of 16 bits only. A, or "
    "B with swap_ab, can pass through registers instead, which elements of 32 bits fill one by one; those of "
    "8 bits would have to be gathered.",
    source="PTX ISA, wgmma.mma_async: imm-trans-a and imm-trans-b exist for .f16 and .bf16 only",
)
def wgmma_major(operand: OperandFacts) -> Iterator[Finding]:
    """Operands of 8 bits are K-major; of 32 bits one may be MN-major."""
    facts, which, bits = operand.facts, operand.which, operand.dtype.bits
    readable = a_is_readable if operand.role == "a" else b_is_readable
    if operand.major != "mn" or readable(facts.product):
        return
    other = facts.b if which == "a" else facts.a
    fix, unless = f"use {which}.major: k", ""
    if bits == other.dtype.bits == 32:
        alone = other.major == "k"
        unless = ", unless " + ("it passes through registers" if alone else f"{other.name} is K-major")
        if alone and _swaps(facts):
            fix += f", or swap_ab: {'false' if facts.cfg.swap_ab else 'true'}"
    yield Finding(
        field=f"{which}.major",
        got=f"{operand.config.major} with {operand.config.dtype}",
        need=f"wgmma reads {operand.name} of {bits} bits K-major only{unless}",
        fix=fix,
    )


def _swaps(facts: Facts) -> bool:
    """Whether operands may change places as far as the given tile is concerned, and nothing else is given."""
    given, (m, n, _) = facts.given, facts.given.tile or (WGMMA_M, WGMMA_M, 0)
    rows, columns = (m, n) if facts.cfg.swap_ab else (n, m)
    if given.tiled_mma.layout or given.tiled_mma.atom or given.cluster or given.epilogue.store == "tma":
        return False
    return not given.promote and rows % WGMMA_M == 0 and columns in wgmma_columns(facts.cfg.a.dtype)


@rule(
    "wgmma-layout",
    "wgmma",
    reason="Cooperative warpgroups lie side by side along M and N of a tile, up to three beside the one "
    "that loads; with pingpong two take turns and each has the tile for itself.",
    source="the mainloop's definition, templates/parts/wgmma_consumer.cu; 65536 registers of an SM",
)
def wgmma_layout(facts: Facts) -> Iterator[Finding]:
    """The warpgroups can share a tile in this way."""
    layout, schedule = facts.cfg.tiled_mma.layout, facts.cfg.schedule
    if layout is None or min(layout) < 1:
        return
    m, n, k = layout
    if schedule == "pingpong" and layout != (1, 1, 1):
        yield Finding(
            field="tiled_mma.layout",
            got=yaml_list(layout),
            need="a pingpong warpgroup has the tile for itself",
            fix="use tiled_mma.layout: [1, 1, 1] or schedule: cooperative",
        )
    elif k != 1 or m * n > _MOST_CONSUMERS:
        yield Finding(
            field="tiled_mma.layout",
            got=yaml_list(layout),
            need=f"at most {_MOST_CONSUMERS} warpgroups along M and N, one along K",
            fix="use tiled_mma.layout: [2, 1, 1]",
        )


@rule(
    "wgmma-tile",
    "wgmma",
    reason="One operation covers 64 rows by N columns by 32 bytes along K, and N comes in certain steps.",
    source=_PTX,
)
def wgmma_tile(facts: Facts) -> Iterator[Finding]:
    """The tile consists of whole operations."""
    cfg = facts.product
    tile, layout = cfg.tile, cfg.tiled_mma.layout
    if facts.tile is None or tile is None or layout is None or min(layout) < 1:
        return
    along_m, along_n = facts.wgmma_modes
    rows = WGMMA_M * layout[0]
    if tile[0] % rows:
        fits = facts.unswapped((max(rows, tile[0] // rows * rows), *tile[1:]))
        swap = tile[1] % WGMMA_M == 0 and tile[0] in wgmma_columns(cfg.a.dtype)
        yield Finding(
            field="tile",
            got=f"BLK_{along_m} {tile[0]}",
            need=f"BLK_{along_m} must be a multiple of {rows}: 64 for each of {layout[0]} warpgroups along "
            f"{along_m}",
            fix=f"use tile: {yaml_list(fits)}"
            + (f", or swap_ab: {'false' if facts.cfg.swap_ab else 'true'}" if swap else ""),
        )
    columns = [n * layout[1] for n in wgmma_columns(cfg.a.dtype)]
    if tile[1] not in columns:
        close = min(columns, key=lambda n: (abs(n - tile[1]), -n))
        step = "8, 16, 24 or a multiple of 16" if dtype(cfg.a.dtype).kind == "int" else "a multiple of 8"
        yield Finding(
            field="tile",
            got=f"BLK_{along_n} {tile[1]}",
            need=f"BLK_{along_n} of each of {layout[1]} warpgroups along {along_n} must be {step}, at most "
            "256",
            fix=f"use tile: {yaml_list(facts.unswapped((tile[0], close, tile[2])))}",
        )
    k = 32 // dtype(cfg.a.dtype).bytes
    if tile[2] % k:
        yield Finding(
            field="tile",
            got=f"BLK_K {tile[2]}",
            need=f"BLK_K must be a multiple of {k}, the K of an operation on {cfg.a.dtype}",
            fix=f"use tile: {yaml_list((*facts.tile[:2], max(k, tile[2] // k * k)))}",
        )


@rule(
    "wgmma-atom",
    "wgmma",
    reason="The operation's types and columns are those of the kernel.",
    source="CUTLASS include/cute/arch/mma_sm90_gmma.hpp, mma_sm90_gmma_ext.hpp",
)
def wgmma_atom_fits(facts: Facts) -> Iterator[Finding]:
    """A given operation has the types, and the columns of a warpgroup."""
    cfg = facts.product
    given = facts.given.tiled_mma.atom
    if given is None or facts.tile is None:
        return
    columns = warpgroups(cfg).columns
    wanted = (cfg.a.dtype, cfg.b.dtype, cfg.accumulator, columns, a_in_registers(cfg))
    atom = WGMMA_ATOMS.get(given)
    if atom is not None and (atom.a, atom.b, atom.acc, atom.shape[1], atom.a_registers) == wanted:
        return
    fits = [n for n, a in WGMMA_ATOMS.items() if (a.a, a.b, a.acc, a.shape[1], a.a_registers) == wanted]
    fixes = [f"tiled_mma.atom: {name}" for name in fits] or ["leave tiled_mma.atom out"]
    yield Finding(
        field="tiled_mma.atom",
        got=given,
        need=f"an operation {cfg.a.dtype} x {cfg.b.dtype} -> {cfg.accumulator} on {columns} columns"
        + (f" with {'B' if facts.cfg.swap_ab else 'A'} in registers" if a_in_registers(cfg) else ""),
        fix=fixes[0] if not fits else f"use {fixes[0]}",
    )


@operand_rule(
    "wgmma-panel",
    "wgmma",
    reason="An MN-major operand lies in panels of 16, 32 or 64 elements along its contiguous mode, and a "
    "warpgroup starts at a whole one.",
    source=f"{_PTX}: MN-major canonical layouts",
)
def wgmma_panel(operand: OperandFacts) -> Iterator[Finding]:
    """The tile of an MN-major operand is cut into whole swizzle rows."""
    facts = operand.facts
    if facts.tile is None or operand.major != "mn" or facts.blamed("tile") or facts.blamed("tiled_mma"):
        return
    cfg, along = facts.product, facts.wgmma_modes[1]
    if operand.dtype.bits == 16 and panel_bytes_wide(cfg, operand.role) is None:
        m, n, k = cfg.tile or (0, 0, 0)
        columns = (cfg.tiled_mma.layout or (1, 1, 1))[1]
        unit = 16 * columns
        tile = facts.unswapped((m, max(unit, n // unit * unit), k))
        yield Finding(
            field="tile",
            got=f"BLK_{along} {n} with {operand.which}.major: {operand.config.major}",
            need=f"BLK_{along} must be a multiple of {unit}: 32 bytes for each of {columns} warpgroups along "
            f"{along}",
            fix=f"use tile: {yaml_list(tile)}, or {operand.which}.major: k",
        )


@rule(
    "wgmma-stages",
    "wgmma",
    reason="While one stage is multiplied the next one is loaded; with a single slot the consumer would wait "
    "for a load that waits for the consumer.",
    source="templates/parts/wgmma_mainloop.cu: a slot is given back one k-tile later",
)
def wgmma_stages(facts: Facts) -> Iterator[Finding]:
    """The ring has at least two slots."""
    if facts.cfg.stages == 1:
        yield Finding(field="stages", got="1", need="at least 2 stages", fix="use stages: 2")


@rule(
    "wgmma-smem",
    "wgmma",
    reason="The ring of A and B and the epilogue's buffers must fit into the shared memory that one CTA may "
    "have; a launch that asks for more fails.",
    source="CUDA C++ Programming Guide, table Technical Specifications per Compute Capability",
)
def wgmma_smem(facts: Facts) -> Iterator[Finding]:
    """Everything fits into shared memory."""
    cfg, limit = facts.product, facts.arch.smem_per_block
    if facts.tile is None or cfg.stages is None or facts.blamed("tile", "stages", "tiled_mma"):
        return
    need = shared_memory(cfg).bytes
    if need <= limit:
        return
    most, split = most_stages(cfg), cluster_shares(cfg)
    if most >= 2 and _smem_with(cfg, stages=most) <= limit:
        field, fix = "stages", f"use stages: {most}, the most that fit"
    elif split > 1:
        fewer = next((s for s in range(split - 1, 1, -1) if _smem_with(cfg, split_k=s) <= limit), 1)
        field, fix = "scheduler.split_k", f"use scheduler.split_k: {fewer}, or a smaller tile"
    else:
        field, fix = "tile", "use a smaller tile, or tile: auto"
    yield Finding(
        field=field,
        got=f"{cfg.stages} stages, {need} B",
        need=f"{cfg.arch} allows {limit} bytes of shared memory per CTA",
        fix=fix,
    )


def _smem_with(cfg: GemmConfig, *, stages: int = 2, split_k: int | None = None) -> int:
    """Bytes of shared memory with other stages, or with K split in other parts."""
    scheduler = cfg.scheduler.model_copy(update={"split_k": split_k or cfg.scheduler.split_k})
    return shared_memory(cfg.model_copy(update={"stages": stages, "scheduler": scheduler})).bytes


@rule(
    "wgmma-registers",
    "wgmma",
    reason="The accumulators of a warpgroup MMA stay in registers; setmaxnreg shares the 65536 registers of "
    "an SM among the warpgroups, which start with equal parts: ptxas refuses an operation beyond that part.",
    source="PTX ISA, setmaxnreg; PTX ISA, wgmma.mma_async: accumulators are in registers; ptxas 13.0, C7602",
)
def wgmma_registers(facts: Facts) -> Iterator[Finding]:
    """A consumer's accumulators fit into its registers."""
    cfg = facts.product
    atom = WGMMA_ATOMS.get(cfg.tiled_mma.atom or "")
    if atom is None or facts.tile is None or facts.blamed("tile", "tiled_mma"):
        return
    if accumulators_fit(cfg):
        return
    groups, accumulators = warpgroups(cfg), live_registers(cfg)
    m, n, k = cfg.tile or (0, 0, 0)
    entry, one = entry_registers(groups.count), operation_registers(cfg)
    if one + OPERATION_REGISTERS > entry:
        most = entry - OPERATION_REGISTERS
        of_a = A_REGISTERS if a_in_registers(cfg) else 0
        columns = (most - of_a) * groups.columns // (one - of_a) // 8 * 8 * groups.n
        yield Finding(
            field="tile",
            got=f"{one} registers of accumulators{' and A' * bool(of_a)} for each thread of one operation",
            need=f"at most {most} of the {entry} with which {groups.count + 1} warpgroups start",
            fix=f"use tile: {yaml_list(facts.unswapped((m, columns, k)))} or fewer warpgroups",
        )
        return
    budget = register_budget(cfg)[1]
    also = " and sums" if cfg.promote is not None else " and a result" if cfg.epilogue.overlap else ""
    also += " and A" if a_in_registers(cfg) else ""
    shared = groups.pingpong and accumulators_fit(_shared(cfg))
    more = " or schedule: cooperative" if shared else "" if groups.pingpong else " or more warpgroups"
    smaller = (m // 2, n, k) if m // 2 % (WGMMA_M * groups.m) == 0 and m > WGMMA_M else (m, n // 2, k)
    yield Finding(
        field="tile",
        got=f"{accumulators} registers of accumulators{also} per thread",
        need=f"at most {accumulator_limit(cfg)} of a consumer's {budget} registers",
        fix=f"use tile: {yaml_list(facts.unswapped(smaller))}{more}",
    )


def _shared(cfg: GemmConfig) -> GemmConfig:
    """The same tile, shared by two warpgroups side by side along M."""
    mma = cfg.tiled_mma.model_copy(update={"layout": (2, 1, 1)})
    return cfg.model_copy(update={"schedule": "cooperative", "tiled_mma": mma})


@rule(
    "wgmma-promote",
    "wgmma",
    reason="The sums of a stage are f32 and start from zero, and CUDA cores add them while the next stage is "
    "multiplied. ptxas serialises the products when that depends on a count of stages.",
    source="templates/parts/wgmma_mainloop_promoted.cu; ptxas, C7514",
)
def wgmma_promote(facts: Facts) -> Iterator[Finding]:
    """Promotion adds the f32 sums of whole stages."""
    cfg = facts.cfg
    if cfg.promote is None:
        return
    if cfg.accumulator != "f32":
        yield Finding(
            field="promote",
            got=f"{cfg.promote} with accumulator: {cfg.accumulator}",
            need="only f32 sums are promoted",
            fix="leave promote out, or use accumulator: f32",
        )
    if a_in_registers(facts.product):
        which, major = ("b", "n") if cfg.swap_ab else ("a", "m")
        yield Finding(
            field="promote",
            got=f"{cfg.promote} with {which}.major: {major}",
            need=f"with {which.upper()} in registers there is no promotion",
            fix=f"leave promote out, or use {which}.major: k",
        )
        return
    if facts.tile is not None and not facts.blamed("tile") and cfg.promote != facts.tile[2]:
        m, n, k = facts.tile
        yield Finding(
            field="promote",
            got=str(cfg.promote),
            need=f"must be BLK_K, {k}",
            fix=f"use promote: {k}, or tile: {yaml_list((m, n, cfg.promote))}",
        )
