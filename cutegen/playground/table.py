"""A layout as a table of offsets, as CuTe's ``print_layout`` draws it."""

from __future__ import annotations

from typing import Any

from cutegen.playground.integers import Refusal
from cutegen.playground.layouts import Composed, Layout, Tensor, layout_of, shape_of, text
from cutegen.playground.swizzled import offset_of
from cutegen.playground.tuples import flatten_to_tuple, get, product, rank

__all__ = ["MOST_CELLS", "can_be_drawn", "extents", "grid", "has_offsets", "offsets", "print_layout", "reach"]

#: More cells than anyone reads.
MOST_CELLS = 1 << 16
_RULE = "+-----------------------"


def extents(layout: Any) -> tuple[int, int]:
    """Rows and columns; a layout of one mode is one row."""
    shape = shape_of(layout)
    if rank(shape) == 1:
        return 1, int(product(shape))
    return int(product(get(shape, 0))), int(product(get(shape, 1)))


def reach(layout: Any) -> int:
    """One more than the largest offset, before a swizzle."""
    inner = layout.inner if isinstance(layout, Composed) else layout
    leaves = zip(flatten_to_tuple(inner.shape), flatten_to_tuple(inner.stride), strict=True)
    return 1 + sum((int(s) - 1) * abs(int(d)) for s, d in leaves)


def has_offsets(value: Any) -> bool:
    """Whether ``value`` is a layout, none of its modes is empty, and its offsets fit into 32 bits."""
    layout = layout_of(value)
    inner = layout.inner if isinstance(layout, Composed) else layout
    return isinstance(inner, Layout) and _is_full(inner.shape) and reach(inner) < 1 << 31


def _is_full(shape: Any) -> bool:
    return bool(shape) and all(map(_is_full, shape)) if isinstance(shape, tuple) else True


def can_be_drawn(value: Any) -> bool:
    """Whether ``value`` is a layout of one or two modes."""
    return has_offsets(value) and rank(shape_of(value)) <= 2


def offsets(value: Any) -> list[int]:
    """The offset of every linear index."""
    first = value.offset if isinstance(value, Tensor) else 0
    layout = layout_of(value)
    return [int(first + offset_of(layout, i)) for i in range(int(product(shape_of(layout))))]


def grid(value: Any) -> list[list[int]]:
    """The offsets in rows."""
    rows, columns = extents(value)
    flat = offsets(value)
    return [[flat[m + rows * n] for n in range(columns)] for m in range(rows)]


def print_layout(value: Any) -> str:
    """The layout and its table; that of a tensor has its offset in it."""
    layout, first = layout_of(value), value.offset if isinstance(value, Tensor) else 0
    if not can_be_drawn(layout):
        raise Refusal(
            f"a table needs a layout of one or two modes (got {text(layout)})", "group<0,2>(...) joins modes"
        )
    width = len(str(reach(layout) + first)) + 2
    rows, columns = extents(layout)
    if rows * columns > MOST_CELLS:
        raise Refusal(f"a table must have at most {MOST_CELLS} cells (got {rows} by {columns})")
    rule = "    " + _RULE[: width + 1] * columns + "+\n"
    result = text(layout) + "\n    " + "".join(f"  {n:>{width - 2}} " for n in range(columns)) + "\n"
    for m, row in enumerate(grid(value)):
        cells = "".join(f"| {offset:>{width - 2}} " for offset in row)
        result += f"{rule}{m:>2}  {cells}|\n"
    return result + rule
