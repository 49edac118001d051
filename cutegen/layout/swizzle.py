"""``Swizzle<B,M,S>``: xor of address bits, as ``cute/swizzle.hpp`` defines it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutegen.layout.algebra import bit_union

__all__ = ["NO_SWIZZLE", "Swizzle", "SwizzledView", "split_view"]


@dataclass(frozen=True)
class Swizzle:
    """Xors the ``b`` bits from ``m + max(s, 0)`` into those from ``m - min(s, 0)``."""

    b: int
    m: int
    s: int

    def __call__(self, offset: int) -> int:
        """The swizzled offset."""
        if self.b == 0:
            return offset
        source = ((1 << self.b) - 1) << (self.m + max(0, self.s))
        bits = offset & source
        return offset ^ (bits >> self.s if self.s >= 0 else bits << -self.s)

    @property
    def period(self) -> int:
        """Offsets that differ by a multiple of this many elements are swizzled alike."""
        return 1 if self.b == 0 else 1 << (self.b + self.m + abs(self.s))

    @property
    def reach(self) -> int:
        """Offsets below this many elements hold every bit that the swizzle changes."""
        return 1 if self.b == 0 else 1 << (self.b + self.m - min(0, self.s))

    def cxx(self) -> str:
        """The C++ type."""
        return f"Swizzle<{self.b},{self.m},{self.s}>"

    def __str__(self) -> str:
        return "none" if self.b == 0 else f"Swizzle<{self.b},{self.m},{self.s}>"


NO_SWIZZLE = Swizzle(0, 4, 3)


@dataclass(frozen=True)
class SwizzledView:
    """How a kernel addresses ``swizzle(thread + step)`` with one register per thread.

    When the bits of all thread parts and of all steps are disjoint, the sum is an xor and the swizzle
    is linear over it: ``swizzle(t + s) = (swizzle(t) ^ (z & mask)) + (z & ~mask)`` with
    ``z = swizzle(s)``. ``mask`` holds all bits that a swizzled thread part can have.

    Attributes:
        linear: Whether the identity above holds; otherwise the swizzle is applied to each sum.
        mask: The bits to xor, in elements.
    """

    linear: bool
    mask: int


def split_view(swizzle: Swizzle, thread: Sequence[int], step: Sequence[int]) -> SwizzledView:
    """Decide how the sums of ``thread`` and ``step`` offsets can be addressed."""
    if swizzle.b == 0:
        return SwizzledView(linear=True, mask=0)
    if bit_union(thread) & bit_union(step):
        return SwizzledView(linear=False, mask=0)
    return SwizzledView(linear=True, mask=bit_union(swizzle(t) for t in thread))
