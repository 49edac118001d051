"""The problems to measure: from ``MxNxK,...`` or from a YAML file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from cutegen.errors import ConfigError
from cutegen.loader import read_text
from cutegen.yamlread import Document, LocatedViolation, PathKey, parse

__all__ = ["Shape", "parse_shapes", "read_shapes"]

_ONE = re.compile(r"(\d+)x(\d+)x(\d+)")
_LIST = re.compile(r"\d+x\d+x\d+(,\d+x\d+x\d+)*")
_MOST = 2**31 - 1


@dataclass(frozen=True, order=True)
class Shape:
    """One problem, D(M,N) = A(M,K) * B(N,K)^T."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def flop(self) -> int:
        """Floating-point operations: a multiplication and an addition for each product."""
        return 2 * self.m * self.n * self.k


def read_shapes(text: str) -> tuple[Shape, ...]:
    """The shapes that a user names: ``4096x4096x4096,64x7168x2048``, or a file for :func:`parse_shapes`.

    Raises:
        ConfigError: It is neither, or the file does not fit.
    """
    if _LIST.fullmatch(text):
        found = tuple(Shape(*map(int, match.groups())) for match in _ONE.finditer(text))
        for shape in found:
            for name in "mnk":
                extent = getattr(shape, name)
                if not 1 <= extent <= _MOST:
                    raise ConfigError(f"shapes: {name.upper()} must be from 1 to {_MOST} (got {extent})")
        return tuple(dict.fromkeys(found))
    if re.fullmatch(r"[\dxX,;*\s]+", text):
        raise ConfigError(f"shapes: must be MxNxK,... or a YAML file (got {text!r}); 4096x4096x512, say")
    return parse_shapes(parse(read_text(text), text))


def parse_shapes(document: Document) -> tuple[Shape, ...]:
    """The shapes of a document ``shapes: [{m: 64, n: 7168, k: 2048}, ...]``, each once, in its order.

    Beside ``shapes`` it may say the ``device``, and each shape may have a ``name`` and times of others, whose
    keys end in ``_us``: they are for people, and nothing is made of them.

    Raises:
        ConfigError: Naming all places that do not fit.
    """
    faults: list[LocatedViolation] = []

    def fault(path: PathKey, got: object, need: str, fix: str) -> None:
        place = document.where(document.at_value(path))
        field = ".".join(map(str, path))
        faults.append(
            LocatedViolation(rule="schema", field=field, got=str(got), need=need, fix=fix, position=place)
        )

    data = document.data
    listed = data.get("shapes") if isinstance(data, dict) else None
    if not isinstance(listed, tuple) or not listed:
        fix = "write shapes: and below it - {m: 64, n: 7168, k: 2048}"
        fault((), type(data).__name__, "must be a mapping with a list of shapes", fix)
        listed = ()
    elif extra := sorted(set(data) - {"shapes", "device"}):
        fault((extra[0],), extra[0], "must be shapes or device", "remove it")
    shapes = [_shape(entry, ("shapes", index), fault) for index, entry in enumerate(listed)]
    if faults:
        raise ConfigError(f"{document.name} is no list of shapes:", faults)
    return tuple(dict.fromkeys(shape for shape in shapes if shape is not None))


def _shape(entry: Any, path: PathKey, fault: Any) -> Shape | None:
    if not isinstance(entry, dict):
        fault(path, entry, "must be a mapping of m, n and k", "write {m: 64, n: 7168, k: 2048}")
        return None
    extents = []
    for name in "mnk":
        value = entry.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST:
            place = (*path, name) if name in entry else path
            got = "nothing" if name not in entry else value
            fault(place, got, f"{name} must be a whole number from 1 to {_MOST}", f"write {name}: 4096, say")
        else:
            extents.append(value)
    for key in entry:
        if key not in ("m", "n", "k", "name") and not str(key).endswith("_us"):
            fault((*path, key), key, "must be m, n, k, name, or end in _us", "remove it")
    return Shape(*extents) if len(extents) == 3 else None
