"""The values that a matrix chooses: what they overlap with, whether they agree, and their names in an id."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cutegen.yamlread import PathKey
from cutegen.yamlwrite import flow

__all__ = [
    "Combination",
    "Fields",
    "Value",
    "agrees",
    "canonical",
    "label",
    "overlap",
    "place",
    "single",
    "slug",
]

Fields = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Value:
    """A value of the matrix and where it stands in the file."""

    data: Any
    source: PathKey


Combination = dict[Fields, Value]


def overlap(one: str, other: str) -> bool:
    """Whether one dotted path is the other or lies within it."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def single(combination: Combination) -> dict[str, Value]:
    """The value of each field by itself; a later one counts."""
    return {field: value for fields, value in combination.items() for field in fields}


def agrees(entry: Combination, combination: Combination, *, partial: bool) -> bool:
    """Whether an entry contradicts nothing of a combination; if not ``partial``, it must have all of it."""
    values = single(combination)
    return all(
        canonical(values[f].data) == canonical(v.data) if f in values else partial
        for f, v in single(entry).items()
    )


def place(data: dict[str, Any], parts: Sequence[str], value: Any) -> bool:
    """Set a nested entry on a copy of each mapping on the way; False where a scalar is in the way."""
    for part in parts[:-1]:
        inner = data.get(part)
        if inner is None or inner == "auto":
            inner = {}
        if not isinstance(inner, dict):
            return False
        data[part] = dict(inner)
        data = data[part]
    data[parts[-1]] = value
    return True


def canonical(value: Any) -> str:
    """The same text for equal values, however their mappings are ordered."""
    return flow(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _sorted(value[k]) for k in sorted(value)}
    return [_sorted(v) for v in value] if isinstance(value, list | tuple) else value


def label(fields: Fields) -> str:
    """``dtype`` for ``a.dtype, b.dtype``; the path itself for one field."""
    last = {f.rpartition(".")[2] for f in fields}
    return last.pop() if len(fields) > 1 and len(last) == 1 else fields[0]


def slug(value: Any) -> str:
    """A value in an id: itself where a shell and a file name can take it, else a hash."""
    if isinstance(value, tuple) and value and all(isinstance(v, int) for v in value):
        return "x".join(str(v) for v in value)
    text = str(value) if isinstance(value, str) else flow(value) if value is not None else "auto"
    if text and all(ch.isascii() and (ch.isalnum() or ch in "._-") for ch in text) and len(text) <= 40:
        return text
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:8]
