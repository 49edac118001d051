"""Strides made from shapes: ``compact_major`` and ``compact_order`` of ``cute/stride.hpp``."""

from __future__ import annotations

from cutegen.playground.integers import ONE, ZERO, Refusal, Static, is_constant, mul
from cutegen.playground.layouts import Layout
from cutegen.playground.tuples import (
    Tree,
    flatten_to_tuple,
    product,
    product_like,
    rank,
    transform,
    unflatten,
)

__all__ = ["Major", "compact_major", "compact_order", "make_layout", "make_ordered_layout"]


class Major:
    """``LayoutLeft`` or ``LayoutRight``: which mode has stride 1."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def _compact(shape: Tree, current: int, right: bool) -> tuple[Tree, int]:
    if not isinstance(shape, tuple):
        if not isinstance(shape, int):
            raise Refusal(f"a shape must be made of integers (got {shape})")
        return (ZERO, current) if is_constant(shape, 1) else (current, mul(current, shape))
    strides: list[Tree] = []
    for mode in reversed(shape) if right else shape:
        stride, current = _compact(mode, current, right)
        strides.append(stride)
    return tuple(reversed(strides) if right else strides), current


def compact_major(shape: Tree, current: Tree = ONE, *, right: bool = False) -> Tree:
    """Strides of a layout without gaps; a static extent of 1 gets a static stride 0."""
    if isinstance(current, tuple):
        return transform(lambda s, c: compact_major(s, c, right=right), shape, current)
    return _compact(shape, current, right)[0]


def compact_order(shape: Tree, order: Tree) -> Tree:
    """Strides of a layout without gaps whose modes follow one another as ``order`` says.

    Elements of ``order`` that are not static count as larger than all others, from left to right.
    """
    if isinstance(order, Major):
        return compact_major(shape, right=order.name == "LayoutRight")
    if not all(isinstance(o, int) for o in flatten_to_tuple(order)):
        raise Refusal(f"the order must be made of integers, or be LayoutLeft or LayoutRight (got {order})")
    extents, ranks = flatten_to_tuple(product_like(shape, order)), flatten_to_tuple(order)
    largest = max([0, *(o for o in ranks if isinstance(o, Static))])
    numbers = [int(o) if isinstance(o, Static) else largest + 1 + i for i, o in enumerate(ranks)]

    def strides(s: Tree, o: Tree) -> Tree:
        if isinstance(o, tuple):
            if rank(s) != len(o):
                raise Refusal(f"the order must have rank {rank(s)} (got {len(o)})")
            return transform(strides, s, o)
        before = tuple(x if n < o else ONE for x, n in zip(extents, numbers, strict=True))
        return compact_major(s, product(before))

    return strides(shape, unflatten(numbers, order))


def make_layout(shape: Tree, stride: Tree = None) -> Layout:
    """A layout; without a stride it is compact and its first mode runs fastest."""
    if isinstance(stride, Major):
        return Layout(shape, compact_major(shape, right=stride.name == "LayoutRight"))
    return Layout(shape, compact_major(shape) if stride is None else stride)


def make_ordered_layout(shape: Tree, order: Tree) -> Layout:
    """A compact layout whose modes follow one another as ``order`` says."""
    return Layout(shape, compact_order(shape, order))
