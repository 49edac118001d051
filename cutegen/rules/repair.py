"""Ways out that hold: each is applied to the config, and the config judged again.

A rule says a way out from what it knows. Other fields may stand against it, so :func:`repaired` keeps only
the ways that break nothing else, and where none is left it chooses the parts around the field anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from cutegen.config import GemmConfig
from cutegen.errors import Violation
from cutegen.resolve import resolve
from cutegen.rules.agree import Judge, agreeing
from cutegen.rules.text import either
from cutegen.rules.ways import Way, patched, said, ways_out

__all__ = ["repaired"]

_MOST_VIOLATIONS = 4  # of a config whose ways out are tried: more are no slip of the pen
_MOST_TRIALS = 20  # of a config in all
_MOST_AGREEING = 6  # of a collective, whose rules are quick: different ones


def repaired(cfg: GemmConfig, found: list[Violation], judge: Judge) -> list[Violation]:
    """The violations of a config, each with ways out that remove it and break nothing else.

    Args:
        cfg: The config as the user wrote it.
        found: All its violations.
        judge: Finds the violations of another config, without this repair.
    """
    if resolve(cfg).mainloop == "collective":
        if len({(v.rule, v.field) for v in found}) > _MOST_AGREEING:
            return found
        chosen = agreeing(cfg, found, judge)
        return [_with_ways(v, ways_out(v.fix), good) for v, good in zip(found, chosen, strict=True)]
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
        if not good:
            good = [w for w in _chosen_anew(cfg, violation) if holds(w, violation)][:1]
        result.append(_with_ways(violation, ways, good))
    return result


def _with_ways(violation: Violation, ways: Sequence[Way], good: Sequence[Way]) -> Violation:
    """The violation with the good ones of its ways, or others; as it is if there are none or all are good."""
    if not good or list(good) == list(ways):
        return violation
    guess = re.match(r"did you mean \S+\? |", violation.fix)
    words = either(said(way) for way in good)
    verb = "" if words.startswith("leave ") else "use "
    return replace(violation, fix=f"{guess[0] if guess else ''}{verb}{words}")


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
