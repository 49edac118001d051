"""Find inline assembly in C++ text and take its statements apart, without a C++ parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["AsmOperand", "AsmStatement", "balanced_end", "find_asm", "significant", "split_top"]

_SKIP = r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*(?:.|\n)*?\*/'
_ASM = re.compile(_SKIP + r"|\b(?:asm|__asm__|__asm)\b")
_OPEN = re.compile(r"\s*(?:(?:volatile|__volatile__|__volatile)\s*)?\(")
_STRUCTURE = re.compile(_SKIP + r"|[()\[\]{},:;]")
_LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_OPERAND = re.compile(r'\s*(?:\[\s*(\w+)\s*\]\s*)?"([^"]*)"\s*\((.*)\)\s*$', re.DOTALL)
_COMMENT = re.compile(_SKIP)
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b.*$", re.MULTILINE)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "'": "'"}


@dataclass(frozen=True)
class AsmOperand:
    """One operand of an asm statement: its constraint without modifiers, and its C++ expression."""

    constraint: str
    expression: str
    output: bool
    name: str | None


@dataclass(frozen=True)
class AsmStatement:
    """One ``asm(...)``: where it stands, its PTX, and its operands, outputs first."""

    start: int
    end: int
    text: str
    operands: tuple[AsmOperand, ...]


def significant(pattern: str) -> re.Pattern[str]:
    """A pattern that also matches (and so steps over) comments and string literals."""
    return re.compile(f"{_SKIP}|{pattern}")


def balanced_end(text: str, start: int) -> int:
    """Index just behind the bracket that closes the one before ``start``.

    Raises:
        ValueError: If it is never closed.
    """
    depth = 1
    for match in _STRUCTURE.finditer(text, start):
        if match[0] in "([{":
            depth += 1
        elif match[0] in ")]}":
            depth -= 1
            if depth == 0:
                return match.end()
    raise ValueError("a bracket is never closed")


def split_top(text: str, separator: str) -> list[str]:
    """Split at a separator that stands outside brackets, literals, and ``::``."""
    parts, depth, last, skip = [], 0, 0, -1
    for match in _STRUCTURE.finditer(text):
        token, at = match[0], match.start()
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        elif token == separator and depth == 0 and at > skip:
            if separator == ":" and text[at : at + 2] == "::" and _scope_operator(text, at):
                skip = at + 1
                continue
            parts.append(text[last:at])
            last = at + 1
    parts.append(text[last:])
    return parts


def find_asm(text: str) -> Iterator[AsmStatement]:
    """Every asm statement of a text, in order.

    Raises:
        ValueError: If one cannot be taken apart.
    """
    position = 0
    while match := _ASM.search(text, position):
        position = match.end()
        if not match[0].endswith(("asm", "__")) or match[0][0] in "\"'/R":
            continue
        opening = _OPEN.match(text, match.end())
        if opening is None:
            continue
        end = balanced_end(text, opening.end())
        yield _take_apart(text[opening.end() : end - 1], match.start(), end)
        position = end


def _scope_operator(text: str, at: int) -> bool:
    # ``a::b`` is a name; ``"..." :: "r"(x)`` has no outputs.
    before, after = text[:at].rstrip(), text[at + 2 :].lstrip()
    return bool(before) and (before[-1].isalnum() or before[-1] == "_") and after[:1] not in ('"', "[")


def _take_apart(body: str, start: int, end: int) -> AsmStatement:
    body = _without_conditionals(_COMMENT.sub(_drop_comment, body))
    sections = split_top(body, ":")
    text = "".join(_unescape(m[1]) for m in _LITERAL.finditer(sections[0]))
    operands: list[AsmOperand] = []
    for index, section in enumerate(sections[1:3]):
        for part in split_top(section, ","):
            if not part.strip():
                continue
            match = _OPERAND.match(part)
            if match is None:
                raise ValueError(f"an asm operand cannot be read: {part.strip()[:80]}")
            constraint = match[2].lstrip("=+&")
            operands.append(AsmOperand(constraint, " ".join(match[3].split()), index == 0, match[1]))
    return AsmStatement(start, end, text, tuple(operands))


def _drop_comment(match: re.Match[str]) -> str:
    return " " if match[0].startswith(("//", "/*")) else match[0]


def _unescape(literal: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal)


def _without_conditionals(body: str) -> str:
    """Keep only the last branch of each ``#if`` inside an asm statement (the one without cache hints)."""
    if "#" not in body:
        return body
    kept: list[str] = []
    branches: list[int] = []  # where the branch that is being read begins in ``kept``
    for line in body.split("\n"):
        directive = _CONDITIONAL.match(line)
        if directive is None:
            kept.append(line)
        elif directive[1].startswith("if"):
            branches.append(len(kept))
        elif directive[1] == "endif":
            branches.pop()
        else:
            del kept[branches[-1] :]
    return "\n".join(kept)
