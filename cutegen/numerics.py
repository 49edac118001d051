"""Element types as numbers: rounding to a type, and reading and writing arrays of types that numpy lacks.

Arrays are numpy arrays or torch tensors on any device. Values are worked on as float64, which holds every
value of every type here exactly. In numpy, bf16 is kept as uint16 and the two fp8 types as uint8.

What a kernel stores for a value out of range:

- f16 and bf16 round to nearest even, and values beyond the largest finite one become infinite, as in torch;
- e4m3 and e5m2 saturate to the largest finite value, as ``cvt.rn.satfinite`` does (torch gives NaN or inf);
- integers round to nearest even and saturate.

A tensor core ignores the bits of a tf32 operand beyond its 10-bit mantissa: operands are truncated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutegen.dtypes import DTypeName, dtype

__all__ = [
    "FORMATS",
    "FloatFormat",
    "decode",
    "encode",
    "in_range",
    "is_torch",
    "largest_rounding",
    "round_to",
    "storage",
    "unit_roundoff",
    "where",
]


@dataclass(frozen=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format.

    Attributes:
        precision: Bits of the significand with the hidden one.
        min_exponent: Exponent of the smallest normal value.
        largest: The largest finite value.
        saturates: Whether larger values become the largest finite one rather than infinite.
    """

    precision: int
    min_exponent: int
    largest: float
    saturates: bool = False


_F32 = FloatFormat(precision=24, min_exponent=-126, largest=float.fromhex("0x1.fffffep127"))

FORMATS: dict[DTypeName, FloatFormat] = {
    "f16": FloatFormat(precision=11, min_exponent=-14, largest=65504.0),
    "bf16": FloatFormat(precision=8, min_exponent=-126, largest=float.fromhex("0x1.fep127")),
    "tf32": _F32,  # how it is stored
    "f32": _F32,
    "f64": FloatFormat(precision=53, min_exponent=-1022, largest=float.fromhex("0x1.fffffffffffffp1023")),
    "e4m3": FloatFormat(precision=4, min_exponent=-6, largest=448.0, saturates=True),
    "e5m2": FloatFormat(precision=3, min_exponent=-14, largest=57344.0, saturates=True),
}
_RANGE = {"s8": (-128, 127), "u8": (0, 255), "s32": (-(2**31), 2**31 - 1)}
_NUMPY = {
    "f16": "float16",
    "bf16": "uint16",
    "tf32": "float32",
    "f32": "float32",
    "f64": "float64",
    "s8": "int8",
    "u8": "uint8",
    "s32": "int32",
    "e4m3": "uint8",
    "e5m2": "uint8",
}


def unit_roundoff(name: DTypeName) -> float:
    """Largest relative error of rounding a value in range to a type; 0 for integers."""
    return 2.0 ** -FORMATS[name].precision if name in FORMATS else 0.0


def largest_rounding(name: DTypeName, values: Any) -> Any:
    """Largest absolute error of rounding values in range to a type: half a unit in the last place."""
    if name not in FORMATS:
        return abs(values) * 0 + 0.5
    size, least = abs(values), 2.0 ** FORMATS[name].min_exponent
    return unit_roundoff(name) * where(size > least, size, least)


def in_range(name: DTypeName, values: Any) -> Any:
    """Whether a type reaches as far as values do; false for NaN."""
    if name in _RANGE:
        low, high = _RANGE[name]
        return (values >= low) & (values <= high)
    return abs(values) <= FORMATS[name].largest


def where(condition: Any, values: Any, other: Any) -> Any:
    """Elements of ``values`` where a condition holds, else of ``other``."""
    if is_torch(condition):
        import torch

        return torch.where(condition, values, other)
    import numpy as np

    return np.where(condition, values, other)


def is_torch(array: Any) -> bool:
    """Whether an array is a torch tensor."""
    return type(array).__module__.partition(".")[0] == "torch"


def storage(name: DTypeName, *, torch: Any = None) -> Any:
    """The dtype in which numpy, or torch if it is given, holds a type."""
    if torch is not None:
        return getattr(torch, dtype(name).torch)
    import numpy

    return numpy.dtype(_NUMPY[name])


def round_to(name: DTypeName, values: Any) -> Any:
    """float64 values rounded to what a kernel stores in a type, still as float64."""
    if is_torch(values):
        return _round_torch(name, values)
    import numpy as np

    if name in _RANGE:
        low, high = _RANGE[name]
        return np.clip(np.rint(np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)), low, high)
    fmt = FORMATS[name]
    with np.errstate(over="ignore", invalid="ignore"):
        exponent = np.maximum(np.frexp(values)[1] - 1, fmt.min_exponent)
        unit = np.ldexp(1.0, exponent - (fmt.precision - 1))
        rounded = np.where(np.isfinite(values), np.rint(values / unit) * unit, values)
    limit = fmt.largest if fmt.saturates else np.inf
    return np.where(np.abs(rounded) > fmt.largest, np.copysign(limit, rounded), rounded)


def _round_torch(name: DTypeName, values: Any) -> Any:
    import torch

    if name in _RANGE:
        low, high = _RANGE[name]
        return values.nan_to_num(nan=0.0, posinf=high, neginf=low).round().clamp(low, high)
    fmt = FORMATS[name]
    if fmt.saturates:
        values = values.clamp(-fmt.largest, fmt.largest)
    return values.to(storage(name, torch=torch)).to(torch.float64)


def decode(name: DTypeName, array: Any) -> Any:
    """Stored elements as float64 values."""
    if is_torch(array):
        import torch

        return array.to(torch.float64)
    import numpy as np

    if name == "bf16":
        with np.errstate(invalid="ignore"):  # signalling NaNs
            return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if name in ("e4m3", "e5m2"):
        return _fp8_values(name)[array]
    return array.astype(np.float64)


def encode(name: DTypeName, values: Any) -> Any:
    """float64 values in a type's storage, rounded as :func:`round_to` says."""
    rounded = round_to(name, values)
    if is_torch(values):
        import torch

        return rounded.to(storage(name, torch=torch))
    import numpy as np

    if name == "bf16":
        return (rounded.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if name in ("e4m3", "e5m2"):
        return _encode_fp8(name, rounded)
    return rounded.astype(_NUMPY[name])


def _fp8_values(name: DTypeName) -> Any:
    """The value of each of the 256 codes."""
    import numpy as np

    fmt = FORMATS[name]
    mantissa_bits = fmt.precision - 1
    code = np.arange(256)
    mantissa = (code & ((1 << mantissa_bits) - 1)).astype(np.float64)
    exponent = (code & 0x7F) >> mantissa_bits
    normal = exponent > 0
    scale = np.ldexp(1.0, np.maximum(exponent, 1) - 1 + fmt.min_exponent - mantissa_bits)
    values = (mantissa + np.where(normal, 1 << mantissa_bits, 0)) * scale
    if name == "e4m3":
        values[(code & 0x7F) == 0x7F] = np.nan
    else:
        top = exponent == 31
        values[top] = np.where(mantissa[top] == 0, np.inf, np.nan)
    return np.where(code >= 128, -values, values)


def _encode_fp8(name: DTypeName, rounded: Any) -> Any:
    import numpy as np

    table = _fp8_values(name)[:128]
    finite = table[np.isfinite(table)]  # ascending
    code = np.searchsorted(finite, np.abs(np.nan_to_num(rounded))).astype(np.uint8)
    code = np.where(np.isnan(rounded), 0x7F, code)
    return (code | np.where(np.signbit(rounded), 0x80, 0)).astype(np.uint8)
