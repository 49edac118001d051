"""Translate one asm statement to one C++ expression that calls the emulator's runtime."""

from __future__ import annotations

import re
from collections.abc import Callable

from cutegen.emulator.rewrite import alu, memory, mma, tma
from cutegen.emulator.rewrite.operands import Operands, UnknownInstructionError
from cutegen.emulator.rewrite.ptx import Instruction, parse
from cutegen.emulator.rewrite.scan import AsmStatement
from cutegen.emulator.rewrite.targets import requirement

__all__ = ["translate"]

Handler = Callable[[Instruction, Operands], str]


def _nothing(ins: Instruction, ops: Operands) -> str:
    return "void(0)"


def _pause(ins: Instruction, ops: Operands) -> str:
    return "cge::pause()"


def _trap(ins: Instruction, ops: Operands) -> str:
    return f'cge::trap("{ins.opcode}")'


#: Who translates an opcode; the first pattern that matches its beginning decides.
_HANDLERS: tuple[tuple[re.Pattern[str], Handler], ...] = tuple(
    (re.compile(pattern + r"(?=\.|$)"), handler)
    for pattern, handler in (
        (r"mma\.sync", mma.mma_sync),
        (r"wgmma\.mma_async", mma.wgmma),
        (r"wgmma\.(fence|commit_group|wait_group)", tma.wgmma_control),
        (r"ldmatrix", memory.ldmatrix),
        (r"stmatrix", memory.stmatrix),
        (r"movmatrix", tma.movmatrix),
        (r"cp\.async\.(commit_group|wait_group|wait_all)", memory.wait_group),
        (r"cp\.async\.bulk\.(commit_group|wait_group)", tma.bulk_group),
        (r"cp\.(reduce\.)?async\.bulk", tma.bulk),
        (r"cp\.async\.mbarrier\.arrive", tma.cp_async_mbarrier),
        (r"cp\.async", memory.cp_async),
        (r"(bar|barrier)", memory.barrier),
        (r"mbarrier", memory.mbarrier),
        (r"(fence|membar)", memory.fence),
        (r"st\.async", tma.store_async),
        (r"(ld|st)", memory.load_store),
        (r"(atom|red)", memory.atomic),
        (r"elect\.sync", tma.elect),
        (r"mapa", tma.mapa),
        (r"mov", alu.move),
        (r"selp", alu.select),
        (r"setp", alu.set_predicate),
        (r"(add|sub|mul|mad|fma|min|max)", alu.arithmetic),
        (r"(and|or|xor|not|shl|shr)", alu.bitwise),
        (r"(prmt|lop3)", alu.permute),
        (r"cvt\.pack", alu.pack),
        (r"(cvt|cvta)", alu.convert),
        (r"griddepcontrol\.wait", tma.grid_wait),
        (r"(prefetch|prefetchu|setmaxnreg|griddepcontrol|applypriority|discard)", _nothing),
        (r"nanosleep", _pause),
        (r"(trap|brkpt)", _trap),
    )
)


#: Of which CuTe's functions do nothing on an architecture that has none: macros guard them, which here are
#: those of the newest architecture that shares precompiled headers.
_LEFT_OUT = frozenset(("cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all"))


def translate(asm: AsmStatement, *, library: bool = False) -> str:
    """The C++ expression of an asm statement; what is not known becomes an error when it is executed.

    Args:
        asm: The statement.
        library: Whether it stands in a header of CUTLASS.
    """
    try:
        block = parse(asm.text)
        operands = Operands(asm.operands, block.registers)
        statements = [
            f"{x}_: ; " if isinstance(x, str) else _guarded(x, operands, library) + "; "
            for x in block.statements
        ]
    except UnknownInstructionError as error:
        return _unsupported(str(error), asm)
    except (ValueError, IndexError):
        return _unsupported(" ".join(asm.text.split())[:80] or "asm", asm)
    if len(statements) == 1 and not block.registers and statements[0].startswith("cge::"):
        return statements[0][:-2]
    if not statements:
        return "void(0)"  # an asm statement that only orders memory
    return "[&]() { " + operands.declarations() + "".join(statements) + "}()"


def _guarded(ins: Instruction, ops: Operands, library: bool) -> str:
    statement = _one(ins, ops, library)
    if ins.guard is None:
        return statement
    condition = ops.read(ins.guard, "bool")
    return f"if ({'!' if ins.negated else ''}{condition}) {{ {statement}; }}"


def _one(ins: Instruction, ops: Operands, library: bool) -> str:
    if ins.parts[0] == "bra":
        return f"goto {ins.operands[0]}_"
    if ins.parts[0] == "createpolicy":
        return ops.write(ins.operands[0], "0")
    for pattern, handler in _HANDLERS:
        if pattern.match(ins.opcode):
            try:
                needed = "" if library and ins.opcode in _LEFT_OUT else _needed(ins)
                return needed + handler(ins, ops)
            except (ValueError, IndexError, KeyError) as error:
                raise UnknownInstructionError(ins.opcode) from error
    raise UnknownInstructionError(ins.opcode)


def _needed(ins: Instruction) -> str:
    """A check that the architecture has the instruction."""
    needed = requirement(ins)
    if needed is None:
        return ""
    return f'cge::need({needed[0]}, {"true" if needed[1] else "false"}, "{ins.opcode}"), '


def _unsupported(what: str, asm: AsmStatement) -> str:
    text = what.replace("\\", "\\\\").replace('"', '\\"')
    return f'cge::unsupported("{text}")'
