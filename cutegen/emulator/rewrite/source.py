"""Rewrite one C++ text: inline assembly, ``__shared__`` declarations and kernel launches."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cutegen.emulator.rewrite.kernels import enrol_kernels
from cutegen.emulator.rewrite.scan import balanced_end, find_asm, significant, split_top
from cutegen.emulator.rewrite.translate import translate

__all__ = ["RewrittenSource", "needs_rewriting", "rewrite_source"]

_ATTRIBUTE = re.compile(
    r"(?:alignas|__align__|__attribute__|CUTLASS_ALIGNAS|CUTE_ALIGNAS)\s*(?=\()"
    r"|\b(?:static|extern|volatile)\b"
)
_SHARED = significant(r"(?:\b(?:extern|static)\s+)?\b__shared__\b(?:\s+(?:extern|static)\b)?")
_LAUNCH = significant(r"<<<")
_UNROLL = re.compile(r"^([ \t]*#[ \t]*define[ \t]+\w*UNROLL\w*)[ \t]+(?:#|_Pragma)[^\n]*", re.MULTILINE)
_UNKNOWN_BOUND = re.compile(r"(.*?)\b(\w+)\s*\[\s*\]\s*$", re.DOTALL)


@dataclass(frozen=True)
class RewrittenSource:
    """A rewritten text with the same number of lines, and how much was replaced."""

    text: str
    asm: int
    shared: int
    launches: int


def needs_rewriting(text: str) -> bool:
    """Whether a host compiler cannot take a text as it stands."""
    return bool(
        re.search(
            r"\basm\b|\b__asm__\b|\b__shared__\b|<<<|UNROLL\w*\s+(?:#|_Pragma)|\bcudaLaunch\w*Kernel", text
        )
    )


def rewrite_source(text: str, *, library: bool = False) -> RewrittenSource:
    """Rewrite a text; line numbers stay.

    Args:
        text: The text.
        library: Whether it is a header of CUTLASS.

    Raises:
        ValueError: If an asm statement, a shared declaration or a launch cannot be read.
    """
    text = _UNROLL.sub(r"\1", text)
    text, asm = _rewrite_asm(text, library)
    text, shared = _rewrite_shared(text)
    text, launches = _rewrite_launches(text)
    text, _ = enrol_kernels(text)
    return RewrittenSource(text, asm, shared, launches)


def _lines(replacement: str, original: str) -> str:
    return replacement + "\n" * (original.count("\n") - replacement.count("\n"))


def _rewrite_asm(text: str, library: bool) -> tuple[str, int]:
    if "asm" not in text:
        return text, 0
    pieces: list[str] = []
    last = count = 0
    for statement in find_asm(text):
        pieces.append(text[last : statement.start])
        pieces.append(_lines(translate(statement, library=library), text[statement.start : statement.end]))
        last = statement.end
        count += 1
    pieces.append(text[last:])
    return "".join(pieces), count


def _rewrite_shared(text: str) -> tuple[str, int]:
    if "__shared__" not in text:
        return text, 0
    pieces: list[str] = []
    last = count = 0
    for match in _SHARED.finditer(text):
        if "__shared__" not in match[0] or match[0][0] in "\"'/R" or _in_directive(text, match.start()):
            continue
        end = _statement_end(text, match.end())
        dynamic = re.search(r"\bextern\b", match[0]) is not None
        declaration = _strip_attributes(text[match.end() : end - 1])
        replacement = _dynamic(declaration) if dynamic else _static(text[match.end() : end - 1], count)
        pieces += [text[last : match.start()], _lines(replacement, text[match.start() : end])]
        last = end
        count += 1
    pieces.append(text[last:])
    return "".join(pieces), count


def _dynamic(declaration: str) -> str:
    match = _UNKNOWN_BOUND.match(declaration)
    if match is None:
        raise ValueError(
            f"extern __shared__ must declare an array without a bound (got {declaration.strip()})"
        )
    return f"auto& {match[2]} = *reinterpret_cast<{match[1].strip()}(*)[]>(cge::dynamic_shared());"


def _static(declaration: str, index: int) -> str:
    """Members of a struct that the runtime places in the CTA's shared memory, one for each instantiation."""
    kept = re.sub(r"\b(?:static|extern)\b", "", declaration)
    names = []
    for part in split_top(_strip_attributes(kept), ","):
        match = re.search(r"(\w+)\s*$", re.sub(r"\[[^\]]*\]", "", part).strip())
        if match is None:
            raise ValueError(f"a __shared__ declaration cannot be read: {declaration.strip()[:80]}")
        names.append(match[1])
    struct = f"cge_shared_{index}"
    references = "".join(f" auto& {name} = {struct}_at.{name};" for name in names)
    flat = " ".join(kept.split())
    return (
        f"struct {struct} {{ {flat}; }}; static char {struct}_tag; "
        f"auto& {struct}_at = *static_cast<{struct}*>(cge::static_shared("
        f"&{struct}_tag, sizeof({struct}), alignof({struct})));{references}"
    )


def _strip_attributes(declaration: str) -> str:
    while match := _ATTRIBUTE.search(declaration):
        end = match.end()
        if declaration[end : end + 1] == "(":
            end = balanced_end(declaration, end + 1)
        declaration = declaration[: match.start()] + declaration[end:]
    return declaration


def _statement_end(text: str, start: int) -> int:
    """Index just behind the semicolon that ends a declaration."""
    depth = 0
    for match in significant(r"[()\[\]{};]").finditer(text, start):
        if match[0] in "([{":
            depth += 1
        elif match[0] in ")]}":
            depth -= 1
        elif match[0] == ";" and depth == 0:
            return match.end()
    raise ValueError("a __shared__ declaration has no end")


def _in_directive(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")


def _rewrite_launches(text: str) -> tuple[str, int]:
    if "<<<" not in text:
        return text, 0
    pieces: list[str] = []
    last = count = 0
    for match in _LAUNCH.finditer(text):
        if match[0] != "<<<" or match.start() < last or ">>>" not in text[match.end() :]:
            continue
        begin = _callee(text, match.start())
        close = text.index(">>>", match.end())
        opening = text.index("(", close)
        end = balanced_end(text, opening + 1)
        config = [x.strip() for x in split_top(text[match.end() : close], ",")]
        config += ["0"] * (3 - len(config))
        arguments = text[opening + 1 : end - 1].strip()
        callee = " ".join(text[begin : match.start()].split())
        call = (
            f"cge::launch(dim3({config[0]}), dim3({config[1]}), size_t({config[2]}), "
            f"[=](auto... cge_a) {{ {callee}(cge_a...); }}{', ' + arguments if arguments else ''})"
        )
        pieces += [text[last:begin], _lines(call, text[begin:end])]
        last = end
        count += 1
    pieces.append(text[last:])
    return "".join(pieces), count


def _callee(text: str, end: int) -> int:
    """Where the expression that names the kernel begins: an id with template arguments."""
    at = end
    while text[at - 1].isspace():
        at -= 1
    if text[at - 1] == ">":
        depth = 0
        while True:
            at -= 1
            depth += {">": 1, "<": -1}.get(text[at], 0)
            if depth == 0:
                break
        while text[at - 1].isspace():
            at -= 1
    while at and (text[at - 1].isalnum() or text[at - 1] in "_:."):
        at -= 1
    return at
