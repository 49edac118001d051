"""A matrix of configs in one file, expanded as GitHub Actions expands ``strategy.matrix``.

A matrix file is a config with lists under ``matrix:``. Its keys are dotted config paths; a key may name
several paths, separated by commas, that get the same value (``a.dtype, b.dtype: [f16, bf16]``)::

    arch: sm_80
    a: {dtype: bf16}
    b: {dtype: bf16}
    matrix:
      tile: [[128, 128, 32], [128, 256, 32]]
      stages: [3, 4]
      exclude:
        - {tile: [128, 256, 32], stages: 4}
      include:
        - {tile: [64, 64, 32], stages: 6}

* The cases are all combinations, the first key varying slowest.
* An entry of ``exclude`` drops the combinations that agree with all of it.
* An entry of ``include`` extends each combination of the lists that it does not contradict; one that
  contradicts all of them becomes a case of its own.
* A value replaces what the file says at its path.
* ``illegal: skip`` reports combinations that break a rule as skipped; by default they are failures.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NoReturn

from cutegen.errors import ConfigError
from cutegen.loader import LoadedConfig, read_text, validate
from cutegen.matrix.values import (
    Combination,
    Fields,
    Value,
    agrees,
    canonical,
    label,
    overlap,
    place,
    single,
    slug,
)
from cutegen.schema_errors import annotation_at, describe, suggest, unknown_field
from cutegen.yamlread import Document, LocatedViolation, PathKey, parse
from cutegen.yamlwrite import clip, dotted, flow

__all__ = ["Case", "Matrix", "expand", "load_matrix", "select", "shard"]

MAX_CASES = 10_000
_LIST = (
    "a list of 3 integers",
    "a list of 2 integers",
    "a list of 3 entries",
)  # how such a type ends in words
_RESERVED = ("include", "exclude", "illegal")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One combination.

    Attributes:
        id: Stable name within the file, made of the values; safe in a shell and as a file name.
        values: What the matrix chose, by dotted path.
        loaded: The config, with places in the matrix file.
        illegal: What it is if it breaks a rule, where its file says so and not the whole run.
    """

    id: str
    values: Mapping[str, Any]
    loaded: LoadedConfig
    illegal: Literal["fail", "skip"] | None = None

    @property
    def short(self) -> str:
        """``pingpong 128x192x64`` of ``schedule=pingpong,tile=128x192x64``; other values keep their names."""
        return re.sub(r"\b(tile|schedule|mainloop)=", "", self.id).replace(",", " ")


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """An expanded matrix file.

    Attributes:
        name: The file as the user gave it.
        cases: The combinations in their order.
        illegal: What a combination that breaks a rule is.
        notes: Oddities that are no mistakes, such as an exclusion that matches nothing.
    """

    name: str
    cases: tuple[Case, ...]
    illegal: Literal["fail", "skip"]
    notes: tuple[str, ...]


def load_matrix(path: str | Path) -> Matrix:
    """Read and expand a matrix file.

    Raises:
        ConfigError: The file is no matrix, or a combination does not fit the schema of a config.
    """
    return expand(parse(read_text(path), str(path)))


def expand(document: Document) -> Matrix:
    """All cases of a matrix document.

    Raises:
        ConfigError: As for :func:`load_matrix`.
    """
    return _Expansion(document).matrix()


def shard(cases: Sequence[Case], index: int, count: int) -> list[Case]:
    """Every ``count``-th case from the ``index``-th on; ``index`` counts from 1.

    Raises:
        ConfigError: ``index`` is not within 1 to ``count``.
    """
    if not 1 <= index <= count:
        raise ConfigError(f"shard: must be i/n with 1 <= i <= n (got {index}/{count}); write for example 1/4")
    return list(cases[index - 1 :: count])


def select(cases: Sequence[Case], patterns: Sequence[str]) -> list[Case]:
    """The cases whose id equals or matches (``*``, ``?``) one of ``patterns``; all when there is none.

    Raises:
        ConfigError: A pattern matches no case.
    """
    for pattern in patterns:
        if not any(case.id == pattern or fnmatchcase(case.id, pattern) for case in cases):
            hint = suggest(pattern, [case.id for case in cases]) or "list the ids with --github"
            raise ConfigError(f"only: must match a case (got {clip(pattern)}); {hint}")
    if not patterns:
        return list(cases)
    return [c for c in cases if any(c.id == p or fnmatchcase(c.id, p) for p in patterns)]


class _Expansion:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.notes: list[str] = []
        self.faults: dict[tuple[str, str, str], LocatedViolation] = {}
        self.labels: dict[Fields, str] = {}

    def matrix(self) -> Matrix:
        data = self.document.data
        if not isinstance(data, dict) or not isinstance(data.get("matrix"), dict):
            self._refuse(("matrix",), "nothing", "must hold lists", "add 'matrix: {stages: [3, 4]}'")
        block = data["matrix"]
        axes = self._axes(block)
        excludes = self._entries("exclude", block, axes)
        includes = self._entries("include", block, axes)
        illegal = block.get("illegal", "fail")
        if illegal not in ("fail", "skip"):
            self._refuse(
                ("matrix", "illegal"), clip(flow(illegal)), "must be fail or skip", "leave it out to fail"
            )
        total = math.prod(len(values) for values in axes.values())
        if total > MAX_CASES:
            self._refuse(
                ("matrix",),
                f"{total} combinations",
                f"must have at most {MAX_CASES}",
                "shorten a list or split the file",
            )
        combinations = self._combine(axes, excludes, includes)
        self._raise_faults()
        cases = self._cases(combinations)
        self._raise_faults()
        return Matrix(name=self.document.name, cases=cases, illegal=illegal, notes=tuple(self.notes))

    def _axes(self, block: Mapping[str, Any]) -> dict[Fields, list[Value]]:
        axes: dict[Fields, list[Value]] = {}
        for key, values in block.items():
            path: PathKey = ("matrix", key)
            if key in _RESERVED:
                continue
            fields = self._fields(key, path)
            if not isinstance(values, tuple) or not values:
                self._fault(
                    path, clip(flow(values)), "must be a list with a value", f"write [{flow(values)}]"
                )
                continue
            kind = describe(annotation_at(tuple(fields[0].split(".")))) if len(fields) == 1 else ""
            if kind.endswith(_LIST) and all(isinstance(v, int) for v in values):
                self._fault(path, clip(flow(values)), f"each value must be {kind}", f"write [{flow(values)}]")
                continue
            for field in fields:
                for other in itertools.chain.from_iterable(axes):
                    if overlap(field, other):
                        self._fault(path, field, f"must not overlap with {other}", "merge the two lists")
            seen: list[str] = [canonical(v) for v in values]
            for index, text in enumerate(seen):
                if text in seen[:index]:
                    self._fault(
                        (*path, index), clip(text), "must be in the list once", "remove one of the two"
                    )
            axes[fields] = [Value(data=v, source=(*path, i)) for i, v in enumerate(values)]
            self.labels[fields] = label(fields)
        return axes

    def _entries(
        self, kind: str, block: Mapping[str, Any], axes: Mapping[Fields, Any]
    ) -> list[tuple[PathKey, Combination]]:
        """Entries of ``include`` or ``exclude``."""
        at: PathKey = ("matrix", kind) if kind in block else (kind,)
        listed = block.get(kind, self.document.data.get(kind, ()))
        if kind in block and kind in self.document.data:
            self._fault((kind,), kind, "must be given once", f"keep the one under 'matrix: {kind}:'")
        if listed is None:
            return []
        if not isinstance(listed, tuple):
            self._fault(at, clip(flow(listed)), "must be a list of mappings", "write '- {stages: 3}'")
            return []
        known = set(itertools.chain.from_iterable(axes))
        entries = []
        for index, entry in enumerate(listed):
            if not isinstance(entry, dict) or not entry:
                self._fault((*at, index), clip(flow(entry)), "must be a mapping", "write '- {stages: 3}'")
                continue
            wanted: Combination = {}
            for key, data in entry.items():
                path = (*at, index, key)
                fields = self._fields(key, path)
                wanted[fields] = Value(data=data, source=path)
                for field in fields:
                    clash = next((k for k in known if k != field and overlap(k, field)), None)
                    if clash is not None:
                        self._fault(path, field, f"must not overlap with {clash}", f"write {clash} instead")
                    elif kind == "exclude" and field not in known:
                        fix = suggest(field, known) or f"use one of {', '.join(sorted(known)) or 'none'}"
                        self._fault(path, field, "must be a key of the matrix", fix)
            entries.append(((*at, index), wanted))
        return entries

    def _fields(self, key: str, path: PathKey) -> Fields:
        fields = tuple(part.strip() for part in key.split(","))
        for field in fields:
            parts = tuple(field.split("."))
            for length in range(1, len(parts) + 1):
                if annotation_at(parts[:length]) is None:
                    need, got, fix = unknown_field(parts[:length])
                    if length == 1 and parts[0] == "":
                        got, fix = '""', "name a field"
                    self._fault(path, got, need, fix, at_key=True)
                    break
        return fields

    def _combine(
        self,
        axes: Mapping[Fields, list[Value]],
        excludes: Sequence[tuple[PathKey, Combination]],
        includes: Sequence[tuple[PathKey, Combination]],
    ) -> list[Combination]:
        products = itertools.product(*axes.values()) if axes else iter(())
        originals = [dict(zip(axes, values, strict=True)) for values in products]
        for path, entry in excludes:
            kept = [c for c in originals if not agrees(entry, c, partial=False)]
            if len(kept) == len(originals):
                where = self.document.where(self.document.at_key(path))
                self.notes.append(f"{where}: this exclusion matches no combination")
            originals = kept
        extended: list[Combination] = [dict(c) for c in originals]
        added: list[Combination] = []
        for _, entry in includes:
            matches = [i for i, c in enumerate(originals) if agrees(entry, c, partial=True)]
            for i in matches:
                known = set(itertools.chain.from_iterable(originals[i]))
                fresh = {tuple(f for f in fields if f not in known): v for fields, v in entry.items()}
                extended[i].update({fields: v for fields, v in fresh.items() if fields})
            if not matches:
                added.append(dict(entry))
        if not extended and not added and not self.faults:
            self._fault(("matrix",), "none", "must leave a case", "add a list, or exclude less")
        return extended + added

    def _cases(self, combinations: Sequence[Combination]) -> tuple[Case, ...]:
        cases: dict[str, Case] = {}
        seen: set[str] = set()
        for combination in combinations:
            values = single(combination)
            text = canonical({f: v.data for f, v in values.items()})
            if text in seen:
                self.notes.append(f"{self._id(combination)}: given twice, built once")
                continue
            seen.add(text)
            name = self._id(combination)
            if name in cases:
                name += "~" + hashlib.sha256(text.encode()).hexdigest()[:8]
            loaded = self._load(values)
            if loaded is not None:
                plain = {f: v.data for f, v in values.items()}
                cases[name] = Case(id=name, values=plain, loaded=loaded)
        return tuple(cases.values())

    def _id(self, combination: Combination) -> str:
        return ",".join(f"{self.labels.get(fs) or label(fs)}={slug(v.data)}" for fs, v in combination.items())

    def _load(self, values: Mapping[str, Value]) -> LoadedConfig | None:
        drop = ("matrix", "include", "exclude")
        data = {k: copy.copy(v) for k, v in self.document.data.items() if k not in drop}
        moves: dict[PathKey, PathKey] = {}
        for field, value in sorted(values.items(), key=lambda item: item[0].count(".")):
            parts = tuple(field.split("."))
            if not place(data, parts, value.data):
                self._fault(parts[:-1], "a single value", "must be a mapping", f"the matrix sets {field}")
                return None
            moves[parts] = value.source
        try:
            return validate(self.document.regrafted(data, moves))
        except ConfigError as exc:
            for violation in exc.violations:
                if isinstance(violation, LocatedViolation):
                    self.faults.setdefault((violation.position, violation.field, violation.need), violation)
            return None

    def _violation(
        self, path: PathKey, got: str, need: str, fix: str, *, at_key: bool = False
    ) -> LocatedViolation:
        mark = self.document.at_key(path) if at_key else self.document.at_value(path)
        where = self.document.where(mark)
        return LocatedViolation(
            rule="matrix", field=dotted(path), got=got, need=need, fix=fix, position=where
        )

    def _fault(self, path: PathKey, got: str, need: str, fix: str, *, at_key: bool = False) -> None:
        found = self._violation(path, got, need, fix, at_key=at_key)
        self.faults.setdefault((found.position, found.field, found.need), found)

    def _refuse(self, path: PathKey, got: str, need: str, fix: str) -> NoReturn:
        raise ConfigError(f"{self.document.name} is no matrix file", [self._violation(path, got, need, fix)])

    def _raise_faults(self) -> None:
        if self.faults:
            found = list(self.faults.values())
            count = f"{len(found)} mistake{'s' if len(found) > 1 else ''}"
            raise ConfigError(f"{self.document.name} has {count}", found)
