"""Layouts behind a swizzle: ``cute/swizzle.hpp`` and ``cute/swizzle_layout.hpp``."""

from __future__ import annotations

from typing import Any

from cutegen.layout.swizzle import Swizzle
from cutegen.playground.algebra import composition
from cutegen.playground.compact import compact_major
from cutegen.playground.complement import left_inverse, right_inverse
from cutegen.playground.coordinates import crd2idx, dice, idx2crd, slice_tree
from cutegen.playground.integers import ONE, ZERO, Refusal, Static, add, is_constant, mul, sub
from cutegen.playground.layouts import Composed, Layout, MixedBits, text
from cutegen.playground.tuples import Tree, Underscore, product, repeat, transform

__all__ = ["apply", "compose", "inverse", "make_swizzle", "offset_of", "slice_and_offset", "through"]

Bits = int | MixedBits


def masks(swizzle: Swizzle) -> tuple[int, int]:
    """The bits that are read (Y) and those that are changed (Z)."""
    bits = (1 << swizzle.b) - 1
    return bits << (swizzle.m + max(0, swizzle.s)), bits << (swizzle.m - min(0, swizzle.s))


def make_swizzle(y: int, z: int) -> Swizzle:
    """The swizzle that reads the bits ``y`` and changes the bits ``z``."""
    low_y, low_z = ((y & -y).bit_length() - 1, (z & -z).bit_length() - 1) if y and z else (0, 0)
    found = Swizzle(bin(y).count("1"), min(low_y, low_z), low_y - low_z)
    if y < 0 or z < 0 or bin(y).count("1") != bin(z).count("1") or masks(found) != (y, z):
        raise Refusal(f"the bits of a swizzle must be two runs of equal length (got {y:#b} and {z:#b})")
    return found


def _mixed(static: int, dynamic: int, flags: int) -> Bits:
    flags &= ~static
    return MixedBits(static, dynamic & flags, flags) if flags else Static(static)


def _and(a: Bits, mask: int) -> Bits:
    if isinstance(a, MixedBits):
        return _mixed(a.static & mask, a.dynamic, a.flags & mask)
    return Static(a & mask) if isinstance(a, Static) or mask == 0 else int(a) & mask


def _xor(a: Bits, b: Bits) -> Bits:
    if isinstance(a, Static) and isinstance(b, Static):
        return Static(int(a) ^ int(b))
    if isinstance(a, (MixedBits, Static)) and isinstance(b, (MixedBits, Static)):
        x = a if isinstance(a, MixedBits) else MixedBits(int(a), 0, 0)
        y = b if isinstance(b, MixedBits) else MixedBits(int(b), 0, 0)
        flags = x.flags | y.flags
        return _mixed((x.static ^ y.static) & ~flags, int(x) ^ int(y), flags)
    return int(a) ^ int(b)


def _shift(a: Bits, right: int) -> Bits:
    def move(x: int) -> int:
        return x >> right if right >= 0 else x << -right

    if isinstance(a, MixedBits):
        return _mixed(move(a.static), move(a.dynamic), move(a.flags))
    return Static(move(int(a))) if isinstance(a, Static) else move(a)


def apply(swizzle: Swizzle, offset: Bits) -> Bits:
    """The swizzled offset."""
    return _xor(offset, _shift(_and(offset, masks(swizzle)[0]), swizzle.s))


def _number(bits: Bits) -> int:
    return int(bits) if isinstance(bits, MixedBits) else bits


def compose(outer: Any, offset: Any, inner: Any) -> Any:
    """``outer o offset o inner``; a swizzle of no bits at offset 0 is none."""
    if isinstance(outer, Swizzle) and outer.b == 0 and is_constant(offset, 0):
        return inner
    return Composed(outer, offset, inner)


def _evaluate(function: Any, coord: Tree) -> Bits:
    if isinstance(function, Swizzle):
        return apply(function, coord)
    return crd2idx(coord, function.shape, function.stride)


def offset_of(layout: Any, coord: Tree) -> int:
    """The offset of a coordinate."""
    if not isinstance(layout, Composed):
        return crd2idx(coord, layout.shape, layout.stride)
    return _number(
        _evaluate(layout.outer, add(_number(layout.offset), _number(_evaluate(layout.inner, coord))))
    )


def _mixed_bits(shape: Tree, stride: Tree, coord: Tree) -> Bits:
    if isinstance(shape, tuple):
        result: Bits = ZERO
        for bits in transform(_mixed_bits, shape, stride, coord):
            result = _xor(result, bits)
        return result
    reach = mul(shape, stride)
    if not isinstance(reach, Static) or (reach != 0 and reach & (reach - 1)):
        raise Refusal(
            "a coordinate put into a swizzled layout needs modes of static powers of two"
            f" (got {text(Layout(shape, stride))})",
            "write them as _8, or take every integer as static with --static",
        )
    offset, flags = mul(coord, stride), mul(sub(shape, ONE), stride)
    return _and(offset, int(flags)) if isinstance(offset, Static) else _mixed(0, int(offset), int(flags))


def _strides(first: bool, z: int, y: int, offset: Bits, count: int) -> tuple[int, ...]:
    base, probe = ((z, -z), y) if first else ((y + z, y - z), z)
    result = []
    for i in range(count):
        bits = _and(offset, probe << i)
        chosen = (base[0] if int(bits) == 0 else base[1]) << i
        result.append(Static(chosen) if isinstance(bits, Static) or base[0] == base[1] else chosen)
    return tuple(result)


def slice_and_offset(layout: Any, coord: Tree) -> tuple[Any, int]:
    """The modes that have an underscore, and the offset of the others."""
    if isinstance(layout, Layout):
        return _slice(layout, coord), crd2idx(coord, layout.shape, layout.stride)
    if not isinstance(layout.outer, Swizzle):
        inner, offset = slice_and_offset(layout.inner, coord)
        return Composed(layout.outer, add(_number(layout.offset), offset), inner), ZERO
    if not _has_numbers(coord):
        return compose(layout.outer, layout.offset, _slice(layout.inner, coord)), ZERO
    return _slice_swizzled(layout, coord)


def _has_numbers(coord: Tree) -> bool:
    return any(map(_has_numbers, coord)) if isinstance(coord, tuple) else not isinstance(coord, Underscore)


def _slice(layout: Layout, coord: Tree) -> Layout:
    return Layout(slice_tree(coord, layout.shape), slice_tree(coord, layout.stride))


def _slice_swizzled(layout: Composed, coord: Tree) -> tuple[Any, int]:
    swizzle: Swizzle = layout.outer
    b, m, s = swizzle.b, swizzle.m, abs(swizzle.s)
    shape = (Static(1 << m), Static(1 << b), Static(1 << (s - b)), Static(1 << b), ONE)
    d = compact_major(shape)
    others = Layout(shape, (d[0], ZERO, d[2], ZERO, product(shape)))
    own = Layout(shape, (ZERO, d[1], ZERO, d[3], ZERO))

    kept = _slice(layout.inner, coord)
    diced = Layout(dice(coord, layout.inner.shape), dice(coord, layout.inner.stride))
    at = dice(coord, coord)
    diced_others, diced_own = composition(others, diced), composition(own, diced)
    bits = _mixed_bits(diced_own.shape, diced_own.stride, idx2crd(at, diced_own.shape))
    inside = _xor(layout.offset, bits)
    outside = crd2idx(at, diced_others.shape, diced_others.stride)

    kept_own = composition(own, kept)
    active = crd2idx(sub(product(kept_own.shape), ONE), kept_own.shape, kept_own.stride)
    if isinstance(active, Static) and int(active) & ~int(_number(apply(swizzle, active))):
        return compose(swizzle, inside, kept), outside
    y, z = masks(swizzle)
    y, z = y & -y, z & -z
    low, high = _strides(z < y, z, y, inside, b), _strides(z > y, z, y, inside, b)
    twos = repeat(b, Static(2))
    plain = Layout(
        (Static(1 << m), twos, Static(1 << (s - b)), twos, ONE),
        (ONE, low, Static(1 << (m + b)), high, Static(1 << (m + b + s))),
    )
    return composition(plain, kept), add(_number(apply(swizzle, inside)), outside)


def inverse(layout: Any, *, left: bool) -> Any:
    """The left or right inverse; that of a swizzled layout ends with the swizzle, or begins with one."""
    if isinstance(layout, Layout):
        return left_inverse(layout) if left else right_inverse(layout)
    if isinstance(layout, int):
        return sub(ZERO, layout)
    if isinstance(layout, (Swizzle, Underscore)):
        return layout
    if not isinstance(layout, Composed) or not isinstance(layout.outer, Swizzle):
        raise Refusal(f"an inverse must be taken of a layout or a swizzled layout (got {text(layout)})")
    inner = inverse(layout.inner, left=left)
    if not isinstance(layout.offset, Static):
        need = "CuTe inverts a swizzled layout only when its offset is static"
        raise Refusal(f"{need} (got {text(layout.offset)})", f"write _{int(layout.offset)}")
    if layout.offset != 0:
        return compose(inner, sub(ZERO, _number(layout.offset)), layout.outer)
    return through(inner, layout.outer)


def through(layout: Layout, swizzle: Swizzle) -> Any:
    """``layout o swizzle``, as a swizzle of the layout's own bits after the layout."""
    y, z = (crd2idx(Static(mask), layout.shape, layout.stride) for mask in masks(swizzle))
    if not (isinstance(y, Static) and isinstance(z, Static)):
        need = "to be composed with a swizzle, a layout must have static strides"
        raise Refusal(f"{need} (got {text(layout)})", "use --static")
    return compose(make_swizzle(int(y), int(z)), ZERO, layout)
