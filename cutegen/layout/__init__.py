"""Layouts: algebra, swizzles, partitions of tiles among threads, shared-memory banks."""

from cutegen.layout.algebra import Layout, additive, bit_union, complement, fit, product
from cutegen.layout.swizzle import NO_SWIZZLE, Swizzle, SwizzledView, split_view

__all__ = [
    "NO_SWIZZLE",
    "Layout",
    "Swizzle",
    "SwizzledView",
    "additive",
    "bit_union",
    "complement",
    "fit",
    "product",
    "split_view",
]
