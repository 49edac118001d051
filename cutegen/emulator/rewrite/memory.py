"""Translate PTX instructions that move data or wait for it."""

from __future__ import annotations

import re

from cutegen.emulator.rewrite.operands import WIDTHS, Operands, UnknownInstructionError, unsigned
from cutegen.emulator.rewrite.ptx import Instruction

__all__ = [
    "atomic",
    "barrier",
    "cp_async",
    "fence",
    "ldmatrix",
    "load_store",
    "mbarrier",
    "stmatrix",
    "wait_group",
]


_MATRIX = frozenset({"sync", "aligned", "m8n8", "shared", "shared::cta", "b16", "trans", "x1", "x2", "x4"})


def _matrix(ins: Instruction) -> str:
    """How many 8x8 matrices of 16 bits, and whether they are transposed."""
    kinds = set(ins.parts[1:])
    counts = kinds & {"x1", "x2", "x4"}
    if not kinds <= _MATRIX or len(counts) != 1 or "b16" not in kinds:
        raise UnknownInstructionError(ins.opcode)
    return f"{counts.pop()[1]}, {_flag('trans' in kinds)}"


def ldmatrix(ins: Instruction, ops: Operands) -> str:
    """``ldmatrix`` of 8x8 matrices of 16 bits."""
    to, address = ins.operands
    return f"cge::ldmatrix({_matrix(ins)}, {ops.address(address)}, {ops.pointers(to)})"


def stmatrix(ins: Instruction, ops: Operands) -> str:
    """``stmatrix`` of 8x8 matrices of 16 bits."""
    address, values = ins.operands
    return f"cge::stmatrix({_matrix(ins)}, {ops.address(address)}, {ops.pointers(values)})"


def cp_async(ins: Instruction, ops: Operands) -> str:
    """``cp.async`` from global to shared memory, with or without a source size."""
    if not re.match(r"cp\.async\.c[ag]\.shared(::cta)?\.global(\.L2::(\w+))*$", ins.opcode):
        raise UnknownInstructionError(ins.opcode)
    to, source, size, *rest = ins.operands
    cached = "L2::cache_hint" in ins.opcode
    source_size = rest[0] if len(rest) > int(cached) else size
    return (
        f"cge::cp_async({ops.address(to)}, {ops.address(source, 'uint64_t')}, {ops.read(size, 'uint32_t')}, "
        f"{ops.read(source_size, 'uint32_t')}, {_flag('.cg' in ins.opcode)})"
    )


def wait_group(ins: Instruction, ops: Operands) -> str:
    """``cp.async`` groups."""
    if ins.opcode == "cp.async.commit_group":
        return "cge::cp_async_commit()"
    if ins.opcode == "cp.async.wait_all":
        return "cge::cp_async_wait_all()"
    return f"cge::cp_async_wait({ops.read(ins.operands[0], 'uint32_t')})"


def load_store(ins: Instruction, ops: Operands) -> str:
    """``ld`` and ``st`` of shared, global or generic memory, scalars and vectors."""
    parts = ins.parts
    bits = WIDTHS.get(parts[-1])
    if bits is None or bits not in (8, 16, 32, 64):
        raise UnknownInstructionError(ins.opcode)
    shared = any(part.startswith("shared") for part in parts)
    if "param" in parts or "const" in parts:
        raise UnknownInstructionError(ins.opcode)
    memory, value = ins.operands[:2] if parts[0] == "st" else (ins.operands[1], ins.operands[0])
    address = ops.address(memory, "uint32_t" if shared else "uint64_t")
    generic = f"cge::shared_pointer({address})" if shared else f"cge::global_pointer({address})"
    strong = {"volatile", "relaxed", "cv", "mmio"} & set(parts)
    order = next((p for p in ("acquire", "release") if p in parts), "relaxed" if strong else "plain")
    return (
        f"cge::{'store' if parts[0] == 'st' else 'load'}<{unsigned(bits)}>({generic}, cge::Order::{order}, "
        f"{ops.pointers(value)})"
    )


def barrier(ins: Instruction, ops: Operands) -> str:
    """``bar`` and ``barrier`` of one CTA, and of a warp."""
    name = ins.opcode.replace("barrier.", "bar.").replace("bar.cta.", "bar.").replace(".aligned", "")
    if name.startswith("bar.red."):
        to, barrier_id, *count, predicate = ins.operands
        mode = ("popc", "and", "or").index(next(p for p in ins.parts if p in ("popc", "and", "or")))
        vote = ("!" if predicate.startswith("!") else "") + ops.read(predicate.lstrip("!"), "bool")
        threads = ops.read(count[0], "uint32_t") if count else "0"
        call = f"cge::bar_reduce({ops.read(barrier_id, 'uint32_t')}, {threads}, {mode}, {vote})"
        return ops.write(to, call)
    values = [ops.read(x, "uint32_t") for x in ins.operands]
    if name == "bar.warp.sync":
        return f"cge::warp_sync({values[0]})"
    if name == "bar.sync" and values:
        return f"cge::bar_sync({values[0]}, {values[1] if len(values) > 1 else '0'})"
    if name == "bar.arrive":
        return f"cge::bar_arrive({values[0]}, {values[1]})"
    if name.startswith("bar.cluster.arrive"):
        return "cge::cluster_arrive()"
    if name.startswith("bar.cluster.wait"):
        return "cge::cluster_wait()"
    raise UnknownInstructionError(ins.opcode)


def fence(ins: Instruction, ops: Operands) -> str:
    """Fences: those between proxies and those of memory order."""
    if ins.opcode.startswith("fence.proxy.async"):
        return "cge::fence_proxy_async()"
    if ins.opcode.startswith("fence.proxy.tensormap") or ins.opcode.startswith("fence.mbarrier_init"):
        return "cge::fence_init()"
    return f"cge::fence(cge::Scope::{'block' if 'cta' in ins.parts else 'device'})"


def mbarrier(ins: Instruction, ops: Operands) -> str:
    """``mbarrier`` in shared memory of this CTA or of another of the cluster."""
    kind = ins.parts[1]
    given = list(ins.operands)
    if kind == "init":
        return f"cge::mbarrier_init({ops.address(given[0])}, {ops.read(given[1], 'uint32_t')})"
    if kind == "inval":
        return f"cge::mbarrier_inval({ops.address(given[0])})"
    if kind == "expect_tx":
        return f"cge::mbarrier_expect({ops.address(given[0])}, {ops.read(given[1], 'uint32_t')})"
    if kind == "arrive":
        target = given.pop(0) if not given[0].startswith("[") else None
        value = ops.read(given[1], "uint32_t") if len(given) > 1 else "1"
        expects = "expect_tx" in ins.parts
        counts = f"1, {value}" if expects else f"{value}, 0"
        call = f"cge::mbarrier_arrive({ops.address(given[0])}, {counts})"
        return ops.write(target, call) if target else call
    if kind in ("try_wait", "test_wait"):
        if "parity" not in ins.parts:
            raise UnknownInstructionError(ins.opcode)
        parity = ops.read(given[2], "uint32_t")
        call = f"cge::mbarrier_wait({ops.address(given[1])}, {parity}, {_flag(kind == 'try_wait')})"
        return ops.write(given[0], call)
    raise UnknownInstructionError(ins.opcode)


_ATOM_TYPES = {"u32": "uint32_t", "s32": "int32_t", "b32": "uint32_t", "u64": "uint64_t", "s64": "int64_t"}
_ATOM_TYPES |= {"b64": "uint64_t", "f32": "float", "f64": "double", "b16": "uint16_t"}


def atomic(ins: Instruction, ops: Operands) -> str:
    """``atom`` and ``red``."""
    parts, kind = ins.parts, ins.parts[-1]
    given = list(ins.operands)
    target = given.pop(0) if parts[0] == "atom" else "_"
    shared = any(part.startswith("shared") for part in parts)
    address = ops.address(given[0], "uint32_t" if shared else "uint64_t")
    at = f"cge::shared_pointer({address})" if shared else f"cge::global_pointer({address})"
    order = next((p for p in ("acquire", "release", "acq_rel") if p in parts), "relaxed")
    order = f"cge::Order::{order}"
    op = next(p for p in parts if p in ("add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor"))
    if parts[0] == "red" and kind in ("f16x2", "bf16x2", "f16", "bf16"):
        if op != "add" or not kind.endswith("x2"):
            raise UnknownInstructionError(ins.opcode)
        return f"cge::reduce(cge::Simd::add_{kind}, {at}, {order}, {ops.pointers(given[1])})"
    if given[1].startswith("{"):
        if op != "add" or kind != "f32" or parts[0] != "red":
            raise UnknownInstructionError(ins.opcode)
        return f"cge::reduce_f32({at}, {order}, {ops.pointers(given[1])})"
    ctype = _ATOM_TYPES[kind]
    bits = unsigned(WIDTHS[kind])
    values = [f"cge::as<{ctype}>({ops.read(x, bits)})" for x in given[1:3]]
    if op in ("and", "or", "xor"):
        call = f"cge::atom_bits<{ctype}>(cge::AtomBits::{op}_, {at}, {order}, {values[0]})"
    elif op == "cas":
        call = f"cge::atom<{ctype}>(cge::Atom::cas, {at}, {order}, {values[1]}, {values[0]})"
    else:
        call = f"cge::atom<{ctype}>(cge::Atom::{op}, {at}, {order}, {values[0]})"
    return ops.write(target, f"cge::bits<{bits}>({call})")


def _flag(value: object) -> str:
    return "true" if value else "false"
