"""Division and product of layouts by layouts and tilers."""

from __future__ import annotations

from typing import Any

from cutegen.playground.algebra import append_layout, coalesce, composition, concatenate, get_layout, remark
from cutegen.playground.algebra import transform_layout as by_mode
from cutegen.playground.compact import make_layout, make_ordered_layout
from cutegen.playground.complement import complement, cosize
from cutegen.playground.coordinates import slice_tree
from cutegen.playground.integers import Refusal, mul
from cutegen.playground.layouts import Composed, Layout, shape_of, text
from cutegen.playground.tuples import (
    ANY,
    Tree,
    Underscore,
    ceil_div,
    get,
    is_static,
    product,
    product_each,
    rank,
    repeat,
    zip2_by,
    zip_modes,
)

__all__ = [
    "blocked_product",
    "flat_divide",
    "flat_product",
    "logical_divide",
    "logical_product",
    "raked_product",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "tiler_layout",
    "zip_layout",
    "zipped_divide",
    "zipped_product",
]


def tiler_layout(tiler: Any) -> Layout:
    """An extent as a layout; a layout stays."""
    if isinstance(tiler, Layout):
        return tiler
    if isinstance(tiler, int):
        return make_layout(tiler)
    raise Refusal(f"a tiler must be made of layouts, integers and _ (got {text(tiler)})")


def logical_divide(layout: Any, tiler: Any) -> Any:
    """(tile, rest); a tiler that is a tuple divides mode by mode."""
    if isinstance(layout, Composed):
        return Composed(layout.outer, layout.offset, logical_divide(layout.inner, tiler))
    if isinstance(tiler, tuple):
        return by_mode(logical_divide, layout, tiler, rest=True)
    if isinstance(tiler, Underscore):
        return layout
    tile = tiler_layout(tiler)
    return composition(layout, concatenate(tile, complement(tile, coalesce(layout).shape)))


def _unzip(layout: Layout, tiler: Any) -> Layout:
    return Layout(zip2_by(layout.shape, tiler), zip2_by(layout.stride, tiler))


def _slice(layout: Layout, coord: Tree) -> Layout:
    return Layout(slice_tree(coord, layout.shape), slice_tree(coord, layout.stride))


def _unpack(zipped: Layout, *, both: bool) -> Layout:
    first = repeat(rank(get(zipped.shape, 0)), ANY) if both else ANY
    return _slice(zipped, (first, repeat(rank(get(zipped.shape, 1)), ANY)))


def zipped_divide(layout: Any, tiler: Any) -> Any:
    """((tile modes), (rest modes))."""
    if isinstance(layout, Composed):
        return Composed(layout.outer, layout.offset, zipped_divide(layout.inner, tiler))
    return _unzip(logical_divide(layout, tiler), tiler)


def tiled_divide(layout: Any, tiler: Any) -> Any:
    """((tile modes), rest modes...)."""
    if isinstance(layout, Composed):
        return Composed(layout.outer, layout.offset, tiled_divide(layout.inner, tiler))
    return _unpack(zipped_divide(layout, tiler), both=False)


def flat_divide(layout: Any, tiler: Any) -> Any:
    """(tile modes..., rest modes...)."""
    if isinstance(layout, Composed):
        return Composed(layout.outer, layout.offset, flat_divide(layout.inner, tiler))
    return _unpack(zipped_divide(layout, tiler), both=True)


def logical_product(block: Any, tiler: Any) -> Any:
    """(block, repetitions); a tiler that is a tuple repeats mode by mode."""
    if isinstance(block, Composed):
        return Composed(block.outer, block.offset, logical_product(block.inner, tiler))
    if isinstance(tiler, tuple):
        return by_mode(logical_product, block, tiler, rest=True)
    if isinstance(tiler, Underscore):
        return block
    tile = tiler_layout(tiler)
    free = complement(block, mul(product(block.shape), cosize(tile)))
    return concatenate(block, composition(free, tile))


def zipped_product(block: Any, tiler: Any) -> Any:
    """((block modes), (modes of repetitions))."""
    if isinstance(block, Composed):
        return Composed(block.outer, block.offset, zipped_product(block.inner, tiler))
    return _unzip(logical_product(block, tiler), tiler)


def tiled_product(block: Any, tiler: Any) -> Any:
    """((block modes), modes of repetitions...)."""
    if isinstance(block, Composed):
        return Composed(block.outer, block.offset, tiled_product(block.inner, tiler))
    return _unpack(zipped_product(block, tiler), both=False)


def flat_product(block: Any, tiler: Any) -> Any:
    """(block modes..., modes of repetitions...)."""
    if isinstance(block, Composed):
        return Composed(block.outer, block.offset, flat_product(block.inner, tiler))
    return _unpack(zipped_product(block, tiler), both=True)


def zip_layout(a: Layout, b: Layout) -> Layout:
    """((a0,b0),(a1,b1),...)."""
    return Layout(zip_modes((a.shape, b.shape)), zip_modes((a.stride, b.stride)))


def _interleave(block: Any, tiler: Layout, *, raked: bool) -> Any:
    if isinstance(block, Composed):
        return Composed(block.outer, block.offset, _interleave(block.inner, tiler, raked=raked))
    modes = max(block.rank, tiler.rank)
    both = logical_product(append_layout(modes, block), append_layout(modes, tiler))
    first, second = get_layout(both, 0), get_layout(both, 1)
    return zip_layout(second, first) if raked else zip_layout(first, second)


def blocked_product(block: Any, tiler: Layout) -> Any:
    """Each element of ``tiler`` becomes a block, mode by mode."""
    return _interleave(block, tiler, raked=False)


def raked_product(block: Any, tiler: Layout) -> Any:
    """As ``blocked_product``, with the blocks interleaved."""
    return _interleave(block, tiler, raked=True)


def tile_to_shape(block: Any, target: Tree, order: Tree) -> Any:
    """Repeat a block until the result has the shape ``target``."""
    if isinstance(block, Composed):
        return Composed(block.outer, block.offset, tile_to_shape(block.inner, target, order))
    target = shape_of(target)
    if block.rank > rank(target):
        raise Refusal(
            f"the shape must have at least as many modes as the layout, {block.rank} (got {text(target)})"
        )
    padded = append_layout(rank(target), block)
    own, wanted = product_each(padded.shape), product_each(target)
    for i, (b, t) in enumerate(zip(own, wanted, strict=True)):
        if is_static(wanted) and not is_static(own):
            raise Refusal(
                f"a layout whose shape is not static must have a target shape that is not static either"
                f" (got {text(own)} and {text(wanted)})",
                "write both with static integers, as _8, or use --static",
            )
        if int(t) % int(b):
            need = (
                f"the extent of the shape must be a multiple of that of the layout, {text(b)} (got {text(t)})"
            )
            if is_static(wanted):
                raise Refusal(need, f"use {-(-int(t) // int(b)) * int(b)}").within(i)
            remark(f"mode {i}: {need}; CuTe does not check integers that are not static")
    return blocked_product(padded, make_ordered_layout(ceil_div(wanted, own), order))
