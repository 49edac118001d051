"""Arrays for kernels by element type: what their elements mean, and how they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast, get_args

from cutegen.dtypes import ALIASES, DTYPES, DTypeName
from cutegen.errors import ArgumentError
from cutegen.numerics import decode, encode, storage

__all__ = ["ELEMENTS", "Comparison", "compare", "element_name", "is_float", "meaning", "stored", "stored_as"]

_INTEGERS = {
    "s16": "int16",
    "u16": "uint16",
    "u32": "uint32",
    "s64": "int64",
    "u64": "uint64",
    "bool": "bool",
}
_OTHER_NAMES = {
    "i16": "s16",
    "int16": "s16",
    "uint16": "u16",
    "uint32": "u32",
    "i64": "s64",
    "int64": "s64",
    "uint64": "u64",
    "int": "s32",
    "half_t": "f16",
    "bfloat16_t": "bf16",
    "tfloat32_t": "tf32",
    "int8_t": "s8",
    "uint8_t": "u8",
    "int32_t": "s32",
    "uint32_t": "u32",
    "int64_t": "s64",
    "uint64_t": "u64",
    "float_e4m3_t": "e4m3",
    "float_e5m2_t": "e5m2",
}

#: Names of element types: cutegen's, and integers of other widths.
ELEMENTS: tuple[str, ...] = (*get_args(DTypeName), *_INTEGERS)


def element_name(name: str) -> str:
    """The one name of an element type.

    Raises:
        ArgumentError: There is no such type.
    """
    found = ALIASES.get(name) or _OTHER_NAMES.get(name) or name
    if found not in ELEMENTS:
        raise ArgumentError(f"must be one of {', '.join(ELEMENTS)} (got {name!r})")
    return found


def is_float(name: str) -> bool:
    """Whether an element type has fractions."""
    return name not in _INTEGERS and DTYPES[cast("DTypeName", name)].kind == "float"


def stored_as(name: str) -> Any:
    """The numpy dtype that holds an element type; bf16 and fp8 are held as their bits."""
    import numpy as np

    return np.dtype(_INTEGERS[name]) if name in _INTEGERS else storage(cast("DTypeName", name))


def meaning(name: str, array: Any) -> Any:
    """What stored elements are as numbers: float64, or integers as they are."""
    import numpy as np

    if np.dtype(stored_as(name)).kind in "iub" and name not in ("bf16", "e4m3", "e5m2"):
        return array.astype(np.int64) if array.dtype.itemsize < 8 else array
    return decode(cast("DTypeName", name), array)


def stored(name: str, values: Any) -> Any:
    """Numbers as stored elements, rounded and saturated as kernels do.

    Raises:
        ArgumentError: An integer does not fit into the type, or a NaN goes into an integer type.
    """
    import numpy as np

    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise ArgumentError(f"must be real numbers (got {values.dtype})")
    if name in _INTEGERS:
        kind = np.dtype(_INTEGERS[name])
        if kind.kind == "b":
            return values != 0
        info = np.iinfo(kind)
        if values.dtype.kind == "f":
            values = np.rint(values)
        if values.size and not (np.all(values >= info.min) and np.all(values <= info.max)):
            raise ArgumentError(f"must be from {info.min} to {info.max} to be {name}")
        return values.astype(kind)
    return encode(cast("DTypeName", name), values.astype(np.float64))


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """An output against what it must be.

    Attributes:
        name: The output's.
        total: Elements that were compared.
        wrong: Elements that differ by more than is allowed.
        worst: The largest absolute difference.
        index: Of the first wrong element; empty when none is.
        got: Its value.
        want: What it must be.
    """

    name: str
    total: int
    wrong: int
    worst: float
    index: tuple[int, ...] = ()
    got: float = 0.0
    want: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether all elements are right."""
        return self.wrong == 0

    def __str__(self) -> str:
        if self.ok:
            return f"{self.name}: {self.total} elements right, largest difference {self.worst:g}"
        place = ", ".join(map(str, self.index))
        return (
            f"{self.name}: {self.wrong} of {self.total} elements wrong, first [{place}]: "
            f"got {self.got:.9g}, must be {self.want:.9g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The comparison as a JSON-ready dictionary."""
        return {
            "name": self.name,
            "ok": self.ok,
            "total": self.total,
            "wrong": self.wrong,
            "worst": _json_number(self.worst),
            "index": list(self.index),
            "got": _json_number(self.got),
            "want": _json_number(self.want),
        }


def _json_number(value: float) -> float | str:
    return value if value - value == 0 else str(value)  # JSON has no NaN and no infinity


def compare(
    name: str, element: str, got: Any, want: Any, *, rtol: float = 0.0, atol: float = 0.0
) -> Comparison:
    """Compare stored elements with numbers.

    Args:
        name: For messages.
        element: The type of ``got``; ``want`` is rounded to it first.
        got: What a kernel stored.
        want: What it must be; broadcast to the shape of ``got``. NaN only equals NaN.
        rtol: Allowed difference, relative to what must be.
        atol: Allowed difference.

    Raises:
        ArgumentError: The shapes do not fit.
    """
    import numpy as np

    want = np.asarray(want)
    try:
        want = np.broadcast_to(want, got.shape)
    except ValueError:
        raise ArgumentError(
            f"{name}: what it is compared with must have the shape {got.shape} (got {want.shape})"
        ) from None
    right = meaning(element, stored(element, want)) if is_float(element) or want.dtype.kind == "f" else want
    values = meaning(element, got)
    with np.errstate(all="ignore"):
        same = (values == right) | ((values != values) & (right != right))
        difference = np.where(same, 0.0, np.abs(values.astype(np.float64) - right.astype(np.float64)))
        limit = atol + rtol * np.abs(right.astype(np.float64))
        bad = ~same & ~(difference <= limit)
    count = int(np.count_nonzero(bad))
    worst = float(np.max(difference)) if difference.size else 0.0
    if not count:
        return Comparison(name=name, total=int(got.size), wrong=0, worst=worst)
    index = tuple(int(i) for i in np.argwhere(bad)[0]) if got.ndim else ()
    return Comparison(
        name=name,
        total=int(got.size),
        wrong=count,
        worst=worst,
        index=index,
        got=float(values[index]),
        want=float(right[index]),
    )
