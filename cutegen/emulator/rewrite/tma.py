"""Translate the instructions of sm_90: bulk copies, warpgroup control, clusters."""

from __future__ import annotations

import re

from cutegen.emulator.rewrite.operands import WIDTHS, Operands, UnknownInstructionError, unsigned
from cutegen.emulator.rewrite.ptx import Instruction

__all__ = [
    "bulk",
    "bulk_group",
    "cp_async_mbarrier",
    "elect",
    "grid_wait",
    "mapa",
    "movmatrix",
    "store_async",
    "wgmma_control",
]

_TENSOR = re.compile(r"cp\.(reduce\.)?async\.bulk\.(prefetch\.)?tensor\.(\d)d\.")


def wgmma_control(ins: Instruction, ops: Operands) -> str:
    """``wgmma.fence``, ``commit_group`` and ``wait_group``."""
    if ins.parts[1] == "wait_group":
        return f"cge::wgmma_wait({ops.read(ins.operands[0], 'uint32_t')})"
    return f"cge::wgmma_{ins.parts[1].split('_')[0]}()"


def movmatrix(ins: Instruction, ops: Operands) -> str:
    """``movmatrix``: the transpose of an 8x8 matrix across a warp."""
    return f"cge::movmatrix({ops.pointers(*ins.operands)})"


def bulk_group(ins: Instruction, ops: Operands) -> str:
    """Groups of bulk copies."""
    if ins.parts[3] == "commit_group":
        return "cge::bulk_commit()"
    reads = "true" if "read" in ins.parts else "false"
    return f"cge::bulk_wait({ops.read(ins.operands[0], 'uint32_t')}, {reads})"


def bulk(ins: Instruction, ops: Operands) -> str:
    """Bulk tensor copies in tiles, to and from shared memory, with multicast and reduction."""
    match = _TENSOR.match(ins.opcode)
    if match is None or any(part.startswith("im2col") for part in ins.parts) or "gather4" in ins.opcode:
        raise UnknownInstructionError(ins.opcode)
    if match[2]:
        return "void(0)"  # a prefetch into L2
    if match[1] and "add" not in ins.parts:
        raise UnknownInstructionError(ins.opcode)
    load = ins.opcode[match.end() :].startswith("shared")
    tensor, shared = (ins.operands[1], ins.operands[0]) if load else (ins.operands[0], ins.operands[1])
    descriptor, coordinates = ops.memory(tensor)
    crd = ", ".join(ops.read(x, "int32_t") for x in ops.vector(coordinates))
    head = f"{ops.read(descriptor, 'uint64_t')}, {{{crd}}}, {ops.address(shared)}"
    if not load:
        return f"cge::tma_store({head}, {'true' if match[1] else 'false'})"
    barrier, *rest = ins.operands[2:]
    multicast = "multicast::cluster" in ins.opcode
    mask = ops.read(rest[0], "uint16_t") if multicast else "uint16_t(0)"
    return f"cge::tma_load({head}, {ops.address(barrier)}, {mask})"


def cp_async_mbarrier(ins: Instruction, ops: Operands) -> str:
    """``cp.async.mbarrier.arrive``."""
    noinc = "true" if "noinc" in ins.parts else "false"
    return f"cge::cp_async_arrive({ops.address(ins.operands[0])}, {noinc})"


def elect(ins: Instruction, ops: Operands) -> str:
    """``elect.sync``: one lane of the mask."""
    lane, _, predicate = ins.operands[0].partition("|")
    mask = ops.read(ins.operands[1], "uint32_t")
    leader = ops.pointer(lane) if lane.strip() != "_" else "nullptr"
    return f"cge::elect({mask}, {leader}, {ops.pointer(predicate)})"


def mapa(ins: Instruction, ops: Operands) -> str:
    """``mapa``: a shared address in another CTA of the cluster."""
    to, address, rank = ins.operands
    return ops.write(to, f"cge::mapa({ops.read(address, 'uint32_t')}, {ops.read(rank, 'uint32_t')})")


def grid_wait(ins: Instruction, ops: Operands) -> str:
    """``griddepcontrol.wait``: from here on the kernels before this one have ended."""
    return "cge::grid_wait()"


_ST_ASYNC = re.compile(
    r"st\.async(\.weak)?(\.shared::cluster)?\.mbarrier::complete_tx::bytes(\.v[24])?\.([bsuf](?:32|64))$"
)


def store_async(ins: Instruction, ops: Operands) -> str:
    """``st.async``: a store to a CTA of the cluster that completes bytes of an mbarrier there."""
    match = _ST_ASYNC.match(ins.opcode)
    if match is None:
        raise UnknownInstructionError(ins.opcode)
    to, values, barrier = ins.operands
    kind = unsigned(WIDTHS[match[4]])
    return f"cge::store_async<{kind}>({ops.address(to)}, {ops.address(barrier)}, {ops.pointers(values)})"
