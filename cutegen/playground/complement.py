"""Complements and inverses of layouts, and what two layouts have in common."""

from __future__ import annotations

from typing import Any

from cutegen.playground.algebra import coalesce, coalesce_shape, composition, filter_layout, get_layout
from cutegen.playground.compact import compact_major, make_layout
from cutegen.playground.integers import (
    ONE,
    ZERO,
    Refusal,
    Static,
    add,
    div,
    is_constant,
    magnitude,
    minimum,
    mod,
    mul,
    sub,
)
from cutegen.playground.layouts import Composed, Layout, text
from cutegen.playground.tuples import Tree, ceil_div, flatten_to_tuple, is_static, product, unwrap, wrap

__all__ = [
    "complement",
    "cosize",
    "left_inverse",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "right_inverse",
]


def cosize(layout: Any) -> int:
    """One more than the largest offset, before a swizzle."""
    if isinstance(layout, Composed):
        return cosize(layout.inner)
    total: int = ZERO
    for s, d in zip(flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride), strict=True):
        total = add(total, mul(sub(s, ONE), magnitude(d)))
    return add(total, ONE)


def complement(layout: Any, cotarget: Tree = None) -> Layout:
    """The offsets below ``cotarget`` that the layout leaves free."""
    if isinstance(layout, Composed):
        return complement(layout.inner, cosize(layout) if cotarget is None else cotarget)
    flat = filter_layout(layout)
    cotarget = cosize(flat) if cotarget is None else cotarget
    if is_constant(flat.stride, 0):
        return make_layout(coalesce_shape(cotarget))
    shapes, strides = list(wrap(flat.shape)), list(wrap(flat.stride))
    if len(strides) > 1 and not is_static(flat.stride):
        raise Refusal(
            f"a complement needs static strides when more than one mode is left (got {text(flat)})",
            "write strides as _8, or take every integer as static with --static",
        )
    new_shapes: list[int] = []
    new_strides: list[int] = [ONE]
    while shapes:
        least = strides[0]
        for d in strides[1:]:
            least = minimum(least, d)
        i = strides.index(least)
        gap = div(least, new_strides[-1])
        if is_constant(gap, 0):
            raise Refusal(
                f"a complement needs a layout that gives each offset once (got {text(flat)}: stride"
                f" {text(least)} lies within the {text(new_strides[-1])} offsets before it)"
            )
        new_shapes.append(gap)
        new_strides.append(mul(least, shapes.pop(i)))
        del strides[i]
    reach = new_strides.pop()
    rest = coalesce_shape(ceil_div(cotarget, reach))
    return coalesce(Layout((tuple(new_shapes), rest), (tuple(new_strides), compact_major(rest, reach))))


def _by_stride(keys: list[tuple[int, int]]) -> list[int]:
    """CuTe's exchange sort, which does not keep the order of equal keys."""
    pairs = list(keys)
    for i in range(len(pairs)):
        for j in range(i + 1, len(pairs)):
            if pairs[j][0] < pairs[i][0]:
                pairs[i], pairs[j] = pairs[j], pairs[i]
    return [index for _, index in pairs]


def _sorted_modes(layout: Layout) -> tuple[list[int], list[int], list[int], list[int]]:
    """Extents, strides and linear strides of the modes, and the modes with static strides in their order."""
    flat = coalesce(layout)
    shapes, strides = list(wrap(flat.shape)), list(wrap(flat.stride))
    before: list[int] = [ONE]
    for s in shapes:
        before.append(mul(s, before[-1]))
    order = _by_stride([(int(d), i) for i, d in enumerate(strides) if isinstance(d, Static)])
    return shapes, strides, before, order


def right_inverse(layout: Layout) -> Layout:
    """The longest layout R with layout(R(i)) == i; modes whose stride is not static are left out."""
    shapes, strides, before, order = _sorted_modes(layout)
    new_shapes: list[int] = [ONE]
    new_strides: list[int] = [ZERO]
    current: int = ONE
    for i in order:
        if isinstance(current, Static) and strides[i] == current:
            new_shapes.append(shapes[i])
            new_strides.append(before[i])
            current = mul(shapes[i], strides[i])
    return coalesce(Layout(tuple(new_shapes), tuple(new_strides)))


def left_inverse(layout: Layout) -> Layout:
    """A layout L with layout(L(layout(i))) == layout(i)."""
    shapes, strides, before, order = _sorted_modes(layout)
    if not is_static(tuple(strides)):
        raise Refusal(
            f"a left inverse needs static strides (got {text(layout)})",
            "write strides as _8, or take every integer as static with --static",
        )
    new_shapes: list[int] = []
    new_strides: list[int] = [ZERO]
    for i in order:
        if strides[i] == 0:
            continue
        size = product(tuple(new_shapes))
        if mod(strides[i], size) != 0:
            raise Refusal(
                f"the stride {text(strides[i])} must be a multiple of the {text(size)} offsets before it"
                f" (got {text(coalesce(layout))})"
            )
        new_shapes.append(div(strides[i], size))
        new_strides.append(before[i])
    return coalesce(Layout((*new_shapes, shapes[order[-1]]), tuple(new_strides)))


def nullspace(layout: Any) -> Layout:
    """The indices that the layout maps to 0."""
    if isinstance(layout, Composed):
        return Layout(ONE, ZERO)
    shapes, strides = flatten_to_tuple(layout.shape), flatten_to_tuple(layout.stride)
    own = compact_major(shapes)
    kept = [i for i, d in enumerate(strides) if is_constant(d, 0)]
    if not kept:
        return Layout(ONE, ZERO)
    return Layout(unwrap(tuple(shapes[i] for i in kept)), unwrap(tuple(own[i] for i in kept)))


def _common(a: Layout, b: Layout) -> tuple[Layout, Layout | None]:
    inverse = right_inverse(b)
    first = get_layout(coalesce(composition(a, inverse)), 0)
    found = isinstance(first.shape, Static) and is_constant(first.stride, 1)
    return inverse, first if found else None


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """The most elements that lie side by side in both."""
    inverse, first = _common(a, b)
    return Layout(ONE, ZERO) if first is None else composition(inverse, first)


def max_common_vector(a: Layout, b: Layout) -> int:
    """How many elements lie side by side in both."""
    first = _common(a, b)[1]
    return ONE if first is None else product(first.shape)
