"""The element types that cutegen knows, under one name each.

Source of the C++ names: ``cute/numeric/numeric_types.hpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["ALIASES", "DTYPES", "DType", "DTypeName", "dtype"]

DTypeName = Literal["f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s32", "e4m3", "e5m2"]


@dataclass(frozen=True, kw_only=True)
class DType:
    """One element type.

    Attributes:
        name: cutegen's name.
        bits: Storage size in bits.
        cxx: The CuTe C++ type.
        torch: Attribute name in ``torch``; tf32 is stored as float32.
        kind: ``float`` or ``int``.
        exact_int: Largest n such that every integer in [-n, n] is representable.
    """

    name: DTypeName
    bits: int
    cxx: str
    torch: str
    kind: Literal["float", "int"]
    exact_int: int

    @property
    def bytes(self) -> int:
        """Storage size in bytes."""
        return self.bits // 8


def _d(
    name: DTypeName,
    bits: int,
    cxx: str,
    torch: str,
    kind: Literal["float", "int"],
    exact_int: int,
) -> DType:
    return DType(name=name, bits=bits, cxx=cxx, torch=torch, kind=kind, exact_int=exact_int)


DTYPES: dict[DTypeName, DType] = {
    d.name: d
    for d in (
        _d("f16", 16, "half_t", "float16", "float", 2**11),
        _d("bf16", 16, "bfloat16_t", "bfloat16", "float", 2**8),
        _d("tf32", 32, "tfloat32_t", "float32", "float", 2**11),
        _d("f32", 32, "float", "float32", "float", 2**24),
        _d("f64", 64, "double", "float64", "float", 2**53),
        _d("s8", 8, "int8_t", "int8", "int", 127),
        _d("u8", 8, "uint8_t", "uint8", "int", 255),
        _d("s32", 32, "int32_t", "int32", "int", 2**31 - 1),
        _d("e4m3", 8, "float_e4m3_t", "float8_e4m3fn", "float", 2**4),
        _d("e5m2", 8, "float_e5m2_t", "float8_e5m2", "float", 2**3),
    )
}

ALIASES: dict[str, DTypeName] = {
    "fp16": "f16",
    "float16": "f16",
    "half": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "fp32": "f32",
    "float": "f32",
    "float64": "f64",
    "fp64": "f64",
    "double": "f64",
    "int8": "s8",
    "i8": "s8",
    "uint8": "u8",
    "int32": "s32",
    "i32": "s32",
    "fp8_e4m3": "e4m3",
    "float8_e4m3fn": "e4m3",
    "fp8_e5m2": "e5m2",
    "float8_e5m2": "e5m2",
}

if set(DTYPES) != set(get_args(DTypeName)):  # one list, stated twice for the type checker
    raise RuntimeError("DTYPES and DTypeName disagree")


def dtype(name: DTypeName) -> DType:
    """The element type called ``name``."""
    return DTYPES[name]
