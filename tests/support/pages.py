"""The Python blocks of a page of the documentation."""

from __future__ import annotations

import re

__all__ = ["blocks", "gpu_blocks"]

_BLOCK = re.compile(r"^(<!-- needs a GPU -->\n)?```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)


def _found(page: str, *, gpu: bool) -> list[tuple[int, str]]:
    return [
        (page[: match.start(2)].count("\n"), match[2])
        for match in _BLOCK.finditer(page)
        if bool(match[1]) == gpu
    ]


def blocks(page: str) -> list[tuple[int, str]]:
    """(lines before it, code) of each block that runs anywhere."""
    return _found(page, gpu=False)


def gpu_blocks(page: str) -> list[tuple[int, str]]:
    """(lines before it, code) of each block that needs a GPU."""
    return _found(page, gpu=True)
