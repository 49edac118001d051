"""The seal of a stored rendering: a first line with the hash of all that follows."""

from __future__ import annotations

import hashlib

__all__ = ["is_intact", "seal"]

_PREFIX = "// Sealed by cutegen, do not edit: sha256 "


def seal(text: str) -> str:
    """``text`` under a line with its hash."""
    return f"{_PREFIX}{hashlib.sha256(text.encode()).hexdigest()}\n{text}"


def is_intact(sealed: str) -> bool:
    """Whether nothing was changed since :func:`seal`."""
    first, _, text = sealed.partition("\n")
    return first.startswith(_PREFIX) and seal(text) == sealed
