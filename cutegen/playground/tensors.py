"""Tensors: partitions of a layout, with the offset at which each begins."""

from __future__ import annotations

from typing import Any

from cutegen.playground.coordinates import dice, flat_coord
from cutegen.playground.divide import zipped_divide
from cutegen.playground.integers import Refusal
from cutegen.playground.layouts import Composed, Layout, Tensor, layout_of, shape_of, text
from cutegen.playground.swizzled import offset_of, slice_and_offset
from cutegen.playground.tuples import ANY, Tree, append_to, get, has_underscore, product_each, rank, repeat

__all__ = ["as_tensor", "call", "inner_partition", "local_partition", "local_tile", "outer_partition"]


def as_tensor(value: Any) -> Tensor:
    """A tensor; a layout is one that begins at offset 0."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (Layout, Composed)):
        return Tensor(0, value)
    raise Refusal(f"a layout or a tensor is needed here (got {text(value)})")


def call(value: Any, coord: Tree) -> Any:
    """The offset of a coordinate; with underscores in it, what it leaves."""
    if isinstance(value, Tensor):
        if not has_underscore(coord):
            return int(value.offset + offset_of(value.layout, coord))
        layout, offset = slice_and_offset(value.layout, coord)
        return Tensor(int(value.offset + offset), layout)
    return slice_and_offset(value, coord)[0] if has_underscore(coord) else offset_of(value, coord)


def _tiled(value: Any, tiler: Any) -> Tensor:
    tensor = as_tensor(value)
    return Tensor(tensor.offset, zipped_divide(tensor.layout, tiler))


def _ranks(tensor: Tensor) -> tuple[int, int]:
    shape = shape_of(tensor)
    return rank(get(shape, 0)), rank(get(shape, 1))


def inner_partition(value: Any, tiler: Any, coord: Tree) -> Any:
    """One tile."""
    tensor = _tiled(value, tiler)
    first, second = _ranks(tensor)
    rest = append_to(second, coord, ANY) if isinstance(coord, tuple) else coord
    return call(tensor, (repeat(first, ANY), rest))


def outer_partition(value: Any, tiler: Any, coord: Tree) -> Any:
    """What lies at one place of every tile."""
    tensor = _tiled(value, tiler)
    first, second = _ranks(tensor)
    place = append_to(first, coord, ANY) if isinstance(coord, tuple) else coord
    return call(tensor, (place, repeat(second, ANY)))


def local_tile(value: Any, tiler: Any, coord: Tree, projection: Tree = None) -> Any:
    """The tile at ``coord``; a projection leaves modes of tiler and coordinate out."""
    if projection is not None:
        tiler, coord = dice(projection, tiler), dice(projection, coord)
    return inner_partition(value, tiler, coord)


def local_partition(value: Any, threads: Any, index: Any, projection: Tree = None) -> Any:
    """The elements of one thread when ``threads`` is laid over the tensor again and again."""
    threads = layout_of(threads)
    if not isinstance(threads, Layout):
        raise Refusal(f"the threads must be a layout (got {text(threads)})")
    if not isinstance(index, int):
        raise Refusal(f"the thread must be an integer (got {text(index)})")
    if projection is not None:
        threads = Layout(dice(projection, threads.shape), dice(projection, threads.stride))
    return outer_partition(value, product_each(threads.shape), flat_coord(threads, index))
