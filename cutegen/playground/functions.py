"""The functions of layout algebra by their C++ names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutegen.layout.swizzle import Swizzle
from cutegen.playground import algebra, complement, coordinates, copies, divide, swizzled, tensors, tuples
from cutegen.playground.compact import Major, compact_order, make_layout, make_ordered_layout
from cutegen.playground.integers import ZERO, Refusal, is_constant
from cutegen.playground.layouts import Composed, Layout, Pointer, Tensor, layout_of, shape_of, text
from cutegen.playground.registry import (
    MANY,
    Table,
    integer,
    layout_argument,
    plain_layout,
    tensor_or_layout,
)
from cutegen.playground.tuples import Tree

__all__ = ["FUNCTIONS", "checked_layout", "compose", "inner", "tree"]

FUNCTIONS = Table()

for _name in ("make_shape", "make_stride", "make_step", "make_coord", "make_tile", "make_tuple"):
    FUNCTIONS.add(_name, (1, MANY))(lambda t, a: a)


def is_tree(value: Any) -> bool:
    return all(map(is_tree, value)) if isinstance(value, tuple) else isinstance(value, int)


def tree(value: Any) -> Tree:
    """An integer or a tuple of such."""
    if not is_tree(value):
        raise Refusal(f"integers and tuples of them are needed here (got {text(value)})")
    return value


def checked_layout(shape: Any, stride: Any) -> Layout:
    """A layout whose shape and stride are nested alike."""
    shape, stride = tree(shape), tree(stride)
    if tuples.repeat_like(shape, 0) != tuples.repeat_like(stride, 0):
        raise Refusal(f"shape and stride must be nested alike (got {text(shape)} and {text(stride)})")
    return Layout(shape, stride)


@FUNCTIONS.add("make_layout", (1, MANY))
def _make_layout(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if all(isinstance(x, Layout) for x in a):
        return algebra.concatenate(*a)
    if len(a) == 1:
        return make_layout(tree(a[0]))
    if len(a) == 2:
        return make_layout(tree(a[0]), a[1]) if isinstance(a[1], Major) else checked_layout(*a)
    raise Refusal("make_layout must have a shape, a shape and a stride, or layouts")


@FUNCTIONS.add("make_ordered_layout", (2, 2))
def _ordered(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return make_ordered_layout(tree(shape_of(a[0])), a[1])


@FUNCTIONS.add("make_layout_like", (1, 1))
def _like(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    layout = plain_layout(a[0])
    shape = tuples.filter_zeros(layout.stride, layout.shape)
    return Layout(layout.shape, compact_order(shape, layout.stride))


@FUNCTIONS.add("make_fragment_like", (1, 1))
def _fragment_like(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    layout = layout_argument(a[0])
    layout = layout.inner if isinstance(layout, Composed) else layout
    if layout.rank == 1 or not tuples.is_static(layout.shape):
        return make_layout(layout.shape)
    first = make_layout(tuples.filter_zeros(layout.stride[0], layout.shape[0])).stride
    rest = make_ordered_layout(layout.shape[1:], layout.stride[1:])
    return divide.tiled_product(Layout(layout.shape[0], first), rest)


@FUNCTIONS.add("make_tensor", (1, 2))
def _make_tensor(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return Tensor(int(a[0]) if isinstance(a[0], Pointer) else 0, layout_argument(a[-1]))


@FUNCTIONS.add("composition make_composed_layout", (2, 3))
def _composition(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if len(a) == 3:
        if not isinstance(a[0], (Swizzle, Layout)):
            raise Refusal(f"a swizzle or a layout must be applied last (got {text(a[0])})")
        return swizzled.compose(a[0], integer(a[1]), plain_layout(a[2]))
    return compose(*a)


def compose(left: Any, right: Any) -> Any:
    """The composition of two layouts, of a swizzle and a layout, or of a layout and a tiler."""
    if isinstance(left, Swizzle):
        return swizzled.compose(left, ZERO, plain_layout(right))
    if isinstance(left, Tensor):
        return Tensor(left.offset, algebra.composition(left.layout, layout_of(right)))
    left = layout_argument(left)
    right = layout_of(right)
    if isinstance(right, Swizzle):
        return swizzled.through(plain_layout(left), right)
    if isinstance(right, Composed):
        if not is_constant(right.offset, 0):
            raise Refusal(f"the offset on the right side must be a static 0 (got {text(right.offset)})")
        return algebra.composition(compose(left, right.outer), _tiler(right.inner))
    return algebra.composition(left, _tiler(right))


def _tiler(value: Any) -> Any:
    value = layout_of(value)
    if isinstance(value, tuple):
        return tuple(map(_tiler, value))
    if isinstance(value, (Layout, int, tuples.Underscore)):
        return value
    raise Refusal(f"a layout, or a tiler of layouts, integers and _, is needed here (got {text(value)})")


def _by_tiler(name: str, operation: Callable[[Any, Any], Any], *, tensor: bool) -> None:
    def body(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
        if tensor and isinstance(a[0], Tensor):
            return Tensor(a[0].offset, operation(a[0].layout, _tiler(a[1])))
        return operation(layout_argument(a[0]), _tiler(a[1]))

    FUNCTIONS.add(name, (2, 2))(body)


for _name in ("logical", "zipped", "tiled", "flat"):
    _by_tiler(f"{_name}_divide", getattr(divide, f"{_name}_divide"), tensor=True)
    _by_tiler(f"{_name}_product", getattr(divide, f"{_name}_product"), tensor=False)


@FUNCTIONS.add("blocked_product", (2, 2))
def _blocked(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return divide.blocked_product(layout_argument(a[0]), plain_layout(a[1]))


@FUNCTIONS.add("raked_product", (2, 2))
def _raked(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return divide.raked_product(layout_argument(a[0]), plain_layout(a[1]))


@FUNCTIONS.add("tile_to_shape", (2, 3))
def _tile_to_shape(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    order = a[2] if len(a) == 3 else Major("LayoutLeft")
    return divide.tile_to_shape(layout_argument(a[0]), tree(shape_of(a[1])), order)


def inner(operation: Callable[[Layout], Layout]) -> Callable[[Any], Any]:
    """An operation on a layout; on a composed one it works on what is applied first."""

    def work(value: Any) -> Any:
        if isinstance(value, Tensor):
            return Tensor(value.offset, work(value.layout))
        if isinstance(value, Composed):
            return swizzled.compose(value.outer, value.offset, operation(value.inner))
        return operation(plain_layout(value))

    return work


@FUNCTIONS.add("coalesce", (1, 2))
def _coalesce(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if is_tree(a[0]) and len(a) == 1:
        return algebra.coalesce_shape(a[0])
    return inner(lambda x: algebra.coalesce(x, *map(shape_of, a[1:])))(a[0])


@FUNCTIONS.add("filter", (1, 2))
def _filter(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return inner(lambda x: algebra.filter_layout(x, *map(shape_of, a[1:])))(a[0])


@FUNCTIONS.add("filter_zeros", (1, 1))
def _filter_zeros(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return inner(lambda x: Layout(tuples.filter_zeros(x.stride, x.shape), x.stride))(a[0])


@FUNCTIONS.add("complement", (1, 2))
def _complement(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return complement.complement(layout_argument(a[0]), *(tree(shape_of(x)) for x in a[1:]))


@FUNCTIONS.add("right_inverse", (1, 1))
def _right_inverse(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return swizzled.inverse(a[0], left=False)


@FUNCTIONS.add("left_inverse", (1, 1))
def _left_inverse(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return swizzled.inverse(a[0], left=True)


@FUNCTIONS.add("nullspace", (1, 1))
def _nullspace(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return complement.nullspace(layout_argument(a[0]))


@FUNCTIONS.add("max_common_layout", (2, 2))
def _common_layout(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return complement.max_common_layout(plain_layout(a[0]), plain_layout(a[1]))


@FUNCTIONS.add("max_common_vector", (2, 2))
def _common_vector(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return complement.max_common_vector(plain_layout(a[0]), plain_layout(a[1]))


@FUNCTIONS.add("upcast", (1, 1), (1, 1))
def _upcast(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return copies.upcast(integer(t[0]), plain_layout(a[0]))


@FUNCTIONS.add("downcast", (1, 1), (1, 1))
def _downcast(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return copies.downcast(integer(t[0]), plain_layout(a[0]))


# Coordinates and partitions


@FUNCTIONS.add("crd2idx", (2, 3))
def _crd2idx(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if isinstance(a[1], Layout):
        return coordinates.crd2idx(a[0], a[1].shape, a[1].stride)
    if len(a) == 2:
        return coordinates.to_index(tree(a[0]), tree(a[1]))
    layout = checked_layout(a[1], a[2])
    return coordinates.crd2idx(a[0], layout.shape, layout.stride)


@FUNCTIONS.add("idx2crd", (2, 3))
def _idx2crd(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if len(a) == 2:
        return coordinates.idx2crd(tree(a[0]), tree(a[1]))
    layout = checked_layout(a[1], a[2])
    return coordinates.hier_coord(tree(a[0]), layout.shape, layout.stride)


@FUNCTIONS.add("slice", (2, 2))
def _slice(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if isinstance(a[1], (Layout, Composed)):
        return swizzled.slice_and_offset(a[1], a[0])[0]
    return coordinates.slice_tree(a[0], a[1])


@FUNCTIONS.add("dice", (2, 2))
def _dice(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if isinstance(a[1], Layout):
        return Layout(coordinates.dice(a[0], a[1].shape), coordinates.dice(a[0], a[1].stride))
    return coordinates.dice(a[0], a[1])


@FUNCTIONS.add("local_tile", (3, 4))
def _local_tile(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return tensors.local_tile(tensor_or_layout(a[0]), _tiler(a[1]), *a[2:])


@FUNCTIONS.add("inner_partition", (3, 3))
def _inner_partition(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return tensors.inner_partition(tensor_or_layout(a[0]), _tiler(a[1]), a[2])


@FUNCTIONS.add("outer_partition", (3, 3))
def _outer_partition(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return tensors.outer_partition(tensor_or_layout(a[0]), _tiler(a[1]), a[2])


@FUNCTIONS.add("local_partition", (3, 4))
def _local_partition(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return tensors.local_partition(tensor_or_layout(a[0]), *a[1:])
