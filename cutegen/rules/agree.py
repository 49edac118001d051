"""Ways out of all violations of one config that agree: each holds alone, and any of them together.

A tile that is wrong in several ways gets tiles that are right in all of them; where two violations name
fields that depend on each other, only such values are kept as can be taken together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice, product
from math import log2

from pydantic import ValidationError

from cutegen.config import GemmConfig
from cutegen.errors import Violation
from cutegen.rules.ways import Way, patched, ways_out

__all__ = ["Judge", "agreeing"]

Judge = Callable[[GemmConfig], Sequence[Violation]]
Key = tuple[str, str]  # of a violation: its rule and its field

_MOST_TRIALS = 2000  # of a config in all, a quarter of a second
_MOST_BASES = 4  # ways out of what is not the tile, taken together, beside which tiles are looked for
_LARGEST = 1024  # extent of a tile that is looked at


def agreeing(cfg: GemmConfig, found: Sequence[Violation], judge: Judge) -> list[list[Way]]:
    """For each violation the ways out that can be said beside those of all others.

    Args:
        cfg: The config as the user wrote it.
        found: All its violations.
        judge: Finds the violations of another config; called many times.

    Returns:
        For each violation its ways, none where none was found. Each one removes its violation and brings no
        other, by itself as well as before or after any way of another violation. All first ones together
        make the config legal, if that was found to be possible. Where only one way mends all, each has it.
    """
    return _Trial(cfg, found, judge).ways()


class _Trial:
    """The violations of one config, and what is known of its neighbours."""

    def __init__(self, cfg: GemmConfig, found: Sequence[Violation], judge: Judge) -> None:
        self.cfg = cfg
        self.found = found
        self.judge = judge
        self.keys: list[Key] = [(v.rule, v.field) for v in found]
        self.known = frozenset(self.keys)
        self.tried: dict[str, frozenset[Key] | None] = {}

    def ways(self) -> list[list[Way]]:
        """See :func:`agreeing`."""
        ways = [self._alone(violation) for violation in self.found]
        core = self._core(ways, [])
        if core is None:
            whole = self._whole(ways)
            return [whole] * len(ways) if whole else ways
        kept = [[way] if way is not None else [] for way in core]
        for index, own in enumerate(ways):
            for way in own:
                others = [(j, w) for j, said in enumerate(kept) if j != index for w in said]
                if way not in kept[index] and all(self._together(index, way, j, w) for j, w in others):
                    kept[index].append(way)
            kept[index].sort(key=own.index)
        return kept

    def _left(self, way: Way) -> frozenset[Key] | None:
        """The violations after a way; None if it is none."""
        name = repr(list(way.items()))
        if name not in self.tried:
            if len(self.tried) >= _MOST_TRIALS:
                return None
            try:
                self.tried[name] = frozenset((v.rule, v.field) for v in self.judge(patched(self.cfg, way)))
            except ValidationError:
                self.tried[name] = None
        return self.tried[name]

    def _removes(self, way: Way, *gone: Key) -> bool:
        left = self._left(way)
        return left is not None and left <= self.known.difference(gone)

    def _together(self, one: int, way: Way, other: int, second: Way) -> bool:
        gone = self.keys[one], self.keys[other]
        return self._removes(way | second, *gone) and self._removes(second | way, *gone)

    def _core(self, ways: list[list[Way]], chosen: list[Way | None]) -> list[Way | None] | None:
        """One way for each violation that has any, which make the config legal together."""
        index = len(chosen)
        if index == len(ways):
            whole: Way = {}
            for way in chosen:
                whole |= way or {}
            lost = [key for key, way in zip(self.keys, chosen, strict=True) if way is not None]
            return chosen if self._removes(whole, *lost) else None
        for way in ways[index]:
            before = [(j, w) for j, w in enumerate(chosen) if w is not None]
            if all(self._together(index, way, j, w) for j, w in before):
                core = self._core(ways, [*chosen, way])
                if core is not None:
                    return core
        return None if ways[index] else self._core(ways, [*chosen, None])

    def _alone(self, violation: Violation) -> list[Way]:
        """The ways that hold by themselves; a tile must mend all that is wrong with it."""
        key = violation.rule, violation.field
        tile_keys = [k for k in self.known if k[1] == "tile"]
        good = [
            way
            for way in ways_out(violation.fix)
            if self._removes(way, key) and ("tile" not in way or self._removes(way, *tile_keys))
        ]
        if violation.field == "tile":
            if not any("tile" in way for way in good):
                good += self._other_tiles(tile_keys, self._beside())
        elif not good:
            alone: list[Way] = [{violation.field: None}]
            if violation.field == "cluster":
                alone.insert(0, {"cluster": [1, 1, 1]})
            good = [way for way in alone if self._removes(way, key)][:1]
            good = good or self._other_tiles([key, *tile_keys], [*ways_out(violation.fix), *alone])
        return good

    def _beside(self) -> list[Way]:
        """Nothing, and other fields that a tile depends on at their least."""
        cluster: Way = {"cluster": [1, 1, 1]} if self.cfg.cluster else {}
        stages: Way = {"stages": None} if self.cfg.stages else {}
        return [{}, *(fields for fields in (cluster, stages, cluster | stages) if fields)]

    def _whole(self, ways: list[list[Way]]) -> list[Way]:
        """One way out of all violations at once, where they have no ways of their own that agree; or none."""
        others = [w for violation, w in zip(self.found, ways, strict=True) if violation.field != "tile" and w]
        some = islice(product(*others), _MOST_BASES)
        bases = [dict(chain.from_iterable(way.items() for way in chosen)) for chosen in some]
        beside = [{**fields, **base} for base in bases for fields in self._beside()]
        return self._other_tiles(self.keys, beside)

    def _other_tiles(self, gone: Sequence[Key], beside: Sequence[Way]) -> list[Way]:
        """The nearest tile with which all is well beside one of other ways; none or one."""
        ways = [
            (cost + len(fields), {"tile": tile, **fields})
            for cost, tile in _near(self.cfg.tile or (128, 128, 64))
            for fields in beside
        ]
        ways.sort(key=lambda pair: pair[0])
        return next(([way] for _, way in ways if self._removes(way, *gone)), [])


def _near(tile: tuple[int, ...]) -> list[tuple[float, list[int]]]:
    """Tiles with their distances: by how many doublings extents differ, and a little for each that does."""
    given = tuple(min(max(1, extent), _LARGEST) for extent in tile)
    m, n, k = given
    extents = (
        {64, 128, 192, 256, *_around(m, 64)},
        {*range(32, 257, 32), *_around(n, 8), *_around(n, 16)},
        {16, 32, 64, 128, 256, *_around(k, 16), *_around(k, 32)},
    )

    def distance(other: tuple[int, ...]) -> float:
        return sum(abs(log2(x / y)) + 0.01 * (x != y) for x, y in zip(other, given, strict=True))

    return sorted((round(distance(other), 3), list(other)) for other in product(*extents))


def _around(extent: int, unit: int) -> tuple[int, ...]:
    below = extent // unit * unit
    return tuple(x for x in (below, below + unit) if x > 0)
