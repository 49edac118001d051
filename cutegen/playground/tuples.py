"""Nested tuples of integers, for tilers of layouts: ``cute/algorithm/tuple_algorithms.hpp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cutegen.playground.integers import (
    ONE,
    ZERO,
    Refusal,
    Static,
    add,
    ceil_div_int,
    is_constant,
    maximum,
    mod,
    mul,
)

__all__ = [
    "ANY",
    "Tree",
    "Underscore",
    "append",
    "append_to",
    "ceil_div",
    "depth",
    "filter_zeros",
    "flatten",
    "flatten_to_tuple",
    "get",
    "group",
    "has_underscore",
    "is_static",
    "prepend",
    "prepend_to",
    "product",
    "product_each",
    "product_like",
    "rank",
    "repeat",
    "repeat_like",
    "replace",
    "select",
    "shape_div",
    "take",
    "transform",
    "unflatten",
    "unwrap",
    "wrap",
    "zip2_by",
    "zip_modes",
]

#: An integer, or a tuple of trees. Tilers have layouts and underscores among their leaves.
Tree = Any


#: More modes than anyone needs; what asks for them is a slip.
MOST_MODES = 1024


class Underscore:
    """CuTe's ``_``: all of a mode."""

    def __repr__(self) -> str:
        return "_"


ANY = Underscore()


def is_static(t: Tree) -> bool:
    """Whether nothing in ``t`` is known at run time only."""
    return all(map(is_static, t)) if isinstance(t, tuple) else not isinstance(t, int) or isinstance(t, Static)


def has_underscore(t: Tree) -> bool:
    """Whether an underscore is among the leaves."""
    return any(map(has_underscore, t)) if isinstance(t, tuple) else isinstance(t, Underscore)


def wrap(t: Tree) -> tuple[Tree, ...]:
    """A tuple stays; anything else becomes one."""
    return t if isinstance(t, tuple) else (t,)


def unwrap(t: Tree) -> Tree:
    """Tuples of one element are taken apart."""
    while isinstance(t, tuple) and len(t) == 1:
        t = t[0]
    return t


def rank(t: Tree) -> int:
    """The number of modes; 1 for an integer."""
    return len(wrap(t))


def get(t: Tree, *path: int) -> Tree:
    """``get<I...>(t)``; an integer has mode 0, itself."""
    for i in path:
        modes = wrap(t)
        if not 0 <= i < len(modes):
            last = f"0 to {len(modes) - 1}" if len(modes) > 1 else "0"
            raise Refusal(f"the mode must be {last} (got {i})")
        t = modes[i]
    return t


def transform(f: Callable[..., Tree], *trees: Tree) -> tuple[Tree, ...]:
    """``f`` of the modes side by side; a refusal names its mode."""
    sizes = {len(t) for t in trees if isinstance(t, tuple)}
    if len(sizes) != 1 or not all(isinstance(t, tuple) for t in trees):
        raise Refusal(f"the ranks must be equal (got {' and '.join(str(rank(t)) for t in trees)})")
    result = []
    for i, modes in enumerate(zip(*trees, strict=True)):
        try:
            result.append(f(*modes))
        except Refusal as refusal:
            raise refusal.within(i) from None
    return tuple(result)


def depth(t: Tree) -> int:
    """How deeply tuples are nested."""
    if not isinstance(t, tuple):
        return ZERO
    inner: int = ZERO
    for mode in t:
        inner = maximum(inner, depth(mode))
    return add(ONE, inner)


def product(t: Tree) -> int:
    """The product of all leaves."""
    if not isinstance(t, tuple):
        return _integer(t)
    result: int = ONE
    for i, mode in enumerate(t):
        result = product(mode) if i == 0 else mul(result, product(mode))
    return result


def _integer(t: Tree) -> int:
    if not isinstance(t, int):
        raise Refusal(f"the elements must be integers (got {t})")
    return t


def product_each(t: Tree) -> tuple[int, ...]:
    """The product of each mode."""
    return tuple(product(mode) for mode in wrap(t))


def product_like(t: Tree, guide: Tree) -> Tree:
    """``t`` with the product of whatever lies at a leaf of ``guide``."""
    return transform(lambda g, x: product_like(x, g), guide, t) if isinstance(guide, tuple) else product(t)


def flatten_to_tuple(t: Tree) -> tuple[Tree, ...]:
    """All leaves."""
    return tuple(leaf for mode in t for leaf in flatten_to_tuple(mode)) if isinstance(t, tuple) else (t,)


def flatten(t: Tree) -> Tree:
    """All leaves in one tuple; an integer stays."""
    return flatten_to_tuple(t) if isinstance(t, tuple) else t


def unflatten(leaves: Sequence[Tree], profile: Tree) -> Tree:
    """The leaves, nested as ``profile`` is."""
    rest = list(leaves)

    def fill(p: Tree) -> Tree:
        return tuple(map(fill, p)) if isinstance(p, tuple) else rest.pop(0)

    if len(flatten_to_tuple(profile)) != len(rest):
        raise Refusal(f"the profile must have {len(rest)} elements (got {len(flatten_to_tuple(profile))})")
    return fill(profile)


def repeat(n: int, x: Tree) -> Tree:
    """``n`` times ``x``; ``x`` itself for 1."""
    if not 0 <= n <= MOST_MODES:
        raise Refusal(f"the number of repetitions must be from 0 to {MOST_MODES} (got {n})")
    return x if n == 1 else (x,) * n


def repeat_like(t: Tree, x: Tree) -> Tree:
    """``x`` at every leaf of ``t``."""
    return tuple(repeat_like(mode, x) for mode in t) if isinstance(t, tuple) else x


def append(t: Tree, x: Tree) -> tuple[Tree, ...]:
    """``x`` as one more mode at the end."""
    return (*wrap(t), x)


def prepend(t: Tree, x: Tree) -> tuple[Tree, ...]:
    """``x`` as one more mode in front."""
    return (x, *wrap(t))


def append_to(n: int, t: Tree, x: Tree) -> Tree:
    """As many ``x`` at the end as are missing from ``n`` modes."""
    missing = _missing(n, t)
    return t if missing == 0 else (*wrap(t), *((x,) * missing))


def prepend_to(n: int, t: Tree, x: Tree) -> Tree:
    """As many ``x`` in front as are missing from ``n`` modes."""
    missing = _missing(n, t)
    return t if missing == 0 else (*((x,) * missing), *wrap(t))


def _missing(n: int, t: Tree) -> int:
    if not rank(t) <= n <= MOST_MODES:
        raise Refusal(f"the rank to fill up to must be from {rank(t)} to {MOST_MODES} (got {n})")
    return n - rank(t)


def take(t: Tree, begin: int, end: int) -> tuple[Tree, ...]:
    """Modes ``begin`` to ``end``, which is left out."""
    end = rank(t) if end == -1 else end
    if not 0 <= begin <= end <= rank(t):
        raise Refusal(f"the range must lie within modes 0 to {rank(t)} (got {begin} to {end})")
    return wrap(t)[begin:end]


def select(t: Tree, *modes: int) -> tuple[Tree, ...]:
    """Some modes, in the order named."""
    return tuple(get(t, i) for i in modes)


def replace(t: Tree, i: int, x: Tree) -> Tree:
    """``x`` in the place of mode ``i``."""
    get(t, i)
    return (*t[:i], x, *t[i + 1 :]) if isinstance(t, tuple) else x


def group(t: Tree, begin: int, end: int) -> tuple[Tree, ...]:
    """Modes ``begin`` to ``end`` as one mode."""
    end = rank(t) if end == -1 else end
    inner = take(t, begin, end)
    modes = wrap(t)
    return (*modes[:begin], *((inner,) if begin < end else ()), *modes[end:])


def zip_modes(t: Tree) -> Tree:
    """((a,b),(x,y)) becomes ((a,x),(b,y))."""
    if not isinstance(t, tuple):
        return t
    if not t or not isinstance(t[0], tuple):
        return (t,)
    if any(not isinstance(mode, tuple) or len(mode) != len(t[0]) for mode in t):
        raise Refusal(f"the modes must have equal ranks (got {' and '.join(str(rank(m)) for m in t)})")
    return tuple(zip(*t, strict=True))


def zip2_by(t: Tree, guide: Tree) -> tuple[Tree, ...]:
    """The two halves of every mode at a leaf of ``guide``, gathered: ((A,B,...),(a,b,...,x,y))."""
    if not isinstance(guide, tuple):
        if rank(t) != 2:
            raise Refusal(f"the rank must be 2 (got {rank(t)})")
        return wrap(t)
    if rank(t) < len(guide):
        raise Refusal(f"the tiler must have at most {rank(t)} modes (got {len(guide)})")
    split = [zip2_by(get(t, i), g) for i, g in enumerate(guide)]
    return tuple(s[0] for s in split), (*(s[1] for s in split), *wrap(t)[len(guide) :])


def filter_zeros(guide: Tree, t: Tree) -> Tree:
    """``t`` with 1 wherever ``guide`` has a static 0."""
    if isinstance(guide, tuple):
        return transform(filter_zeros, guide, t)
    return repeat_like(t, ONE) if is_constant(guide, 0) else t


def _divide(a: Tree, b: Tree, leaf: Callable[[int, int], int]) -> Tree:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return transform(lambda x, y: _divide(x, y, leaf), a, append_to(len(a), b, ONE))
    if isinstance(a, tuple):
        result: list[Tree] = []
        for mode in a:
            result.append(_divide(mode, b, leaf))
            b = _divide(b, mode, leaf)
        return tuple(result)
    return leaf(_integer(a), product(b))


def ceil_div(a: Tree, b: Tree) -> Tree:
    """Division, rounded up; an integer divides the modes one after the other."""
    return _divide(a, b, ceil_div_int)


def shape_div(a: Tree, b: Tree) -> Tree:
    """As ``ceil_div``; of static integers one must divide the other."""
    return _divide(a, b, _shape_div)


def _shape_div(a: int, b: int) -> int:
    if isinstance(a, Static) and isinstance(b, Static) and mod(a, b) and mod(b, a):
        raise Refusal(f"one of the two must divide the other (got {a} and {b})")
    return ceil_div_int(a, b)
