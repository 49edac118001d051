"""A typed, immutable façade over pycute's layout algebra, plus fitting a layout to a table.

A layout maps a natural coordinate, or the linear index of one, to an integer offset; modes are
colexicographic (the first mode runs fastest), as in CuTe. Source: CUTLASS ``media/docs/cpp/cute``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pycute

__all__ = ["IntTuple", "Layout", "additive", "bit_union", "complement", "fit", "product"]

IntTuple = int | tuple["IntTuple", ...]


def product(shape: IntTuple) -> int:
    """The number of elements of a shape."""
    if isinstance(shape, int):
        return shape
    result = 1
    for mode in shape:
        result *= product(mode)
    return result


def _compact(shape: IntTuple, current: int = 1) -> tuple[IntTuple, int]:
    if isinstance(shape, int):
        return current, current * shape
    strides: list[IntTuple] = []
    for mode in shape:
        stride, current = _compact(mode, current)
        strides.append(stride)
    return tuple(strides), current


def _flatten(value: IntTuple) -> list[int]:
    return [value] if isinstance(value, int) else [leaf for mode in value for leaf in _flatten(mode)]


def _cxx(value: IntTuple, name: str) -> str:
    if isinstance(value, int):
        return f"_{value}" if value in _NAMED_INTS else f"Int<{value}>"
    return f"{name}<{','.join(_cxx(v, name) for v in value)}>"


#: Integers for which CuTe declares ``_N`` (``cute/numeric/integral_constant.hpp``).
_NAMED_INTS = frozenset([*range(11), 12, 16, 24, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024])


@dataclass(frozen=True)
class Layout:
    """A CuTe layout: a shape and a stride of the same nesting."""

    shape: IntTuple
    stride: IntTuple

    @staticmethod
    def make(shape: IntTuple, stride: IntTuple | None = None) -> Layout:
        """A layout; without a stride it is compact and column-major."""
        return Layout(shape, _compact(shape)[0] if stride is None else stride)

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return product(self.shape)

    @property
    def modes(self) -> list[tuple[int, int]]:
        """(extent, stride) of each mode, nested ones as well, the fastest first."""
        return list(zip(_flatten(self.shape), _flatten(self.stride), strict=True))

    @property
    def cosize(self) -> int:
        """One more than the largest offset (strides are not negative)."""
        pairs = zip(_flatten(self.shape), _flatten(self.stride), strict=True)
        return 1 + sum((s - 1) * d for s, d in pairs)

    def __call__(self, index: int) -> int:
        """The offset of one linear index; as in CuTe, the last mode goes on for ever."""
        offset, modes = 0, list(zip(_flatten(self.shape), _flatten(self.stride), strict=True))
        for extent, stride in modes[:-1]:
            offset += index % extent * stride
            index //= extent
        return offset + index * modes[-1][1]

    def table(self) -> list[int]:
        """The offset of every linear index, in order."""
        offsets = [0]
        for extent, stride in zip(_flatten(self.shape), _flatten(self.stride), strict=True):
            offsets = [base + i * stride for i in range(extent) for base in offsets]
        return offsets

    def inverse_table(self) -> list[int] | None:
        """For a bijection onto [0, size): the linear index of every offset; otherwise None."""
        forward = self.table()
        inverse = [-1] * len(forward)
        for index, offset in enumerate(forward):
            if not 0 <= offset < len(inverse) or inverse[offset] >= 0:
                return None
            inverse[offset] = index
        return inverse

    @property
    def is_compact(self) -> bool:
        """Whether the layout is a bijection onto [0, size).

        For that, sorted strides must be the running products of the extents: 1 must be a stride, the
        least offset that its mode leaves free must be the next one, and so on.
        """
        current = 1
        for stride, extent in sorted(zip(_flatten(self.stride), _flatten(self.shape), strict=True)):
            if extent == 1:
                continue
            if stride != current:
                return False
            current *= extent
        return True

    def cxx(self) -> str:
        """The C++ type, for example ``Layout<Shape<_8,Int<40>>,Stride<_1,_8>>``."""
        return f"Layout<{_cxx(self.shape, 'Shape')},{_cxx(self.stride, 'Stride')}>"

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"


def _text(value: IntTuple) -> str:
    return str(value) if isinstance(value, int) else f"({','.join(_text(v) for v in value)})"


@lru_cache(maxsize=512)
def complement(layout: Layout, cotarget: int) -> Layout:
    """The layout of the offsets below ``cotarget`` that ``layout`` leaves free (pycute)."""
    result: Any = pycute.complement(pycute.Layout(layout.shape, layout.stride), cotarget)
    return Layout(result.shape, result.stride)


def fit(table: Sequence[int]) -> Layout | None:
    """The shortest layout whose table is ``table``, or None when no flat layout gives it.

    ``table[0]`` must be 0. Modes are found greedily from the fastest on; a stride-0 mode is a mode.
    """
    count = len(table)
    if count == 0 or table[0] != 0:
        return None
    modes: list[tuple[int, int]] = []
    block = 1
    while block < count:
        stride = table[block]
        extent = 2
        while block * extent < count and table[block * extent] == stride * extent:
            extent += 1
        while count % (block * extent):
            extent -= 1
            if extent < 2:
                return None
        modes.append((extent, stride))
        block *= extent
    layout = Layout(tuple(m[0] for m in modes), tuple(m[1] for m in modes))
    if len(modes) == 1:
        layout = Layout(modes[0][0], modes[0][1])
    elif not modes:
        layout = Layout(1, 0)
    return layout if layout.table() == list(table) else None


def bit_union(values: Iterable[int]) -> int:
    """All bits that occur in any of the values."""
    union = 0
    for value in values:
        union |= value
    return union


def additive(table: Sequence[int], left: Iterable[int], right: Iterable[int]) -> bool:
    """Whether ``table[x + y] == table[x] + table[y]`` for every x of ``left`` and y of ``right``."""
    ys = set(right)
    return all(table[x + y] == table[x] + table[y] for x in set(left) for y in ys)
