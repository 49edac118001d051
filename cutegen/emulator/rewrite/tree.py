"""Rewrite a tree of headers into an overlay: only what changes, to be searched before the original."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from cutegen.emulator.rewrite.source import needs_rewriting, rewrite_source

__all__ = ["RewrittenTree", "rewrite_tree"]

_HEADERS = frozenset({".h", ".hpp", ".inl", ".cuh"})
_PATCHED = frozenset({"cutlass/arch/arch.h", "cute/config.hpp"})
#: Headers choose such instructions by the architecture, and one precompiled header serves several.
_CHOSEN_BY_ARCH = re.compile(r'cge::need\(\d+, false, "(?:cvt|fma|min|max|add|sub|mul)\.[^"]*"\), ')
_UNSUPPORTED = ("cutlass/arch/wmma",)  # nvcuda::wmma has no host form


@dataclass(frozen=True, kw_only=True)
class RewrittenTree:
    """What was done to a tree.

    Attributes:
        files: Rewritten files.
        asm: Asm statements that became calls.
        skipped: Files that could not be read and stay as they are, with the reason.
    """

    files: int
    asm: int
    skipped: dict[str, str]


def rewrite_tree(source: Path, target: Path) -> RewrittenTree:
    """Write the rewritten headers of ``source`` below ``target``.

    A directory that holds a rewritten header gets all its headers, because some include their neighbours
    by bare name.
    """
    files = asm = 0
    skipped: dict[str, str] = {}
    for directory in sorted({p.parent for p in source.rglob("*") if p.suffix in _HEADERS}):
        changed: dict[str, str] = {}
        headers = sorted(p for p in directory.iterdir() if p.suffix in _HEADERS)
        for path in headers:
            name = path.relative_to(source).as_posix()
            if name.startswith(_UNSUPPORTED):
                changed[path.name] = "#pragma once\n"
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
            if not needs_rewriting(text) and name not in _PATCHED:
                continue
            try:
                result = rewrite_source(
                    text.replace("\\\n", "") if "asm" in text and "\\\n" in text else text, library=True
                )
            except ValueError as error:
                skipped[name] = str(error)
                continue
            changed[path.name] = _patch(name, _CHOSEN_BY_ARCH.sub("", result.text))
            files += 1
            asm += result.asm
        if not changed:
            continue
        out = target / directory.relative_to(source)
        out.mkdir(parents=True, exist_ok=True)
        for path in headers:
            if path.name in changed:
                (out / path.name).write_text(changed[path.name], encoding="utf-8")
            else:
                shutil.copyfile(path, out / path.name)
    return RewrittenTree(files=files, asm=asm, skipped=skipped)


def _patch(name: str, text: str) -> str:
    """The few places where a header asks for nvcc by name.

    CuTe's functions are inlined as nvcc inlines them, so that an address tells the line of the kernel that it
    belongs to, and not only the line of a header that many lines share.
    """
    if name == "cute/config.hpp":
        return re.sub(
            r"(#\s*define CUTE_(?:HOST_)?DEVICE)\s+inline\b",
            r"\1 __attribute__((always_inline)) inline",
            text,
        )
    if name == "cutlass/arch/arch.h":
        text = text.replace("#if defined(__NVCC__)", "#if 1 //", 1)
    return text
