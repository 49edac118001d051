"""The values of expressions, and how CuTe prints them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutegen.layout.swizzle import Swizzle
from cutegen.playground.integers import Static
from cutegen.playground.tuples import Tree, Underscore, rank

__all__ = ["Composed", "Layout", "MixedBits", "Pointer", "Tensor", "layout_of", "shape_of", "text"]


@dataclass(frozen=True)
class Layout:
    """A shape and a stride."""

    shape: Tree
    stride: Tree

    @property
    def rank(self) -> int:
        """The number of modes."""
        return rank(self.shape)


class Pointer(int):
    """Where a tensor begins, a ``counting_iterator<int>``."""

    __slots__ = ()


@dataclass(frozen=True)
class MixedBits:
    """An offset of which some bits are known at compile time: ``static | dynamic``."""

    static: int
    dynamic: int
    flags: int

    def __int__(self) -> int:
        return self.static | self.dynamic


@dataclass(frozen=True)
class Composed:
    """``outer o offset o inner``: what cannot be written as one layout, mostly a swizzled one.

    Attributes:
        outer: Applied last; a swizzle or a layout.
        offset: Added before it; an integer or :class:`MixedBits`.
        inner: Applied first; a layout, and for inverses a swizzle.
    """

    outer: Any
    offset: Any
    inner: Any


@dataclass(frozen=True)
class Tensor:
    """A layout that begins somewhere, as a CuTe tensor over a ``counting_iterator<int>``."""

    offset: int
    layout: Any


def layout_of(value: Any) -> Any:
    """The layout of a tensor; a layout itself."""
    return value.layout if isinstance(value, Tensor) else value


def shape_of(value: Any) -> Tree:
    """The shape of a layout, a tensor, a tiler or a tree."""
    value = layout_of(value)
    if isinstance(value, Composed):
        return shape_of(value.inner)
    if isinstance(value, Layout):
        return value.shape
    return tuple(map(shape_of, value)) if isinstance(value, tuple) else value


def text(value: Any) -> str:
    """What ``cute::print`` prints."""
    if isinstance(value, Static):
        return f"_{int(value)}"
    if isinstance(value, Pointer):
        return f"counting_iter({int(value)})"
    if isinstance(value, tuple):
        return f"({','.join(map(text, value))})"
    if isinstance(value, Layout):
        return f"{text(value.shape)}:{text(value.stride)}"
    if isinstance(value, Composed):
        return f"{text(value.outer)} o {text(value.offset)} o {text(value.inner)}"
    if isinstance(value, Tensor):
        return f"{text(Pointer(value.offset))} o {text(value.layout)}"
    if isinstance(value, Swizzle):
        return f"Sw<{value.b},{value.m},{value.s}>"
    if isinstance(value, MixedBits):
        return f"M_{value.static}|({value.dynamic}&{value.flags})={int(value)}"
    return "_" if isinstance(value, Underscore) else str(value)
