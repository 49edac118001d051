"""Functions of the modes of layouts and tuples, and of their numbers, by their C++ names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutegen.playground import complement, divide, tuples
from cutegen.playground.functions import FUNCTIONS, inner, tree
from cutegen.playground.integers import ONE, ZERO, Refusal, Static, gcd, maximum, minimum
from cutegen.playground.layouts import Composed, Layout, Tensor, shape_of, text
from cutegen.playground.registry import MANY, integer, layout_argument, plain_layout
from cutegen.playground.tuples import Tree

__all__ = ["FUNCTIONS", "layout_mode"]

_PATH = (0, MANY)


def on_modes(operation: Callable[[Tree], Tree]) -> Callable[[Any], Any]:
    """An operation on a tuple; on a layout it works on shape and stride."""
    on_layout = inner(lambda x: Layout(operation(x.shape), operation(x.stride)))
    return lambda value: (
        on_layout(value) if isinstance(value, (Layout, Composed, Tensor)) else operation(value)
    )


@FUNCTIONS.add("get", (1, 1), (1, MANY))
def _get(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return on_modes(lambda x: tuples.get(x, *map(integer, t)))(a[0])


@FUNCTIONS.add("layout", (1, 1), _PATH)
def layout_mode(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    """The layout of a mode."""
    layout = layout_argument(a[0])
    return _get(t, (layout,)) if t else layout


@FUNCTIONS.add("select", (1, 1), (1, MANY))
def _select(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if isinstance(a[0], (Composed, Tensor)):
        raise Refusal(f"select must have a layout that is not swizzled, or a tuple (got {text(a[0])})")
    return on_modes(lambda x: tuples.select(x, *map(integer, t)))(a[0])


@FUNCTIONS.add("take", (1, 1), (2, 2))
def _take(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if isinstance(a[0], Layout) and integer(t[0]) >= integer(t[1]):
        raise Refusal(f"the range must not be empty (got {t[0]} to {t[1]})")
    return on_modes(lambda x: tuples.take(x, integer(t[0]), integer(t[1])))(a[0])


@FUNCTIONS.add("group group_modes", (1, 1), (2, 2))
def _group(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return on_modes(lambda x: tuples.group(x, integer(t[0]), integer(t[1])))(a[0])


@FUNCTIONS.add("flatten", (1, 1))
def _flatten(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return on_modes(tuples.flatten)(a[0])


def _extend(name: str, fill: Callable[..., Tree], one: Callable[..., Tree]) -> None:
    def body(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
        def extend(x: Tree, y: Tree) -> Tree:
            return fill(integer(t[0]), x, y) if t else one(x, y)

        if not isinstance(a[0], Layout):
            if len(a) == 1:
                raise Refusal(f"{name} must be told what to add to a tuple")
            return extend(a[0], a[1])
        x = plain_layout(a[1]) if len(a) == 2 else Layout(ONE, ZERO)
        return Layout(extend(a[0].shape, x.shape), extend(a[0].stride, x.stride))

    FUNCTIONS.add(name, (1, 2), (0, 1))(body)


_extend("append", tuples.append_to, tuples.append)
_extend("prepend", tuples.prepend_to, tuples.prepend)


@FUNCTIONS.add("replace", (2, 2), (1, 1))
def _replace(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    i = integer(t[0])
    if not isinstance(a[0], Layout):
        return tuples.replace(a[0], i, a[1])
    x = plain_layout(a[1])
    return Layout(tuples.replace(a[0].shape, i, x.shape), tuples.replace(a[0].stride, i, x.stride))


@FUNCTIONS.add("zip", (1, 2))
def _zip(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if len(a) == 2:
        if isinstance(a[0], Layout):
            return divide.zip_layout(a[0], plain_layout(a[1]))
        return tuples.zip_modes(a)
    return on_modes(tuples.zip_modes)(a[0])


@FUNCTIONS.add("wrap", (1, 1))
def _wrap(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return tuples.wrap(a[0])


@FUNCTIONS.add("unwrap", (1, 1))
def _unwrap(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return tuples.unwrap(a[0])


@FUNCTIONS.add("repeat", (1, 1), (1, 1))
def _repeat(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return tuples.repeat(integer(t[0]), a[0])


# Numbers


def _number(name: str, operation: Callable[[Tree], Any]) -> None:
    FUNCTIONS.add(name, (1, 1), _PATH)(
        lambda t, a: operation(tuples.get(tree(shape_of(a[0])), *map(integer, t)))
    )


_number("size", tuples.product)
_number("rank", lambda x: Static(tuples.rank(x)))
_number("depth", tuples.depth)
_number("shape", lambda x: x)
FUNCTIONS.add("product", (1, 1))(lambda t, a: tuples.product(tree(a[0])))
FUNCTIONS.add("product_each", (1, 1))(lambda t, a: tuples.product_each(tree(a[0])))
FUNCTIONS.add("ceil_div", (2, 2))(lambda t, a: tuples.ceil_div(tree(a[0]), tree(a[1])))
FUNCTIONS.add("shape_div", (2, 2))(lambda t, a: tuples.shape_div(tree(a[0]), tree(a[1])))
FUNCTIONS.add("min", (2, 2))(lambda t, a: minimum(integer(a[0]), integer(a[1])))
FUNCTIONS.add("max", (2, 2))(lambda t, a: maximum(integer(a[0]), integer(a[1])))
FUNCTIONS.add("gcd", (2, 2))(lambda t, a: gcd(integer(a[0]), integer(a[1])))


@FUNCTIONS.add("stride", (1, 1), _PATH)
def _stride(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return tuples.get(plain_layout(a[0]).stride, *map(integer, t))


@FUNCTIONS.add("cosize", (1, 1), _PATH)
def _cosize(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return complement.cosize(layout_mode(t, a))
