"""Translate PTX instructions that compute in registers."""

from __future__ import annotations

from cutegen.emulator.rewrite.operands import WIDTHS, Operands, UnknownInstructionError, unsigned
from cutegen.emulator.rewrite.ptx import Instruction

__all__ = ["arithmetic", "bitwise", "convert", "move", "pack", "permute", "select", "set_predicate"]

_COMPARE = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}
_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*"}
_BITWISE = {"and": "&", "or": "|", "xor": "^"}


def _width(ins: Instruction) -> int:
    bits = WIDTHS.get(ins.parts[-1])
    if bits is None:
        raise UnknownInstructionError(ins.opcode)
    return bits


def _number(kind: str, text: str, ops: Operands) -> str:
    """An operand as a C++ number of the PTX type."""
    bits = ops.read(text, unsigned(WIDTHS[kind]))
    if kind in ("f32", "f64"):
        return f"cge::as<{'float' if kind == 'f32' else 'double'}>({bits})"
    if kind[0] == "s":
        return f"int{WIDTHS[kind]}_t({bits})"
    return bits


def move(ins: Instruction, ops: Operands) -> str:
    """``mov``, also between a vector and a scalar."""
    to, source = ins.operands
    if to.startswith("{") or source.startswith("{"):
        return f"cge::repack({ops.pointers(to)}, {ops.pointers(source)}, {_width(ins)})"
    return ops.write(to, ops.read(source, unsigned(_width(ins))))


def select(ins: Instruction, ops: Operands) -> str:
    """``selp``."""
    to, yes, no, predicate = ins.operands
    ctype = unsigned(_width(ins))
    return ops.write(to, f"({ops.read(predicate, 'bool')} ? {ops.read(yes, ctype)} : {ops.read(no, ctype)})")


def set_predicate(ins: Instruction, ops: Operands) -> str:
    """``setp`` with one result and no combining operation."""
    to, left, right = ins.operands
    kind = ins.parts[-1]
    if ins.parts[1] not in _COMPARE or kind not in WIDTHS or len(ins.parts) != 3 or "|" in to:
        raise UnknownInstructionError(ins.opcode)
    return ops.write(to, f"({_number(kind, left, ops)} {_COMPARE[ins.parts[1]]} {_number(kind, right, ops)})")


def arithmetic(ins: Instruction, ops: Operands) -> str:
    """``add``, ``sub``, ``mul.lo``, ``mad.lo``, ``fma``, ``min`` and ``max``."""
    kind, name = ins.parts[-1], ins.parts[0]
    to, *sources = ins.operands
    if kind in ("f16x2", "f32x2", "bf16x2", "f16", "bf16"):
        relu = "true" if "relu" in ins.parts else "false"
        return f"cge::simd(cge::Simd::{name}_{kind}, {ops.pointers(to)}, {ops.pointers(*sources)}, {relu})"
    if (
        kind not in WIDTHS
        or kind[0] not in "usbf"
        or "hi" in ins.parts
        or "wide" in ins.parts
        or "cc" in ins.parts
    ):
        raise UnknownInstructionError(ins.opcode)
    values = [_number(kind, x, ops) for x in sources]
    if name in _ARITHMETIC:
        value = f"{values[0]} {_ARITHMETIC[name]} {values[1]}"
    elif name in ("fma", "mad"):
        value = f"cge::multiply_add({', '.join(values)})"
    elif name in ("min", "max"):
        value = f"cge::{name}imum({', '.join(values)})"
    else:
        raise UnknownInstructionError(ins.opcode)
    return ops.write(to, f"cge::bits<{unsigned(WIDTHS[kind])}>({value})")


def bitwise(ins: Instruction, ops: Operands) -> str:
    """``and``, ``or``, ``xor``, ``not``, ``shl`` and ``shr``."""
    to, *sources = ins.operands
    name, kind = ins.parts[0], ins.parts[-1]
    ctype = unsigned(_width(ins))
    if name == "not":
        return ops.write(to, f"{ctype}({'!' if kind == 'pred' else '~'}{ops.read(sources[0], ctype)})")
    if name in _BITWISE:
        return ops.write(
            to, f"{ctype}({ops.read(sources[0], ctype)} {_BITWISE[name]} {ops.read(sources[1], ctype)})"
        )
    left, count = _number(kind, sources[0], ops), ops.read(sources[1], "uint32_t")
    direction = "left" if name == "shl" else "right"
    return ops.write(to, f"{ctype}(cge::shift_{direction}({left}, {count}))")


def permute(ins: Instruction, ops: Operands) -> str:
    """``prmt`` and ``lop3``."""
    to, a, b, *rest = ins.operands
    if len(ins.parts) != 2 or ins.parts[0] not in ("prmt", "lop3"):
        raise UnknownInstructionError(ins.opcode)
    values = ", ".join(ops.read(x, "uint32_t") for x in (a, b, *rest))
    return ops.write(to, f"cge::{ins.parts[0]}({values})")


def convert(ins: Instruction, ops: Operands) -> str:
    """``cvt`` and ``cvta``."""
    if ins.parts[0] == "cvta":
        to, source = ins.operands
        if "to" in ins.parts:
            return ops.write(to, f"cge::to_shared({ops.read(source, 'uint64_t')})")
        return ops.write(to, f"cge::from_shared({ops.read(source, 'uint64_t')})")
    to, *sources = ins.operands
    *modifiers, target, source_kind = ins.parts[1:]
    if target not in _CVT_TYPES or source_kind not in _CVT_TYPES:
        raise UnknownInstructionError(ins.opcode)
    for modifier in modifiers:
        if modifier not in (
            "rn",
            "rz",
            "rna",
            "rni",
            "rzi",
            "rmi",
            "rpi",
            "rp",
            "rm",
            "sat",
            "satfinite",
            "relu",
            "ftz",
        ):
            raise UnknownInstructionError(ins.opcode)
    flags = " | ".join(f"cge::cvt_{m}" for m in modifiers) or "0"
    return (
        f"cge::convert(cge::Cvt::{target}, cge::Cvt::{source_kind}, {flags}, {ops.pointers(to)}, "
        f"{ops.pointers(*sources)})"
    )


def pack(ins: Instruction, ops: Operands) -> str:
    """``cvt.pack`` of two integers to 16 bits, or to 8 bits below those of a third operand."""
    target = _PACKED.get(ins.opcode)
    if target is None:
        raise UnknownInstructionError(ins.opcode)
    to, a, b, *rest = ins.operands
    values = [
        *(f"int32_t({ops.read(x, 'uint32_t')})" for x in (a, b)),
        *(ops.read(x, "uint32_t") for x in rest),
    ]
    return ops.write(to, f"cge::pack(cge::Cvt::{target}, {', '.join(values)})")


_PACKED = {
    "cvt.pack.sat.u16.s32": "u16",
    "cvt.pack.sat.s16.s32": "s16",
    "cvt.pack.sat.u8.s32.b32": "u8",
    "cvt.pack.sat.s8.s32.b32": "s8",
}
_CVT_TYPES = frozenset(
    [
        "u8",
        "s8",
        "u16",
        "s16",
        "u32",
        "s32",
        "u64",
        "s64",
        "f16",
        "bf16",
        "tf32",
        "f32",
        "f64",
        "f16x2",
        "bf16x2",
        "e4m3x2",
        "e5m2x2",
    ]
)
