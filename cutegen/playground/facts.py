"""What is known of a value, JSON-ready."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutegen.layout.swizzle import Swizzle
from cutegen.playground.copies import CopyAtom, TiledCopy
from cutegen.playground.integers import Refusal
from cutegen.playground.layouts import Composed, Layout, Pointer, Tensor, layout_of, shape_of, text
from cutegen.playground.products import MmaOperation, TiledMma
from cutegen.playground.table import MOST_CELLS, grid, has_offsets, offsets, reach
from cutegen.playground.tuples import product, rank

__all__ = ["facts"]

_KINDS: tuple[tuple[type, str], ...] = (
    (Pointer, "pointer"),
    (int, "integer"),
    (tuple, "tuple"),
    (Layout, "layout"),
    (Composed, "composed"),
    (Tensor, "tensor"),
    (Swizzle, "swizzle"),
    (TiledCopy, "tiled_copy"),
    (CopyAtom, "copy_atom"),
    (TiledMma, "tiled_mma"),
    (MmaOperation, "mma_atom"),
)


def _counted(count: Callable[[], int]) -> int | None:
    """A number, or None where it needs more than the 32 bits that CuTe has for it."""
    try:
        return int(count())
    except Refusal:
        return None


def facts(value: Any) -> dict[str, Any]:
    """The document of a value; what it does not have is None."""
    layout = layout_of(value)
    plain = layout.inner if isinstance(layout, Composed) else layout
    found: dict[str, Any] = {
        "text": None if value is None else text(value),
        "kind": next((name for kind, name in _KINDS if isinstance(value, kind)), "other"),
        "shape": None,
        "stride": None,
        "swizzle": None,
        "offset": None,
        "size": None,
        "cosize": None,
        "table": None,
    }
    if isinstance(layout, Composed) and isinstance(layout.outer, Swizzle):
        found["swizzle"] = [layout.outer.b, layout.outer.m, layout.outer.s]
        found["offset"] = int(layout.offset)
    if isinstance(value, (Tensor, Pointer)):
        found["offset"] = value.offset if isinstance(value, Tensor) else int(value)
    if isinstance(plain, Layout):
        found |= {"shape": plain.shape, "stride": plain.stride}
        found |= {"size": _counted(lambda: product(plain.shape)), "cosize": _counted(lambda: reach(plain))}
        if found["size"] is not None and found["size"] <= MOST_CELLS and has_offsets(value):
            found["table"] = grid(value) if rank(shape_of(value)) == 2 else offsets(value)
    return found
