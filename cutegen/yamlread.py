"""YAML text to plain data, with the place of every key and value.

The reader follows YAML 1.2: only ``true`` and ``false`` are booleans, so ``major: n`` is the string
``n``. It builds data from parser events, so that duplicate keys, alias bombs and deep nesting are
refused with a position instead of being accepted or ending in a RecursionError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NoReturn

import yaml

from cutegen.errors import ConfigError, Violation
from cutegen.yamlwrite import clip, dotted, flow, resolve_scalar, scalar

__all__ = ["Document", "LocatedViolation", "Mark", "PathKey", "child", "has_child", "parse"]

PathKey = tuple[str | int, ...]

MAX_DEPTH = 24
MAX_NODES = 20_000
MAX_CHARS = 1 << 20

_TAG = "tag:yaml.org,2002:"
_KINDS: dict[str, type] = {"int": int, "float": float, "bool": bool, "null": type(None)}

_HINTS = (
    (r"'\t'", "indent with spaces, not with tabs"),
    ("mapping values are not allowed", "check the indentation, or quote a value that holds ': '"),
    ("expected ',' or", "close the bracket, or put a comma between the entries"),
    ("could not find expected ':'", "write 'field: value', with a space after the colon"),
    ("expected <block end>", "indent the fields of one mapping by the same number of spaces"),
    ("while scanning a quoted", "close the quote"),
    ("special characters", "remove the control character"),
    ("cannot start any token", "quote a value that starts with this character"),
)


@dataclass(frozen=True, order=True)
class Mark:
    """A place in a text, both counted from 1."""

    line: int
    column: int


@dataclass(frozen=True, kw_only=True)
class LocatedViolation(Violation):
    """A violation whose place in a file is known.

    Attributes:
        position: ``file:line:column``.
    """

    position: str

    @property
    def file(self) -> str:
        """The file, as it is called in messages."""
        return self.position.rsplit(":", 2)[0]

    @property
    def line(self) -> int:
        """The line, counted from 1."""
        return int(self.position.rsplit(":", 2)[1])

    @property
    def column(self) -> int:
        """The column, counted from 1."""
        return int(self.position.rsplit(":", 2)[2])

    def to_dict(self) -> dict[str, Any]:
        """The violation as a JSON-ready dictionary, its place both whole and in parts."""
        return {**super().to_dict(), "file": self.file, "line": self.line, "column": self.column}

    def __str__(self) -> str:
        name = f"{self.field}: " if self.field else ""
        return f"{self.position}: {name}{self.need} (got {self.got}); {self.fix} [{self.rule}]"


@dataclass(frozen=True, kw_only=True)
class Document:
    """One YAML document as plain data.

    Attributes:
        name: What to call the text in messages, usually the path as the user gave it.
        data: Mappings as ``dict`` with string keys, sequences as ``tuple``, and scalars.
        marks: The place of the key of each entry, and of each element of a sequence.
        values: The place of each value; it differs from ``marks`` for the value of a key.
    """

    name: str
    data: Any
    marks: Mapping[PathKey, Mark] = field(default_factory=dict)
    values: Mapping[PathKey, Mark] = field(default_factory=dict)

    def at_key(self, path: PathKey) -> Mark:
        """The place of the key at ``path``, or of the nearest parent that is in the text."""
        return self._nearest(self.marks, path)

    def at_value(self, path: PathKey) -> Mark:
        """The place of the value at ``path``, or of the key of the nearest parent in the text."""
        return self.values[path] if path in self.values else self.at_key(path)

    def where(self, mark: Mark) -> str:
        """``file:line:column`` of ``mark``."""
        return f"{self.name}:{mark.line}:{mark.column}"

    def regrafted(self, data: Any, moves: Mapping[PathKey, PathKey]) -> Document:
        """Other data whose places are taken from this document.

        Args:
            data: The new data.
            moves: From path in the new data to the path in this document where its value stands.
        """
        marks: dict[PathKey, Mark] = dict(self.marks)
        values: dict[PathKey, Mark] = dict(self.values)
        for target, source in moves.items():
            for table, origin in ((marks, self.marks), (values, self.values)):
                for old in [p for p in table if p[: len(target)] == target]:
                    del table[old]
                for path, mark in origin.items():
                    if path[: len(source)] == source:
                        table[target + path[len(source) :]] = mark
        return Document(name=self.name, data=data, marks=marks, values=values)

    @staticmethod
    def _nearest(table: Mapping[PathKey, Mark], path: PathKey) -> Mark:
        for length in range(len(path), -1, -1):
            if path[:length] in table:
                return table[path[:length]]
        return Mark(1, 1)


def has_child(data: Any, key: str | int) -> bool:
    """Whether plain data has an entry or element ``key``."""
    if isinstance(data, tuple):
        return isinstance(key, int) and 0 <= key < len(data)
    return isinstance(data, dict) and key in data


def child(data: Any, key: str | int) -> Any:
    """The entry or element ``key`` of plain data; None where there is none."""
    return data[key] if has_child(data, key) else None


def parse(text: str, name: str) -> Document:
    """Read one YAML document.

    Raises:
        ConfigError: The text is no single well-formed document; the message has file:line:column.
    """
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_CHARS:
        _refuse(
            name,
            Mark(1, 1),
            f"{len(text)} characters",
            f"must have at most {MAX_CHARS} characters",
            "split it",
        )
    return _Reader(text, name).document()


def _refuse(name: str, mark: Mark, got: str, need: str, fix: str, path: PathKey = ()) -> NoReturn:
    position = f"{name}:{mark.line}:{mark.column}"
    found = LocatedViolation(rule="yaml", field=dotted(path), got=got, need=need, fix=fix, position=position)
    raise ConfigError(f"{name} is no valid YAML config", [found])


class _Reader:
    """Builds a :class:`Document` from the events of PyYAML's parser."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.marks: dict[PathKey, Mark] = {}
        self.values: dict[PathKey, Mark] = {}
        self.anchors: dict[str, _Anchor] = {}
        self.nodes = 0
        self.events = self._events()

    def document(self) -> Document:
        event = next(self.events)  # StreamStart
        event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            return Document(name=self.name, data=None)
        data = self._node(next(self.events), (), 0)
        event = next(self.events)  # DocumentEnd
        event = next(self.events)
        if not isinstance(event, yaml.StreamEndEvent):
            self._fail(
                event, "a second document", "must hold one document", "put each config into a file of its own"
            )
        self.marks.setdefault((), self.values.get((), Mark(1, 1)))
        return Document(name=self.name, data=data, marks=self.marks, values=self.values)

    def _events(self) -> Iterator[Any]:
        at = None
        try:
            parser: Any = yaml.SafeLoader(self.text)
            try:
                while parser.check_event():
                    yield parser.get_event()
            except (ValueError, OverflowError, IndexError):
                # NOTE: PyYAML lets these out for escapes such as "\U00110000".
                at = parser.get_mark()
        except yaml.MarkedYAMLError as exc:
            at = exc.problem_mark or exc.context_mark
            mark = Mark(at.line + 1, at.column + 1) if at else Mark(1, 1)
            context = f" {exc.context}" if exc.context else ""
            self._syntax(mark, f"{exc.problem}{context}")
        except yaml.reader.ReaderError as exc:
            before = self.text[: exc.position]
            line = before.count("\n") + 1
            mark = Mark(line, len(before) - (before.rfind("\n") + 1) + 1)
            self._syntax(mark, f"{exc.reason} (character U+{ord(self.text[exc.position]):04X})")
        if at is not None:
            self._syntax(Mark(at.line + 1, at.column + 1), "an escape or directive that is out of range")

    def _syntax(self, mark: Mark, problem: str) -> NoReturn:
        fix = next((hint for key, hint in _HINTS if key in problem), "check the lines before this place")
        _refuse(self.name, mark, clip(problem, 160), "must be well-formed YAML", fix)

    def _fail(self, event: Any, got: str, need: str, fix: str, path: PathKey = ()) -> NoReturn:
        _refuse(self.name, _mark(event), got, need, fix, path)

    def _node(self, event: Any, path: PathKey, depth: int) -> Any:
        self._count(event)
        if depth > MAX_DEPTH:
            self._fail(event, f"more than {MAX_DEPTH} levels", "must not nest this deep", "flatten the value")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path, depth)
        anchor = _Anchor(len(self.marks), len(self.values)) if event.anchor else None
        if anchor is not None:
            self.anchors[event.anchor] = anchor
        flow_style = isinstance(event, yaml.ScalarEvent) or event.flow_style
        if flow_style or path not in self.marks:  # a block value starts where its key stands
            self.values[path] = _mark(event)
        if isinstance(event, yaml.ScalarEvent):
            data = self._scalar(event, path)
        elif isinstance(event, yaml.SequenceStartEvent):
            data = self._sequence(event, path, depth)
        else:
            data = self._mapping(event, path, depth)
        if anchor is not None:
            anchor.finish(data, path, self.marks, self.values)
        return data

    def _count(self, event: Any, number: int = 1) -> None:
        self.nodes += number
        if self.nodes > MAX_NODES:
            self._fail(
                event,
                f"more than {MAX_NODES} values",
                "must be smaller",
                "split the file, or expand fewer aliases",
            )

    def _alias(self, event: Any, path: PathKey, depth: int) -> Any:
        anchor = self.anchors.get(event.anchor)
        if anchor is None or not anchor.done:
            what = "an anchor that contains itself" if anchor else "an alias without an anchor"
            self._fail(
                event, f"*{event.anchor}, {what}", "must refer to a finished anchor", "define it first", path
            )
        self._count(event, anchor.size)
        if depth + anchor.depth > MAX_DEPTH:
            self._fail(event, f"more than {MAX_DEPTH} levels", "must not nest this deep", "flatten the value")
        for source, target in ((anchor.marks, self.marks), (anchor.values, self.values)):
            target.update({path + tail: mark for tail, mark in source.items() if tail})
        self.values[path] = _mark(event)
        return anchor.data

    def _sequence(self, event: Any, path: PathKey, depth: int) -> tuple[Any, ...]:
        self._check_tag(event, "seq", path)
        items: list[Any] = []
        while not isinstance(inner := next(self.events), yaml.SequenceEndEvent):
            place = (*path, len(items))
            self.marks[place] = _mark(inner)
            items.append(self._node(inner, place, depth + 1))
        return tuple(items)

    def _mapping(self, event: Any, path: PathKey, depth: int) -> dict[str, Any]:
        self._check_tag(event, "map", path)
        items: dict[str, Any] = {}
        merged: list[tuple[Any, PathKey]] = []
        while not isinstance(key := next(self.events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                self._fail(
                    key, "a list, mapping or alias as a key", "must be a name", "write 'name: value'", path
                )
            name = _clean(key.value)
            if name is None:
                self._fail(key, "half of a surrogate pair", "must be a name", "remove the escape", path)
            inner = (*path, name)
            if name == "<<" and key.style is None:
                inner = (*path, "<<", len(merged))
                merged.append((self._node(next(self.events), inner, depth + 1), inner))
                continue
            if name in items:
                first = self.marks[inner]
                self._fail(
                    key,
                    f"{scalar(name)} twice, first in line {first.line}",
                    "must be given once",
                    "remove one of the two",
                    inner,
                )
            self.marks[inner] = _mark(key)
            items[name] = self._node(next(self.events), inner, depth + 1)
        for value, source in merged:
            self._merge(event, items, value, source, path)
        return items

    def _merge(self, event: Any, items: dict[str, Any], value: Any, source: PathKey, path: PathKey) -> None:
        several = isinstance(value, tuple)
        for index, part in enumerate(value if several else (value,)):
            if not isinstance(part, dict):
                self._fail(event, clip(flow(part)), "'<<' must merge mappings", "write '<<: *anchor'", path)
            origin = (*source, index) if several else source
            for name, data in part.items():
                if name in items:
                    continue
                items[name] = data
                for table in (self.marks, self.values):
                    found = {p: m for p, m in table.items() if p[: len(origin) + 1] == (*origin, name)}
                    table.update({(*path, *p[len(origin) :]): m for p, m in found.items()})
                self.marks.setdefault((*path, name), _mark(event))

    def _check_tag(self, event: Any, kind: str, path: PathKey) -> None:
        if event.tag not in (None, "!", _TAG + kind):
            tag = clip(str(event.tag).replace(_TAG, "!!"))
            self._fail(event, f"the tag {scalar(tag)}", "must be a plain value", "remove the tag", path)

    def _scalar(self, event: Any, path: PathKey) -> Any:
        text = _clean(event.value)
        if text is None:
            self._fail(event, "half of a surrogate pair", "must be text", "remove the escape", path)
        plain = event.style is None and event.tag is None
        kind = (event.tag or "").removeprefix(_TAG)
        if not plain and kind not in _KINDS:
            if event.tag not in (None, "!", f"{_TAG}str"):
                self._check_tag(event, "str", path)
            return text
        value = resolve_scalar(text)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            self._fail(event, clip(text), "must fit in 64 bits", "write a smaller number", path)
        if not plain and not isinstance(value, _KINDS[kind]):
            self._fail(event, clip(scalar(text)), f"must be what !!{kind} says", "remove the tag", path)
        return value


class _Anchor:
    """What an alias repeats, with the places below it."""

    def __init__(self, marks_before: int, values_before: int) -> None:
        self.marks_before = marks_before
        self.values_before = values_before
        self.done = False
        self.data: Any = None
        self.marks: dict[PathKey, Mark] = {}
        self.values: dict[PathKey, Mark] = {}
        self.size = 1
        self.depth = 0

    def finish(
        self, data: Any, path: PathKey, marks: Mapping[PathKey, Mark], values: Mapping[PathKey, Mark]
    ) -> None:
        # Places are only ever appended while reading, so those of this node are the last ones.
        cut = len(path)
        self.data = data
        self.marks = {p[cut:]: m for p, m in islice(marks.items(), self.marks_before, None)}
        self.values = {p[cut:]: m for p, m in islice(values.items(), self.values_before, None)}
        self.size = max(1, len(self.values))
        self.depth = max((len(p) for p in self.marks), default=0)
        self.done = True


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)


def _clean(text: str) -> str | None:
    return None if any("\ud800" <= ch <= "\udfff" for ch in text) else text
