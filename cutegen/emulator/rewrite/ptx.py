"""A small parser of PTX statements as they stand in inline assembly."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Block", "Instruction", "parse"]

_LABEL = re.compile(r"([A-Za-z_$][\w$]*)\s*:(?!:)")
_REGISTER = re.compile(r"\.reg\s*\.(\w+)\s+(.*)", re.DOTALL)
_OPCODE = re.compile(r"[a-z_][\w.:]*")
_GUARD = re.compile(r"@(!?)\s*([\w$%]+)\s+")
_NESTING = {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}


@dataclass(frozen=True)
class Instruction:
    """One instruction: guard predicate, opcode with its dotted modifiers, operands as text."""

    opcode: str
    operands: tuple[str, ...]
    guard: str | None = None
    negated: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        """The opcode at its dots."""
        return tuple(self.opcode.split("."))


@dataclass(frozen=True)
class Block:
    """The statements of one asm text: registers (name to type), then labels and instructions in order."""

    registers: dict[str, str]
    statements: tuple[Instruction | str, ...]  # a string is a label


def split_operands(text: str) -> tuple[str, ...]:
    """Operands at their top-level commas."""
    parts, depth, last = [], 0, 0
    for index, char in enumerate(text):
        depth += _NESTING.get(char, 0)
        if char == "," and depth == 0:
            parts.append(text[last:index].strip())
            last = index + 1
    parts.append(text[last:].strip())
    return tuple(part for part in parts if part)


def parse(text: str) -> Block:
    """Take a PTX text apart.

    Raises:
        ValueError: If a statement is none of those that inline assembly has.
    """
    registers: dict[str, str] = {}
    statements: list[Instruction | str] = []
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    for raw in text.split(";"):
        statement = raw.strip().lstrip("{}").strip()
        while match := _LABEL.match(statement):
            statements.append(match[1])
            statement = statement[match.end() :].strip().lstrip("{}").strip()
        if not statement:
            continue
        if register := _REGISTER.match(statement):
            for name in split_operands(register[2]):
                registers[name] = register[1]
            continue
        guard, negated = None, False
        if match := _GUARD.match(statement):
            guard, negated = match[2], match[1] == "!"
            statement = statement[match.end() :]
        match = _OPCODE.match(statement)
        if match is None:
            raise ValueError(f"not a PTX instruction: {statement[:60]}")
        opcode, rest = match[0], statement[match.end() :]
        statements.append(Instruction(opcode, split_operands(" ".join(rest.split())), guard, negated))
    return Block(registers, tuple(statements))
