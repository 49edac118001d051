"""Types by name: ``Int<8>``, ``Shape<_8,_4>``, ``Layout<...>``, ``Swizzle<3,3,3>``, atoms.

All of them are static, so a type and its value, ``Type{}``, are the same here.
"""

from __future__ import annotations

from typing import Any

from cutegen.layout.swizzle import Swizzle
from cutegen.playground.compact import Major, make_layout
from cutegen.playground.copies import BITS, CopyOperation, copy_atom, copy_operation
from cutegen.playground.functions import checked_layout
from cutegen.playground.integers import Refusal, Static
from cutegen.playground.layouts import Pointer, text
from cutegen.playground.products import MmaOperation, mma_operation
from cutegen.playground.registry import MANY, Table, integer
from cutegen.playground.tuples import ANY, is_static

__all__ = ["NAMES", "TEMPLATES", "Element", "atom"]


class Element(str):
    """The name of an element type, as ``half_t``."""

    __slots__ = ()


#: Names without template arguments.
NAMES: dict[str, Any] = {
    "X": ANY,
    "Underscore": ANY,
    **dict.fromkeys(("LayoutLeft", "GenColMajor"), Major("LayoutLeft")),
    **dict.fromkeys(("LayoutRight", "GenRowMajor"), Major("LayoutRight")),
    **{name: Element(name) for name in BITS},
}

#: Names with template arguments, which are the arguments here.
TEMPLATES = Table()


@TEMPLATES.add("Int C", (1, 1))
def _int(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return Static(integer(a[0]))


@TEMPLATES.add("Shape Stride Step Coord Tile tuple", (1, MANY))
def _tuple(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    for x in a:
        if not is_static(x):
            raise Refusal(f"the elements must be types, as _{text(x)} or Int<{text(x)}> (got {text(x)})")
    return a


@TEMPLATES.add("Layout", (1, 2))
def _layout(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    _tuple(t, a)
    if any(isinstance(x, Major) for x in a):
        raise Refusal(f"a stride is needed (got {text(a[-1])})", "make_layout(Shape<...>{}, LayoutRight{})")
    return make_layout(a[0]) if len(a) == 1 else checked_layout(*a)


@TEMPLATES.add("Swizzle Sw", (2, 3))
def _swizzle(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    b, m, s = (int(integer(x)) for x in (a if len(a) == 3 else (*a, a[0])))
    if b < 0 or m < 0 or abs(s) < b:
        raise Refusal(f"B >= 0, M >= 0 and abs(S) >= B must hold (got {b},{m},{s})")
    if b + m + abs(s) > 30:
        raise Refusal(f"B + M + abs(S) must be at most 30 (got {b + m + abs(s)})")
    return Swizzle(b, m, s)


@TEMPLATES.add("counting_iterator", (1, 1))
def _counting(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    return Pointer(0)


@TEMPLATES.add("MMA_Atom", (1, 1))
def _mma_atom(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if not isinstance(a[0], MmaOperation):
        raise Refusal(f"MMA_Atom must have an MMA operation (got {text(a[0])})")
    return a[0]


@TEMPLATES.add("Copy_Atom", (2, 2))
def _copy_atom(t: tuple[Any, ...], a: tuple[Any, ...]) -> Any:
    if not isinstance(a[0], CopyOperation) or not isinstance(a[1], Element):
        raise Refusal(
            "Copy_Atom must have a copy operation and a type", "Copy_Atom<UniversalCopy<uint128_t>, half_t>"
        )
    return copy_atom(a[0], BITS[a[1]])


def atom(name: str, arguments: tuple[Any, ...]) -> CopyOperation | MmaOperation | None:
    """The copy or MMA operation of that name, if there is one."""
    if arguments and not all(isinstance(x, Element) for x in arguments):
        return None
    found = mma_operation(f"{name}<{','.join(arguments)}>" if arguments else name)
    return found or copy_operation(name, BITS[arguments[0]] if arguments else None)
