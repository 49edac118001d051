"""Enrol kernels with the runtime, so that it can launch them from an address and ``void**`` arguments.

``cudaLaunchKernelExC`` and ``cudaLaunchKernel`` do not tell the types of a kernel's parameters. So the body
of each kernel names an object whose initialiser tells the runtime the kernel's address and its type. It is
one object for each instantiation, and it costs nothing when the kernel runs.
"""

from __future__ import annotations

import re

from cutegen.emulator.rewrite.scan import balanced_end, significant, split_top

__all__ = ["enrol_kernels"]

_GLOBAL = significant(r"\b(?:__global__|CUTLASS_GLOBAL)\b")
_HEAD = significant(r"[(;{}=]")
_NAME = re.compile(r"([A-Za-z_]\w*)\s*(<[^;{}()]*>)?\s*$")
_TEMPLATE = re.compile(r"\btemplate\s*<")
_PARAMETER = re.compile(r"(?:\.\.\.\s*)?([A-Za-z_]\w*)\s*$")
_BETWEEN = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
_NOT_NAMES = frozenset({"__launch_bounds__", "__cluster_dims__", "__attribute__", "alignas"})


def enrol_kernels(text: str) -> tuple[str, int]:
    """Put an enrolment at the begin of each kernel's body; line numbers stay.

    Returns:
        The text, and how many kernels were enrolled. Overloaded kernels, which share a name, are left out.
    """
    found: list[tuple[int, str]] = []
    for match in _GLOBAL.finditer(text):
        if not match[0].endswith(("__global__", "CUTLASS_GLOBAL")) or match[0][0] in "\"'/R":
            continue
        if text[text.rfind("\n", 0, match.start()) + 1 : match.start()].lstrip().startswith("#"):
            continue
        try:
            definition = _definition(text, match.end())
        except ValueError:
            continue
        if definition is None:
            continue
        body, name = definition
        arguments = _template_arguments(text, match.start()) if "<" not in name else ""
        if arguments is not None:
            found.append((body, name + arguments))
    names = [name.partition("<")[0] for _, name in found]
    pieces: list[str] = []
    last = count = 0
    for (at, name), plain in zip(found, names, strict=True):
        if names.count(plain) > 1:
            continue
        pieces += [text[last:at], f" cge::enrolled<&{name}>();"]
        last = at
        count += 1
    return "".join([*pieces, text[last:]]), count


def _definition(text: str, at: int) -> tuple[int, str] | None:
    """Where the body of a kernel begins (behind its brace), and the kernel's name; None for a declaration."""
    while match := _HEAD.search(text, at):
        at = match.end()
        if match[0][0] in "\"'/R":
            continue
        if match[0] != "(":
            return None
        close = balanced_end(text, at)
        name = _NAME.search(text[: match.start()])
        if name is None:
            return None
        at = close
        if name[1] in _NOT_NAMES:
            continue
        behind = significant(r"[{;]").search(text, close)
        while behind is not None and behind[0][0] in "\"'/R":
            behind = significant(r"[{;]").search(text, behind.end())
        if behind is None or behind[0] != "{":
            return None
        return behind.end(), name[1] + (name[2] or "")
    return None


def _template_arguments(text: str, at: int) -> str | None:
    """``<A, B, C...>`` for the template head that stands before a kernel; empty if it is no template."""
    before = text[:at]
    heads = list(_TEMPLATE.finditer(before, max(0, at - 4000)))
    if not heads:
        return ""
    opening = heads[-1].end()
    end = _angle_end(before, opening)
    if end is None:
        return ""
    rest = re.sub(r"\b(?:static|inline|extern|void|CUTLASS_\w+)\b", " ", _BETWEEN.sub(" ", before[end:]))
    if re.sub(r"__launch_bounds__\s*\([^;{}]*\)", " ", rest).strip():
        return ""  # the head belongs to something else
    names = []
    for parameter in _split_angles(before[opening : end - 1]):
        match = _PARAMETER.search(_without_default(parameter).strip())
        if match is None or match[1] in ("class", "typename", "int", "bool", "auto"):
            return None
        names.append(match[1] + ("..." if "..." in parameter else ""))
    return f"<{', '.join(names)}>"


def _angle_end(text: str, at: int) -> int | None:
    """Index just behind the ``>`` that closes the ``<`` before ``at``."""
    depth, parentheses = 1, 0
    for index in range(at, len(text)):
        char = text[index]
        if char in "([{":
            parentheses += 1
        elif char in ")]}":
            parentheses -= 1
        elif parentheses == 0 and char in "<>":
            depth += 1 if char == "<" else -1
            if depth == 0:
                return index + 1
    return None


def _split_angles(text: str) -> list[str]:
    """Template parameters at the commas that stand in no bracket of any kind."""
    parts: list[str] = []
    for part in split_top(_BETWEEN.sub(" ", text), ","):
        if parts and parts[-1].count("<") > parts[-1].count(">"):
            parts[-1] += "," + part
        else:
            parts.append(part)
    return [part for part in parts if part.strip()]


def _without_default(parameter: str) -> str:
    depth = 0
    for index, char in enumerate(parameter):
        depth += (char in "<([{") - (char in ">)]}")
        if char == "=" and depth == 0:
            return parameter[:index]
    return parameter
