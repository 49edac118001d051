"""Make a failing case small: fields left open, smaller values, a smaller problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pydantic

from cutegen.config import GemmConfig
from cutegen.fuzz.case import Case, Failure, refusals
from cutegen.loader import to_data
from cutegen.resolve import resolve
from cutegen.trial import Problem, steps

__all__ = ["minimise"]

_NEEDED = (("arch",), ("a",), ("b",), ("a", "dtype"), ("b", "dtype"))
_GROUPS = (
    ("smem",), ("g2s",), ("s2r",), ("tiled_mma",), ("scheduler",), ("epilogue",), ("c",), ("limits",),
)  # fmt: skip

Path = tuple[str, ...]


def minimise(
    failure: Failure,
    probe: Callable[[Case], Failure | None],
    *,
    attempts: int = 60,
    seconds: float = 240.0,
    clock: Callable[[], float] = time.monotonic,
) -> Failure:
    """The smallest failure found that is of the same kind.

    Args:
        failure: What was found.
        probe: Tries a case.
        attempts: Cases to try at most.
        seconds: How long to go on at most.
        clock: Tells the time.
    """
    search = _Search(failure, probe, attempts, clock() + seconds, clock)
    search.run()
    best = search.best
    return replace(best, found_in=failure.case, steps=search.tried)


class _Search:
    def __init__(
        self,
        failure: Failure,
        probe: Callable[[Case], Failure | None],
        attempts: int,
        deadline: float,
        clock: Callable[[], float],
    ) -> None:
        self.best = failure
        self.kind, self.detail = failure.kind, failure.detail
        self.probe, self.attempts, self.deadline, self.clock = probe, attempts, deadline, clock
        self.tried = 0
        self.seen: set[tuple[Any, ...]] = set()

    @property
    def over(self) -> bool:
        return self.tried >= self.attempts or self.clock() >= self.deadline

    def run(self) -> None:
        """Shrink until nothing becomes smaller or the budget is spent."""
        while not self.over:
            before = self.best.case
            self._style()
            self._fields()
            self._values()
            self._problem()
            if self.best.case == before:
                return

    def _try(self, case: Case) -> bool:
        """Whether a smaller case fails in the same way; it is kept then."""
        key = (case.config, case.style, case.problems, case.orders)
        if self.over or key in self.seen:
            return False
        self.seen.add(key)
        rules = sorted(refusals(case.config) or ())
        if case.expectation == "accepted" and rules and self.kind != "check":
            return False
        if case.expectation == "refused" and ", ".join(rules) != self.detail:
            return False
        self.tried += 1
        found = self.probe(case)
        if found is None or (found.kind, found.detail) != (self.kind, self.detail):
            return False
        self.best = found
        return True

    def _config(self, data: dict[str, Any]) -> bool:
        try:
            config = GemmConfig.model_validate(data)
        except pydantic.ValidationError:
            return False
        # The problem may not fit other alignments, so it is chosen anew where it does not.
        case = replace(self.best.case, config=config)
        return self._try(case)

    def _style(self) -> None:
        if self.best.case.style != "resolved":
            self._try(replace(self.best.case, style="resolved"))

    def _fields(self) -> None:
        """Leave fields open: whole groups first, then half of the leaves at a time, then each."""
        for group in _GROUPS:
            self._without([group])
        leaves = [p for p in _leaves(to_data(self.best.case.config)) if p not in _NEEDED]
        size = len(leaves) // 2
        while size >= 1 and not self.over:
            for begin in range(0, len(leaves), size):
                self._without(leaves[begin : begin + size])
            leaves = [p for p in _leaves(to_data(self.best.case.config)) if p not in _NEEDED]
            size = min(size // 2, len(leaves) // 2) if size > 1 else 0

    def _without(self, paths: list[Path]) -> bool:
        data = to_data(self.best.case.config)
        changed = False
        for path in paths:
            changed |= _remove(data, path)
        return changed and self._config(data)

    def _values(self) -> None:
        """Put simpler values where values are given."""
        for path, simpler in list(_simpler(to_data(self.best.case.config))):
            data = to_data(self.best.case.config)
            if _replace(data, path, simpler):
                self._config(data)

    def _problem(self) -> None:
        """Fewer rows, columns and k-tiles, alpha of 1 and beta of 0, and the plain order of threads."""
        case = self.best.case
        if case.orders != (0,):
            self._try(replace(case, orders=(0,)))
        if len(case.problems) != 1:
            return
        for alpha, beta in ((1.0, 0.0), (1.0, case.problems[0].beta), (case.problems[0].alpha, 0.0)):
            problem = self.best.case.problems[0]
            if self._try(replace(self.best.case, problems=(replace(problem, alpha=alpha, beta=beta),))):
                break
        try:
            multiples = steps(resolve(case.config))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return
        for name, step in zip("mnk", multiples, strict=True):
            while not self.over:
                problem = self.best.case.problems[0]
                extent = getattr(problem, name)
                if not any(self._extent(problem, name, n) for n in _smaller(extent, step)):
                    break

    def _extent(self, problem: Problem, name: str, extent: int) -> bool:
        smaller = replace(problem, **{name: extent})
        return self._try(replace(self.best.case, problems=(smaller,)))


def _smaller(extent: int, step: int) -> Iterator[int]:
    """Smaller extents: the least one, half of it, and one step less."""
    for n in sorted({step, extent // 2 // step * step, extent - step}):
        if 0 < n < extent:
            yield n


def _leaves(data: dict[str, Any], path: Path = ()) -> Iterator[Path]:
    for key, value in data.items():
        # Layouts are one value each.
        if isinstance(value, dict) and "shape" not in value:
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key)


def _parent(data: dict[str, Any], path: Path) -> dict[str, Any] | None:
    for key in path[:-1]:
        inner = data.get(key)
        if not isinstance(inner, dict):
            return None
        data = inner
    return data


def _remove(data: dict[str, Any], path: Path) -> bool:
    parent = _parent(data, path)
    if parent is None or path[-1] not in parent or path in _NEEDED:
        return False
    del parent[path[-1]]
    return True


def _replace(data: dict[str, Any], path: Path, value: Any) -> bool:
    parent = _parent(data, path)
    if parent is None or parent.get(path[-1]) == value:
        return False
    parent[path[-1]] = value
    return True


def _simpler(data: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Fields of a config with values that are simpler than theirs."""
    for path in (("smem", "a", "swizzle"), ("smem", "b", "swizzle")):
        if (parent := _parent(data, path)) and parent.get("swizzle", "none") != "none":
            yield path, "none"
    if isinstance(stages := data.get("stages"), int):
        yield from ((("stages",), n) for n in range(1, min(stages, 4)))
    layout = (data.get("tiled_mma") or {}).get("layout")
    if layout:
        for mode in range(2):
            if layout[mode] > 1:
                yield ("tiled_mma", "layout"), [*layout[:mode], 1, *layout[mode + 1 :]]
    tile = data.get("tile")
    if tile:
        for mode in range(3):
            if tile[mode] % 2 == 0:
                yield ("tile",), [*tile[:mode], tile[mode] // 2, *tile[mode + 1 :]]
    for which in ("a", "b"):
        operand = data.get(which) or {}
        if operand.get("major") not in (None, "k"):
            yield (which, "major"), "k"
        if operand.get("align") not in (None, 16):
            yield (which, "align"), 16
    if data.get("arch") not in ("sm_80", None):
        yield ("arch",), "sm_80"
