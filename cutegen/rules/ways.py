"""Ways out as messages name them: read from the text, applied to a config, written as text."""

from __future__ import annotations

import re
from typing import Any

import yaml

from cutegen.config import GemmConfig
from cutegen.yamlwrite import flow

__all__ = ["Way", "patched", "said", "ways_out"]

Way = dict[str, Any]
"""New values by dotted path; None leaves a field out."""

_PATH = rf"(?:{'|'.join(GemmConfig.model_fields)})(?:\.\w+)*"
_SAID = re.compile(rf"(?<![\w.])(?:leave ({_PATH}) out|({_PATH}): (?=\S))")
_MORE = re.compile(r"(?:, | or )(\d+|[kmn]|SM\w+|UniversalCopy)(?=, | or |$)")


def _value(text: str) -> str:
    """A value as YAML in flow style, at the start of ``text``."""
    depth = 0
    for i, char in enumerate(text):
        if char in "[{<":
            depth += 1
        elif char in "]}>":
            depth -= 1
            if depth == 0:
                return text[: i + 1]
        elif depth == 0 and char in " ,)?":
            return text[:i]
    return text


def ways_out(text: str) -> list[Way]:
    """The ways that a violation's fix names; ``with`` joins two values to one way.

    ``s2r.a: X, Y or Z`` are three ways.
    """
    ways: list[Way] = []
    end = 0
    for match in _SAID.finditer(text):
        if match.start() < end:
            continue  # inside a value
        left_out, path = match.groups()
        patch: Way
        if left_out:
            patch, stop = {left_out: None}, match.end()
        else:
            written = _value(text[match.end() :])
            patch, stop = {path: yaml.safe_load(written)}, match.end() + len(written)
        if ways and text[end : match.start()] == " with ":
            ways[-1] = ways[-1] | patch
        else:
            ways.append(patch)
        end = stop
        for more in _MORE.finditer(text, stop):
            if left_out or more.start() != end:
                break
            ways.append({**ways[-1], path: yaml.safe_load(more[1])})
            end = more.end()
    return ways


def patched(cfg: GemmConfig, way: Way) -> GemmConfig:
    """The config after a way out.

    Raises:
        ValidationError: The way is none: the config has no such field, or it cannot have this value.
    """
    data = cfg.model_dump(exclude_none=True)
    for path, value in way.items():
        *parents, last = path.split(".")
        target = data
        for name in parents:
            target = target.setdefault(name, {})
        if value is None:
            target.pop(last, None)
        else:
            target[last] = value
    return GemmConfig.model_validate(data)


def said(way: Way) -> str:
    """A way as :func:`ways_out` reads it."""
    if len(way) == 1 and None in way.values():
        return f"leave {next(iter(way))} out"
    return " with ".join(f"{path}: {'auto' if value is None else flow(value)}" for path, value in way.items())
