"""Integers that are known at compile time or not, with the arithmetic of CuTe.

CuTe's ``Int<8>`` prints as ``_8`` and a plain ``int`` as ``8``. An operation on static integers is static;
with a plain one it is plain, but for the few cases of ``cute/numeric/integral_constant.hpp``: 0 times
anything, and anything modulo 1, are static zeros.
"""

from __future__ import annotations

__all__ = [
    "ONE",
    "ZERO",
    "Refusal",
    "Static",
    "add",
    "ceil_div_int",
    "div",
    "gcd",
    "is_constant",
    "magnitude",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "sign",
    "sub",
    "whole",
]

_LIMIT = 2**31


class Static(int):
    """An integer that is part of a C++ type, as ``Int<8>``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"_{int(self)}"


ZERO, ONE = Static(0), Static(1)


class Refusal(Exception):
    """What CuTe would refuse, in words, with the modes within which it happened.

    Args:
        message: What must be, and what was got.
        fix: A way out, if there is one worth naming.
    """

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.modes: list[int] = []

    def within(self, mode: int) -> Refusal:
        """The same, found while working on one mode of something larger."""
        self.modes.insert(0, mode)
        return self

    def __str__(self) -> str:
        where = f"mode {','.join(map(str, self.modes))}: " if self.modes else ""
        return where + self.message


def is_constant(value: object, number: int) -> bool:
    """Whether ``value`` is a static integer equal to ``number``."""
    return isinstance(value, Static) and int(value) == number


def whole(value: object) -> int:
    """An integer, as a plain one."""
    if not isinstance(value, int):
        raise Refusal(f"an integer is needed here (got a {type(value).__name__})")
    return int(value)


def _like(value: int, *operands: int) -> int:
    if not -_LIMIT <= value < _LIMIT:
        raise Refusal(f"every number must fit into 32 bits, as CuTe's int (got {value})")
    return Static(value) if all(isinstance(x, Static) for x in operands) else int(value)


def add(a: int, b: int) -> int:
    """``a + b``."""
    return _like(whole(a) + whole(b), a, b)


def sub(a: int, b: int) -> int:
    """``a - b``."""
    return _like(whole(a) - whole(b), a, b)


def mul(a: int, b: int) -> int:
    """``a * b``; a static 0 makes it a static 0."""
    if is_constant(a, 0) or is_constant(b, 0):
        return ZERO
    return _like(whole(a) * whole(b), a, b)


def _nonzero(b: int) -> None:
    if b == 0:
        raise Refusal("the divisor must not be 0 (got 0)")


def div(a: int, b: int) -> int:
    """``a / b``, towards zero as in C++."""
    _nonzero(b)
    if is_constant(a, 0):
        return ZERO
    quotient = abs(whole(a)) // abs(whole(b))
    return _like(quotient if (a < 0) == (b < 0) else -quotient, a, b)


def mod(a: int, b: int) -> int:
    """``a % b``, with the sign of ``a`` as in C++."""
    _nonzero(b)
    if is_constant(a, 0) or is_constant(b, 1) or is_constant(b, -1):
        return ZERO
    rest = abs(whole(a)) % abs(whole(b))
    return _like(-rest if a < 0 else rest, a, b)


def ceil_div_int(a: int, b: int) -> int:
    """``a / b``, rounded up."""
    return div(sub(add(a, b), ONE), b)


def minimum(a: int, b: int) -> int:
    """The smaller one; static when both are."""
    return _like(min(whole(a), whole(b)), a, b)


def maximum(a: int, b: int) -> int:
    """The larger one; static when both are."""
    return _like(max(whole(a), whole(b)), a, b)


def magnitude(a: int) -> int:
    """``abs(a)``."""
    return _like(abs(whole(a)), a)


def sign(a: int) -> int:
    """-1, 0 or 1."""
    return _like((whole(a) > 0) - (a < 0), a)


def gcd(a: int, b: int) -> int:
    """The greatest common divisor."""
    x, y = abs(whole(a)), abs(whole(b))
    while y:
        x, y = y, x % y
    return _like(x, a, b)
