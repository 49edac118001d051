"""Read the ways out that a violation names, and apply them to the config."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from cutegen.config import GemmConfig
from cutegen.errors import Violation

__all__ = ["fixed_configs", "ways_out"]

_FIELDS = "|".join(GemmConfig.model_fields)
_PATH = rf"(?:{_FIELDS})(?:\.\w+)*"
_SAID = re.compile(rf"(?<![\w.])(?:leave ({_PATH}) out|({_PATH}): (?=\S))")


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
        elif depth == 0 and char in " ,)":
            return text[:i]
    return text


def ways_out(violation: Violation) -> list[dict[str, Any]]:
    """Patches by dotted path; None leaves a field out. ``with`` joins two patches to one way."""
    text, ways, end = violation.fix, [], 0
    for said in _SAID.finditer(text):
        if said.start() < end:
            continue  # inside a value
        left_out, path = said.groups()
        if left_out:
            patch, stop = {left_out: None}, said.end()
        else:
            written = _value(text[said.end() :])
            patch, stop = {path: yaml.safe_load(written)}, said.end() + len(written)
        if ways and text[end : said.start()] == " with ":
            ways[-1] |= patch
        else:
            ways.append(patch)
        end = stop
    return ways


def fixed_configs(cfg: GemmConfig, violation: Violation) -> Iterator[tuple[dict[str, Any], GemmConfig]]:
    """Each way out of a violation, with the config after it."""
    for way in ways_out(violation):
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
        yield way, GemmConfig.model_validate(data)
