"""The vectors of an epilogue: scales of rows and columns, and a bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cutegen.config import GemmConfig
from cutegen.dtypes import DType, DTypeName, dtype

__all__ = ["VECTOR_NAMES", "Vector", "VectorName", "bias_type", "formula", "scale_type", "vectors_of"]

VectorName = Literal["scale_a", "scale_b", "bias"]

#: In the order of arguments and parameters.
VECTOR_NAMES: tuple[VectorName, ...] = ("scale_a", "scale_b", "bias")

_BIAS_TYPES = frozenset(("f16", "bf16", "f32", "f64"))


@dataclass(frozen=True, kw_only=True)
class Vector:
    """One vector that a kernel takes.

    Attributes:
        name: The argument's name.
        kind: As ``epilogue.<name>`` has it: ``tensor``, ``row`` or ``column``.
        dtype: Element type.
        extent: ``m`` or ``n``, the extent that it is as long as; ``1`` for one element.
    """

    name: VectorName
    kind: str
    dtype: DTypeName
    extent: Literal["1", "m", "n"]

    @property
    def element(self) -> DType:
        """The element type."""
        return dtype(self.dtype)

    def length(self, m: int, n: int) -> int:
        """Elements of the vector of an (M,N) output."""
        return {"1": 1, "m": m, "n": n}[self.extent]


def scale_type(config: GemmConfig) -> DTypeName:
    """In which alpha, beta and scales are applied: f32, or f64 where f32 would lose bits that D can hold."""
    if config.accumulator == "f64" or (config.accumulator == "s32" and config.d.dtype in ("s32", "f64")):
        return "f64"
    return "f32"


def bias_type(d: DTypeName) -> DTypeName:
    """The type of a bias: D's, or f32 where that has integers or 8 bits."""
    return d if d in _BIAS_TYPES else "f32"


def vectors_of(config: GemmConfig) -> tuple[Vector, ...]:
    """The vectors that a resolved config's kernel takes, in the order of :data:`VECTOR_NAMES`."""
    epilogue, extents = config.epilogue, {"tensor": "1", "row": "m", "column": "n"}
    types: dict[VectorName, DTypeName] = {
        "scale_a": "f32",
        "scale_b": "f32",
        "bias": bias_type(config.d.dtype or "f32"),
    }
    given = {name: getattr(epilogue, name) for name in VECTOR_NAMES}
    return tuple(
        Vector(name=name, kind=kind, dtype=types[name], extent=extents[kind])  # type: ignore[arg-type]
        for name, kind in given.items()
        if kind is not None
    )


def formula(config: GemmConfig) -> str:
    """What the kernel of a resolved config computes, in a line."""
    names = [vector.name for vector in vectors_of(config)]
    factors = "".join(f"{name} * " for name in names if name != "bias")
    return f"D = alpha * {factors}A * B^T{' + bias' if 'bias' in names else ''} + beta * C"
