"""Read tensors as the scales and the bias of a kernel, and say what is wrong with those that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutegen.errors import ArgumentError
from cutegen.operand_check import Matrix
from cutegen.vectors import VECTOR_NAMES, Vector

__all__ = ["ReadVector", "require_known"]


def require_known(wanted: Sequence[Vector], given: Sequence[object]) -> None:
    """Raise unless exactly the vectors that a kernel wants are given.

    Args:
        wanted: What it wants.
        given: Arguments in the order of ``VECTOR_NAMES``; None: left out.
    """
    kinds = {vector.name: vector for vector in wanted}
    for name, argument in zip(VECTOR_NAMES, given, strict=True):
        vector = kinds.get(name)
        if argument is not None and vector is None:
            raise ArgumentError(
                f"{name}: must be left out, as this kernel's config has no epilogue.{name} "
                f"(got {type(argument).__qualname__}); use a kernel built with epilogue: {{{name}: "
                f"{'column' if name == 'bias' else 'tensor'}}}"
            )
        if argument is None and vector is not None:
            what = {"1": "one element", "m": "M elements", "n": "N elements"}[vector.extent]
            raise ArgumentError(
                f"{name}: must be given: {what} of {vector.dtype}, as epilogue.{name} of this kernel is "
                f"{vector.kind} (got None)"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadVector:
    """A tensor's metadata, read as one vector.

    Attributes:
        vector: What the kernel wants.
        length: Elements.
    """

    vector: Vector
    length: int

    @classmethod
    def read(cls, vector: Vector, shape: Sequence[int], stride: Sequence[int], m: int, n: int) -> ReadVector:
        """Check shape and strides.

        Args:
            vector: What the kernel wants.
            shape: Extents: of one mode, or of two of which one is 1, or none for one element.
            stride: Strides in elements.
            m: Rows of D.
            n: Columns of D.

        Raises:
            ArgumentError: It has another number of elements, or they are not side by side.
        """
        name, length = vector.name, vector.length(m, n)
        long = [i for i, extent in enumerate(shape) if extent != 1]
        found = shape[long[0]] if long else 1
        if len(shape) > 2 or len(long) > 1 or found != length:
            raise ArgumentError(
                f"{name}: must have shape {_shapes(vector, length)}, as epilogue.{name} of this kernel is "
                f"{vector.kind} (got {tuple(shape)}){_other(vector, found, m, n)}"
            )
        if length > 1 and stride[long[0]] != 1:
            raise ArgumentError(
                f"{name}: must be contiguous (got shape {tuple(shape)} with strides {tuple(stride)})"
            )
        return cls(vector=vector, length=length)

    def require_place(self, address: int, d: Matrix, d_address: int) -> None:
        """Raise unless the address is that of whole elements, and D does not overwrite them."""
        name, size = self.vector.name, self.vector.element.bytes
        if address % size:
            raise ArgumentError(
                f"{name}: the address must be a multiple of its elements' {size} bytes (got {address:#x})"
            )
        if address < d_address + d.span_bytes and d_address < address + self.length * size:
            raise ArgumentError(
                f"out: must not overlap {name} in memory: other CTAs still read it "
                f"(got out at {d_address:#x}, {name} at {address:#x})"
            )


def _shapes(vector: Vector, length: int) -> str:
    if vector.extent == "1":
        return "(1,) or ()"
    mode = vector.extent.upper()
    return f"({mode},) or {f'({mode},1)' if mode == 'M' else f'(1,{mode})'} with {mode} = {length}"


def _other(vector: Vector, found: int, m: int, n: int) -> str:
    """A config for what was given instead."""
    if vector.name == "bias":
        return ""
    own, kind = (m, "row") if vector.name == "scale_a" else (n, "column")
    fits = "tensor" if found == 1 else kind if found == own else None
    if fits in (None, vector.kind):
        return ""
    return f"; use a kernel built with epilogue: {{{vector.name}: {fits}}}"
