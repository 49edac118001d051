"""Coalescing and composition of layouts, as ``cute/layout.hpp`` has them, with its static assertions.

Where CuTe checks nothing because a number is known at run time only, :func:`remarks` hears of results that
are not what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from cutegen.playground.integers import (
    ONE,
    ZERO,
    Refusal,
    Static,
    ceil_div_int,
    div,
    is_constant,
    magnitude,
    minimum,
    mod,
    mul,
    sign,
)
from cutegen.playground.layouts import Composed, Layout, text
from cutegen.playground.tuples import (
    Tree,
    Underscore,
    append_to,
    filter_zeros,
    flatten_to_tuple,
    get,
    rank,
    take,
    wrap,
)

__all__ = [
    "append_layout",
    "coalesce",
    "coalesce_shape",
    "composition",
    "concatenate",
    "filter_layout",
    "get_layout",
    "remark",
    "remarks",
    "transform_layout",
]

_REMARKS: ContextVar[list[str] | None] = ContextVar("remarks", default=None)


@contextmanager
def remarks() -> Iterator[list[str]]:
    """Collects what was said about results that CuTe does not check."""
    said: list[str] = []
    token = _REMARKS.set(said)
    try:
        yield said
    finally:
        _REMARKS.reset(token)


def remark(sentence: str) -> None:
    """Say something about a result."""
    said = _REMARKS.get()
    if said is not None and sentence not in said:
        said.append(sentence)


def get_layout(layout: Any, *path: int) -> Any:
    """``layout<I...>(layout)``."""
    if isinstance(layout, Composed):
        return Composed(layout.outer, layout.offset, get_layout(layout.inner, *path))
    return Layout(get(layout.shape, *path), get(layout.stride, *path))


def concatenate(*layouts: Layout) -> Layout:
    """Layouts as the modes of one."""
    return Layout(tuple(x.shape for x in layouts), tuple(x.stride for x in layouts))


def append_layout(n: int, layout: Layout, x: Layout | None = None) -> Layout:
    """As many modes ``x`` at the end as are missing from ``n``; ``_1:_0`` when it is not given."""
    x = x or Layout(ONE, ZERO)
    return Layout(append_to(n, layout.shape, x.shape), append_to(n, layout.stride, x.stride))


def transform_layout(f: Callable[[Any, Any], Layout], layout: Layout, tiler: Tree, *, rest: bool) -> Layout:
    """``f`` of each mode and what the tiler has for it; ``rest`` keeps modes that it has nothing for."""
    if len(tiler) > layout.rank:
        raise Refusal(
            f"the tiler must have at most as many modes as the layout, {layout.rank} (got {len(tiler)})"
        )
    modes = []
    for i in range(layout.rank if rest else len(tiler)):
        mode = get_layout(layout, i)
        try:
            modes.append(f(mode, tiler[i]) if i < len(tiler) else mode)
        except Refusal as refusal:
            raise refusal.within(i) from None
    return concatenate(*modes)


Modes = tuple[list[int], list[int]]


def _merge(shapes: list[int], strides: list[int], front: Modes) -> Modes:
    """Go through modes from the last to the first and join each with the front of what is there."""
    new_shapes, new_strides = front
    for s, d in zip(reversed(shapes), reversed(strides), strict=True):
        if is_constant(s, 1):
            continue
        if len(new_shapes) == 1 and is_constant(new_shapes[0], 1):
            new_shapes, new_strides = [s], [d]
            continue
        reach = mul(s, d)
        known = all(isinstance(x, Static) for x in (new_shapes[0], reach, new_strides[0]))
        if known and reach == new_strides[0]:
            new_shapes = [mul(s, new_shapes[0]), *new_shapes[1:]]
            new_strides = [d, *new_strides[1:]]
        else:
            new_shapes, new_strides = [s, *new_shapes], [d, *new_strides]
    return new_shapes, new_strides


def _layout(modes: Modes) -> Layout:
    shapes, strides = modes
    if len(shapes) > 1:
        return Layout(tuple(shapes), tuple(strides))
    return Layout(ONE, ZERO) if is_constant(shapes[0], 1) else Layout(shapes[0], strides[0])


def _leaves(layout: Layout) -> Modes:
    shapes, strides = list(flatten_to_tuple(layout.shape)), list(flatten_to_tuple(layout.stride))
    if not shapes:
        raise Refusal("the layout must have modes (got none)")
    return shapes, strides


def coalesce(layout: Layout, profile: Tree = ONE) -> Layout:
    """The same function with as few modes as can be; those that a profile has leaves for stay apart."""
    if isinstance(profile, tuple):
        return transform_layout(coalesce, layout, profile, rest=True)
    shapes, strides = _leaves(layout)
    return _layout(_merge(shapes[:-1], strides[:-1], (shapes[-1:], strides[-1:])))


def _coalesce_open(layout: Layout) -> Layout:
    """As ``coalesce``, and the same function also beyond its domain."""
    shapes, strides = _leaves(layout)
    last = Static(2) if is_constant(shapes[-1], 1) else shapes[-1]
    return _layout(_merge(shapes[:-1], strides[:-1], ([last], strides[-1:])))


def coalesce_shape(shape: Tree) -> Tree:
    """Static extents side by side as one, and the others too."""
    first, *others = flatten_to_tuple(shape) or (ONE,)
    result = [first]
    for extent in others:
        if isinstance(result[-1], Static) == isinstance(extent, Static):
            result[-1] = mul(result[-1], extent)
        else:
            result.append(extent)
    return tuple(result) if len(result) > 1 else result[0]


def filter_layout(layout: Layout, profile: Tree = ONE) -> Layout:
    """Without modes of extent 1 or static stride 0."""
    if isinstance(profile, tuple):
        return transform_layout(filter_layout, layout, profile, rest=True)
    return coalesce(Layout(filter_zeros(layout.stride, layout.shape), layout.stride))


def composition(left: Any, right: Any) -> Any:
    """``left o right``: the layout c -> left(right(c)). A tiler composes mode by mode."""
    if isinstance(left, Composed):
        return Composed(left.outer, left.offset, composition(left.inner, right))
    if isinstance(right, tuple):
        return transform_layout(composition, left, right, rest=False)
    if isinstance(right, Underscore):
        return left
    flat = _coalesce_open(left)
    if isinstance(right, Layout):
        return _compose(flat, right.shape, right.stride)
    return _compose(flat, right, ONE)


def _compose(left: Layout, shape: Tree, stride: Tree) -> Layout:
    if isinstance(shape, tuple):
        if rank(shape) != rank(stride):
            raise Refusal(f"shape and stride must have equal ranks (got {text(Layout(shape, stride))})")
        modes = []
        for i, (s, d) in enumerate(zip(shape, stride, strict=True)):
            try:
                modes.append(_compose(left, s, d))
            except Refusal as refusal:
                raise refusal.within(i) from None
        return concatenate(*modes)
    if is_constant(stride, 0):
        return Layout(shape, stride)
    if not isinstance(left.shape, tuple):
        return Layout(shape, mul(stride, left.stride))
    return _compose_mode(left, shape, stride)


def _compose_mode(left: Layout, shape: int, stride: int) -> Layout:
    shapes: list[int] = []
    strides: list[int] = []
    right = text(Layout(shape, stride))
    rest_shape, rest_stride = shape, stride
    for extent, step in zip(take(left.shape, 0, left.rank - 1), left.stride, strict=False):
        if rest_stride == 0:
            raise Refusal(f"a stride that is not static must not be 0 (got {right})", "write _0")
        if mod(rest_stride, extent) != 0 and rest_stride >= extent:
            _indivisible(
                f"composing {text(left)} with {right}: the stride {text(rest_stride)} that is left must be"
                f" less than, or a multiple of, the extent {text(extent)}",
                isinstance(extent, Static) and isinstance(rest_stride, Static),
                f"{text(rest_stride)} % {text(extent)} is {int(rest_stride) % int(extent)}",
            )
        next_shape = ceil_div_int(extent, magnitude(rest_stride))
        next_stride = mul(ceil_div_int(magnitude(rest_stride), extent), sign(rest_stride))
        if not is_constant(next_shape, 1) and not is_constant(rest_shape, 1):
            new_shape = minimum(next_shape, rest_shape)
            if mod(rest_shape, new_shape) != 0:
                _indivisible(
                    f"composing {text(left)} with {right}: the extent {text(rest_shape)} that is left must be"
                    f" a multiple of {text(new_shape)}, what extent {text(extent)} of the left side gives",
                    isinstance(new_shape, Static) and isinstance(rest_shape, Static),
                    f"{text(rest_shape)} % {text(new_shape)} is {int(rest_shape) % int(new_shape)}",
                )
            shapes.append(new_shape)
            strides.append(mul(rest_stride, step))
            rest_shape = div(rest_shape, new_shape)
        rest_stride = next_stride
    last = mul(rest_stride, wrap(left.stride)[-1])
    if not shapes:
        return Layout(rest_shape, last)
    if is_constant(rest_shape, 1):
        return Layout(shapes[0], strides[0]) if len(shapes) == 1 else Layout(tuple(shapes), tuple(strides))
    return Layout((*shapes, rest_shape), (*strides, last))


def _indivisible(need: str, checked: bool, got: str) -> None:
    if checked:
        raise Refusal(f"{need} (got {got})", "choose extents and strides that divide one another")
    remark(f"{need} (got {got}); CuTe checks static integers only, and the result may be another function")
