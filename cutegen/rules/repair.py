"""Ways out that hold: each is applied to the config, and the config judged again.

A rule says a way out from what it knows. Other fields may stand against it, so :func:`repaired` keeps only
the ways that break nothing else, and where none is left it chooses the parts around the field anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import yaml
from pydantic import ValidationError

from cutegen.config import GemmConfig
from cutegen.errors import Violation
from cutegen.resolve import resolve
from cutegen.rules.text import either
from cutegen.yamlwrite import flow

__all__ = ["Way", "patched", "repaired", "ways_out"]

Way = dict[str, Any]
"""New values by dotted path; None leaves a field out."""

_MOST_VIOLATIONS = 4  # of a config whose ways out are tried: more are no slip of the pen
_MOST_TRIALS = 20  # of a config in all
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
    for said in _SAID.finditer(text):
        if said.start() < end:
            continue  # inside a value
        left_out, path = said.groups()
        patch: Way
        if left_out:
            patch, stop = {left_out: None}, said.end()
        else:
            written = _value(text[said.end() :])
            patch, stop = {path: yaml.safe_load(written)}, said.end() + len(written)
        if ways and text[end : said.start()] == " with ":
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


Judge = Callable[[GemmConfig], Sequence[Violation]]


def repaired(cfg: GemmConfig, found: list[Violation], judge: Judge) -> list[Violation]:
    """The violations of a config, each with ways out that remove it and break nothing else.

    Args:
        cfg: The config as the user wrote it.
        found: All its violations.
        judge: Finds the violations of another config, without this repair.
    """
    if len(found) > _MOST_VIOLATIONS:
        return found
    known = {(v.rule, v.field) for v in found}
    trials = iter(range(_MOST_TRIALS))

    def holds(way: Way, violation: Violation) -> bool:
        if next(trials, None) is None:
            return False
        try:
            after = judge(patched(cfg, way))
        except ValidationError:
            return False
        return {(v.rule, v.field) for v in after} <= known - {(violation.rule, violation.field)}

    result = []
    for violation in found:
        ways = ways_out(violation.fix)
        good = [way for way in ways if holds(way, violation)]
        if not ways or len(good) < len(ways):
            good = good or [w for w in _chosen_anew(cfg, violation) if holds(w, violation)][:1]
            if good:
                guess = re.match(r"did you mean \S+\? |", violation.fix)
                said = either(_said(way) for way in good)
                verb = "" if said.startswith("leave ") else "use "
                violation = replace(violation, fix=f"{guess[0] if guess else ''}{verb}{said}")
        result.append(violation)
    return result


def _said(way: Way) -> str:
    """A way as :func:`ways_out` reads it."""
    if len(way) == 1 and None in way.values():
        return f"leave {next(iter(way))} out"
    return " with ".join(f"{path}: {'auto' if value is None else flow(value)}" for path, value in way.items())


def _chosen_anew(cfg: GemmConfig, violation: Violation) -> Iterator[Way]:
    """The parts around a field, from few to many, with the values that they would get by themselves."""
    which = next((w for w in "ab" if re.search(rf"(^|\.){w}(\.|$)", violation.field)), None)
    groups: list[list[str]] = []
    if which is not None:
        parts = [f"{part}.{which}" for part in ("s2r", "g2s", "smem")]
        own = [p for p in parts if violation.field.startswith(p)]
        groups += [own, *([p] for p in parts if p not in own), [parts[0], parts[2]], parts[1:], parts]
    both = [f"{part}.{w}" for w in "ab" for part in ("smem", "g2s", "s2r")]
    groups += [
        ["stages"],
        both,
        ["tiled_mma.permutation", *both],
        ["tiled_mma.layout", "tiled_mma.permutation"],
    ]
    groups += [["tiled_mma.layout", "tiled_mma.permutation", *both], ["tile", "stages", "tiled_mma.layout"]]
    for group in groups:
        if not group:
            continue
        chosen = resolve(patched(cfg, dict.fromkeys(group)))
        data = chosen.model_dump(exclude_none=True)
        way = {path: _at(data, path) for path in group}
        if cfg.mainloop != "direct" and None not in way.values():
            yield way


def _at(data: Any, path: str) -> Any:
    for name in path.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data
