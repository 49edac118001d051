"""What the templates of ``tma_wgmma`` see."""

from __future__ import annotations

from typing import Any

from cutegen.dtypes import dtype
from cutegen.launch_spec import SumsSpec
from cutegen.operands.wgmma import WgmmaOperand
from cutegen.plan_wgmma import WgmmaPlan
from cutegen.resources_wgmma import flags_of_a_slot, slot_bytes, sum_sets, sums_in_global_memory

__all__ = ["wgmma_context", "wgmma_sums", "wgmma_vectors"]

_HEADERS = (
    "cute/arch/cluster_sm90.hpp",
    "cute/arch/copy_sm90.hpp",
    "cute/arch/copy_sm90_desc.hpp",
    "cute/arch/copy_sm90_tma.hpp",
    "cute/arch/mma_sm90_gmma.hpp",
    "cutlass/arch/barrier.h",
    "cutlass/arch/reg_reconfig.h",
)
_HINTS = {"normal": "EVICT_NORMAL", "evict_first": "EVICT_FIRST", "evict_last": "EVICT_LAST"}
_CORE_COLUMNS = frozenset((8, 16, 32, 64, 96, 128, 192, 256))  # of the operations in mma_sm90_gmma.hpp


def _headers(plan: WgmmaPlan) -> list[str]:
    """Operations on other columns than the usual ones have a header of their own."""
    extended = plan.atom.shape[1] not in _CORE_COLUMNS
    more = ("cute/arch/mma_sm90_gmma_ext.hpp",) if extended else ()
    return sorted((*_HEADERS, *more))


def _operand(plan: WgmmaPlan, operand: WgmmaOperand) -> dict[str, Any]:
    config = plan.product.operand(operand.which)
    name, mn = operand.which.upper(), "M" if operand.which == "a" else "N"
    whose = f"{name}, the caller's {operand.map.matrix.upper()}" if plan.config.swap_ab else name
    return {
        "name": name,
        "comment": f"Operand {whose}: ({mn},K), {config.major}-major.",
        "element": dtype(config.dtype).cxx,
        "k_major": operand.k_major,
        "panels": operand.panels,
        "panel_inner": operand.panel_inner,
        "row_bytes": operand.row_bytes,
        "panel_bytes": operand.panel_bytes,
        "stage_bytes": operand.stage_bytes,
        "smem_offset": plan.shared.a if operand.which == "a" else plan.shared.b,
        "sharers": operand.sharers,
        "boxes": operand.boxes,
        "box_outer": operand.box_outer,
        "cache": _HINTS[config.cache or "normal"],
        "constant": bool(plan.config.pdl and config.constant),
        "registers": _registers(operand),
        "swizzle_mode": operand.swizzle_mode,
        "leading_bytes": operand.leading_bytes,
        "stride_bytes": operand.stride_bytes,
        "warpgroup_bytes": operand.warpgroup_bytes,
        "atom_bytes": operand.atom_bytes.cxx(),
        "step_bytes": operand.step_bytes.cxx(),
    }


def _registers(operand: WgmmaOperand) -> dict[str, Any] | None:
    """How threads load an operand into registers; None where wgmma reads it from shared memory."""
    read = operand.registers
    if read is None:
        return None
    return {
        "sets": read.sets,
        "swizzle": read.swizzle.cxx(),
        "thread": read.thread.cxx(),
        "value": read.value.cxx(),
    }


def wgmma_context(plan: WgmmaPlan) -> dict[str, Any]:
    """What only the templates of ``tma_wgmma`` use."""
    groups, shared = plan.groups, plan.shared
    cluster = plan.product.cluster or (1, 1, 1)
    return {
        "swap_ab": bool(plan.config.swap_ab),
        "headers": _headers(plan),
        "cluster_m": cluster[0],
        "cluster_n": cluster[1],
        "split_k": plan.split_k,
        "overlap": bool(plan.config.epilogue.overlap),
        "stream_k": plan.stream_k,
        "shares": plan.shares,
        "workspace": sums_in_global_memory(plan.config),
        "pdl": bool(plan.config.pdl),
        "producers": plan.producers,
        "consumers": groups.count,
        "pingpong": groups.pingpong,
        "warpgroups_m": groups.m,
        "producer_registers": plan.registers[0],
        "consumer_registers": plan.registers[1],
        "stage_bytes": plan.a.stage_bytes + plan.b.stage_bytes,
        "staging_offset": shared.staging,
        "partial_offset": shared.partials,
        "barrier_offset": shared.barriers,
        "mma_op": plan.atom.cxx(plan.a.k_major, plan.b.k_major),
        "a_in_registers": plan.a.registers is not None,
        "fragment_a": plan.fragment_a.cxx() if plan.fragment_a else None,
        "atoms_m": groups.atoms_m,
        "k_steps": plan.tile[2] // plan.atom.shape[2],
        "sum_sets": sum_sets(plan.config),
        "operands": [_operand(plan, plan.a), _operand(plan, plan.b)],
        "out": {
            "columns": groups.columns,
            "chunk": shared.chunk_columns,
            "slots": shared.slots,
            "slot_bytes": shared.slot_bytes,
            "maps": len(plan.maps) - 2,
            "column_by_column": groups.atoms_m > 1 and plan.product.d.major == "m",
        },
    }


def wgmma_sums(plan: WgmmaPlan) -> SumsSpec | None:
    """The sums that meet in global memory; None where none do."""
    if not sums_in_global_memory(plan.config):
        return None
    return SumsSpec(
        slot_bytes=slot_bytes(plan.product),
        slot_flags=flags_of_a_slot(plan.product),
        shares=plan.shares,
        stream_k=plan.stream_k,
    )


def wgmma_vectors(plan: WgmmaPlan) -> dict[str, Any]:
    """Where vectors along N lie in shared memory."""
    shared = plan.shared
    return {"offset": shared.vectors - shared.staging, "bytes": shared.vector_bytes}
