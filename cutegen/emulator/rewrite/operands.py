"""C++ expressions for the operands of PTX instructions inside one asm statement."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cutegen.emulator.rewrite.ptx import split_operands
from cutegen.emulator.rewrite.scan import AsmOperand

__all__ = ["WIDTHS", "Operands", "UnknownInstructionError", "unsigned"]

#: Bits of each fundamental PTX type.
WIDTHS = {
    **{f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)},
    **{"pred": 1, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "tf32": 32, "f32": 32, "f64": 64},
    **{"f32x2": 64, "b128": 128, "e4m3x2": 16, "e5m2x2": 16},
}
_LVALUE = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*|\[[\w+ ]*\])*$")
_SPECIAL = re.compile(r"%?%([a-z_]\w*(?:\.[xyz])?)$")
_FLOAT_BITS = re.compile(r"0[fF]([0-9a-fA-F]{8})$")


class UnknownInstructionError(Exception):
    """An instruction, or a form of one, that the emulator does not have."""


def unsigned(bits: int) -> str:
    """The C++ type of a register of so many bits."""
    return "bool" if bits == 1 else f"uint{max(bits, 8)}_t"


class Operands:
    """Turns operand texts into C++.

    Args:
        operands: Of the asm statement, in the order in which ``%n`` counts them.
        registers: Local registers of the block and their PTX types.
    """

    def __init__(self, operands: Sequence[AsmOperand], registers: Mapping[str, str]) -> None:
        self._operands = operands
        self._registers = registers
        self._named = {o.name: i for i, o in enumerate(operands) if o.name}

    def read(self, text: str, ctype: str) -> str:
        """The value of an operand as the bits of an unsigned C++ type."""
        text = text.strip()
        if (operand := self._find(text)) is not None:
            return f"cge::bits<{ctype}>({operand.expression})"
        if text in self._registers:
            return f"{ctype}({self._local(text)})"
        if match := _FLOAT_BITS.match(text):
            return f"{ctype}(0x{match[1]}u)"
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)[uU]?", text):
            return f"{ctype}({text})"
        if match := _SPECIAL.match(text):
            return f"{ctype}(cge::special_{match[1].replace('.', '_')}())"
        raise UnknownInstructionError(f"operand {text}")

    def pointer(self, text: str) -> str:
        """The address of an operand, whose bits the runtime reads or writes."""
        text = text.strip()
        if (operand := self._find(text)) is not None:
            if _LVALUE.match(operand.expression):
                return f"&{operand.expression}"
            return f"cge::{'out' if operand.output else 'ref'}({operand.expression})"
        if text in self._registers:
            return f"&{self._local(text)}"
        return f"cge::ref({self.read(text, 'uint32_t')})"

    def pointers(self, *texts: str) -> str:
        """An initializer list of the addresses of scalars and of the elements of vectors."""
        return "{" + ", ".join(self.pointer(x) for text in texts for x in self.vector(text)) + "}"

    def write(self, text: str, value: str) -> str:
        """A C++ expression that puts ``value`` (bits) into an operand."""
        text = text.strip()
        if text == "_":
            return f"void({value})"
        if (operand := self._find(text)) is not None:
            return f"cge::put({operand.expression}, {value})"
        if text in self._registers:
            return f"{self._local(text)} = {value}"
        raise UnknownInstructionError(f"operand {text}")

    def vector(self, text: str) -> tuple[str, ...]:
        """The elements of ``{a, b}``, or the one scalar."""
        text = text.strip()
        return split_operands(text[1:-1]) if text.startswith("{") else (text,)

    def memory(self, text: str) -> tuple[str, str]:
        """The base and the rest of ``[base]``, ``[base + 4]`` or ``[base, {x, y}]``."""
        inner = text.strip()
        if not (inner.startswith("[") and inner.endswith("]")):
            raise UnknownInstructionError(f"operand {text}")
        parts = split_operands(inner[1:-1])
        return parts[0], ", ".join(parts[1:])

    def address(self, text: str, ctype: str = "uint32_t") -> str:
        """The address that a memory operand names, as an unsigned integer."""
        base, rest = self.memory(text)
        if rest:
            raise UnknownInstructionError(f"operand {text}")
        base, _, offset = base.partition("+")
        value = self.read(base, ctype)
        return f"({value} + {offset.strip()})" if offset.strip() else value

    def declarations(self) -> str:
        """Definitions of the local registers."""
        return "".join(
            f"{unsigned(WIDTHS.get(kind, 64))} {self._local(name)} = 0; "
            for name, kind in self._registers.items()
        )

    def _local(self, name: str) -> str:
        return "ptx_" + name.replace("%", "").replace("$", "_")

    def _find(self, text: str) -> AsmOperand | None:
        if match := re.fullmatch(r"%(\d+)", text):
            return self._operands[int(match[1])] if int(match[1]) < len(self._operands) else None
        if match := re.fullmatch(r"%\[(\w+)\]", text):
            return self._operands[self._named[match[1]]] if match[1] in self._named else None
        return None
