"""Decode the opcodes of warp-level and warpgroup-level matrix multiplications."""

from __future__ import annotations

import re

from cutegen.emulator.rewrite.operands import Operands, UnknownInstructionError
from cutegen.emulator.rewrite.ptx import Instruction

__all__ = ["mma_sync", "wgmma"]

#: Codes of element types; ``runtime/include/cutegen_emu/types.hpp`` has the same.
TYPES = {
    name: code
    for code, name in enumerate(
        ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s4", "u4", "b1", "e4m3", "e5m2", "s32"), start=1
    )
}
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")
_KNOWN = {"mma", "sync", "aligned", "row", "col", "satfinite", "wgmma", "mma_async", "kind::f8f6f4"}


def _code(instruction: Instruction) -> tuple[str, int]:
    """The C++ constant of an opcode, and the registers' count of D (in 32-bit registers per thread)."""
    shape: tuple[int, ...] = ()
    types: list[int] = []
    majors: list[str] = []
    saturate = "satfinite" in instruction.parts
    for part in instruction.parts:
        if match := _SHAPE.match(part):
            shape = tuple(map(int, match.groups()))
        elif part in TYPES:
            types.append(TYPES[part])
        elif part in ("row", "col"):
            majors.append(part)
        elif part in ("xor", "and", "popc"):
            saturate = saturate or part == "xor"
        elif part not in _KNOWN:
            raise UnknownInstructionError(instruction.opcode)
    if len(types) == 3:
        types.append(types[0])
    if not shape or len(types) != 4 or (majors and majors != ["row", "col"]):
        raise UnknownInstructionError(instruction.opcode)
    if shape == (8, 8, 4) and types[1] == TYPES["f16"]:
        raise UnknownInstructionError(instruction.opcode)
    m, n, k = shape
    d, a, b, c = types
    return f"cge::MmaCode{{{m}, {n}, {k}, {d}, {a}, {b}, {c}, {int(saturate)}}}", m * n


def mma_sync(instruction: Instruction, operands: Operands) -> str:
    """``mma.sync``: the runtime gets the addresses of D's, A's, B's and C's registers."""
    code, _ = _code(instruction)
    if len(instruction.operands) != 4:
        raise UnknownInstructionError(instruction.opcode)
    return f"cge::mma({code}, {operands.pointers(*instruction.operands)})"


def wgmma(instruction: Instruction, operands: Operands) -> str:
    """``wgmma.mma_async``: D in registers, A in registers or by descriptor, B by descriptor."""
    code, _ = _code(instruction)
    d, a, b, scale_d, *immediates = instruction.operands
    values = [operands.read(x, "int32_t") for x in immediates]
    from_registers = a.startswith("{")
    values += ["1"] * (2 - len(values)) if len(values) < 2 else []
    transposes = values[2:]
    if from_registers:
        transposes = ["0", *transposes]
    transposes += ["0"] * (2 - len(transposes))
    a_text = (
        f"cge::WgmmaA::registers({operands.pointers(a)})"
        if from_registers
        else f"cge::WgmmaA::descriptor({operands.read(a, 'uint64_t')})"
    )
    return (
        f"cge::wgmma({code}, {operands.pointers(d)}, {a_text}, {operands.read(b, 'uint64_t')}, "
        f"{operands.read(scale_d, 'bool')}, {values[0]}, {values[1]}, {transposes[0]}, {transposes[1]})"
    )
