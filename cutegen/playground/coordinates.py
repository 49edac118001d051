"""Coordinates and offsets: ``cute/stride.hpp`` and ``cute/underscore.hpp``."""

from __future__ import annotations

from cutegen.playground.integers import ONE, ZERO, Refusal, add, div, is_constant, mod, mul
from cutegen.playground.layouts import Layout
from cutegen.playground.tuples import (
    Tree,
    Underscore,
    flatten_to_tuple,
    product,
    product_like,
    rank,
    repeat,
    transform,
)

__all__ = ["crd2crd", "crd2idx", "dice", "flat_coord", "hier_coord", "idx2crd", "slice_tree", "to_index"]


def _ranks(coord: Tree, shape: Tree) -> None:
    if not isinstance(shape, tuple) or len(coord) != len(shape):
        raise Refusal(f"the coordinate must have rank {rank(shape)} (got {len(coord)})")


def crd2idx(coord: Tree, shape: Tree, stride: Tree) -> int:
    """The offset of a coordinate; an integer runs through the modes colexicographically."""
    if isinstance(coord, tuple):
        _ranks(coord, shape)
        parts = transform(crd2idx, coord, shape, stride)
        total: int = parts[0] if parts else ZERO
        for part in parts[1:]:
            total = add(total, part)
        return total
    number: int = ZERO if isinstance(coord, Underscore) else coord
    if not isinstance(number, int):
        raise Refusal(f"a coordinate must be made of integers and _ (got {coord})")
    if not isinstance(shape, tuple):
        return mul(number, stride)
    if not shape:
        raise Refusal(f"a coordinate {number} needs a shape with modes (got none)")
    if len(shape) == 1:
        return crd2idx(number, shape[0], stride[0])
    if is_constant(number, 0):
        return ZERO
    extent = product(shape[0])
    first = crd2idx(mod(number, extent), shape[0], stride[0])
    return add(first, crd2idx(div(number, extent), shape[1:], stride[1:]))


def _integer(coord: Tree) -> int:
    if not isinstance(coord, int):
        raise Refusal(f"a coordinate must be made of integers (got {coord})")
    return coord


def to_index(coord: Tree, shape: Tree) -> int:
    """The linear index of a coordinate."""
    if not isinstance(coord, tuple):
        return _integer(coord)
    _ranks(coord, shape)
    if not coord:
        raise Refusal("the coordinate must have modes (got none)")
    coords, extents = flatten_to_tuple(coord), flatten_to_tuple(product_like(shape, coord))
    result: int = coords[-1]
    for c, s in list(zip(coords, extents, strict=True))[-2::-1]:
        result = add(c, mul(s, result))
    return result


def idx2crd(index: Tree, shape: Tree) -> Tree:
    """The coordinate of a linear index; the last mode goes on for ever."""
    if isinstance(index, tuple):
        _ranks(index, shape)
        return transform(idx2crd, index, shape)
    if not isinstance(shape, tuple):
        return index
    if not shape:
        raise Refusal(f"a coordinate {index} needs a shape with modes (got none)")
    if is_constant(index, 0):
        return tuple(idx2crd(ZERO, mode) for mode in shape)
    result: list[Tree] = []
    for mode in shape[:-1]:
        extent = product(mode)
        result.append(idx2crd(mod(index, extent), mode))
        index = div(index, extent)
    return (*result, idx2crd(index, shape[-1]))


def hier_coord(index: Tree, shape: Tree, stride: Tree) -> Tree:
    """The coordinate whose offset is ``index``, for a compact layout."""
    if isinstance(index, tuple):
        _ranks(index, shape)
        return transform(hier_coord, index, shape, stride)
    if isinstance(shape, tuple):
        return transform(lambda s, d: hier_coord(index, s, d), shape, stride)
    return ZERO if is_constant(shape, 1) else mod(div(index, stride), shape)


def crd2crd(coord: Tree, source: Tree, target: Tree) -> Tree:
    """A coordinate of one shape as a coordinate of another."""
    if all(isinstance(t, tuple) for t in (coord, source, target)):
        return transform(crd2crd, coord, source, target)
    return idx2crd(to_index(coord, source), target)


def flat_coord(layout: Layout, index: int) -> Tree:
    """The coordinate whose offset is ``index``, one integer for each mode."""
    coord = hier_coord(index, layout.shape, layout.stride)
    return crd2crd(coord, layout.shape, repeat(layout.rank, ONE))


def _lift(coord: Tree, t: Tree, keep: bool) -> tuple[Tree, ...]:
    if isinstance(coord, tuple):
        _ranks(coord, t)
        return tuple(x for c, mode in zip(coord, t, strict=True) for x in _lift(c, mode, keep))
    return (t,) if isinstance(coord, Underscore) is keep else ()


def slice_tree(coord: Tree, t: Tree) -> Tree:
    """What an underscore is paired with."""
    if isinstance(coord, tuple):
        return _lift(coord, t, True)
    return t if isinstance(coord, Underscore) else ()


def dice(coord: Tree, t: Tree) -> Tree:
    """What no underscore is paired with."""
    if isinstance(coord, tuple):
        return _lift(coord, t, False)
    return () if isinstance(coord, Underscore) else t
