"""Exact problems for emulated kernels: small integers as any element type, and exact references."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutegen import emulator
from cutegen.config import GemmConfig
from cutegen.plan import plan
from cutegen.render import Style, render

__all__ = ["Problem", "bfloat16_bits", "decode", "encode", "kernel_of"]

Array = Any


def bfloat16_bits(x: Array) -> Array:
    """The nearest bf16 of each number, as 16 bits."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _fp8_values(mantissa: int, bias: int) -> Array:
    codes = np.arange(256)
    exponent, fraction = (codes & 0x7F) >> mantissa, codes & ((1 << mantissa) - 1)
    normal = (1 + fraction / 2**mantissa) * 2.0 ** (exponent - bias)
    value = np.where(exponent == 0, fraction / 2**mantissa * 2.0 ** (1 - bias), normal)
    return np.where(codes & 0x80, -value, value)


_FP8 = {"e4m3": _fp8_values(3, 7), "e5m2": _fp8_values(2, 15)}
_NUMPY = {
    "f16": np.float16, "f32": np.float32, "tf32": np.float32, "f64": np.float64,
    "s8": np.int8, "u8": np.uint8, "s32": np.int32,
}  # fmt: skip


def encode(x: Array, dtype: str) -> Array:
    """Numbers in an element type; integers saturate, small integers are exact in all of them."""
    if dtype == "bf16":
        return bfloat16_bits(x)
    if dtype in _FP8:
        finite = 127 if dtype == "e4m3" else 124
        table = _FP8[dtype][:finite]
        sign = (np.asarray(x) < 0) * np.uint8(0x80)
        distance = np.abs(np.abs(np.asarray(x, dtype=np.float64))[..., None] - table)
        nearest = distance.argmin(-1)  # of two the lower code
        least = distance.min(-1, keepdims=True)
        nearest += (nearest % 2 == 1) & ((distance == least).sum(-1) == 2)  # ties to even
        return (nearest.astype(np.uint8) | sign).astype(np.uint8)
    kind = np.dtype(_NUMPY[dtype])
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return np.clip(np.rint(x), info.min, info.max).astype(kind)
    return np.asarray(x).astype(kind)


def decode(x: Array, dtype: str) -> Array:
    """What an element type's bits mean, in float64."""
    if dtype == "bf16":
        return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype in _FP8:
        return _FP8[dtype][x]
    return x.astype(np.float64)


def kernel_of(config: GemmConfig, style: Style = "resolved") -> emulator.EmulatedKernel:
    """The config's kernel for the CPU."""
    return emulator.compile(render(plan(config), style=style))


class Problem:
    """D = A*B^T + beta*C with entries of {-1, 0, 1}; D begins with bits that no result has."""

    def __init__(
        self, config: GemmConfig, m: int, n: int, k: int, *, beta: float = 0.0, seed: int = 0
    ) -> None:
        config = plan(config).config
        rng = np.random.default_rng(seed)
        low = 0 if "u8" in (config.a.dtype, config.b.dtype) else -1
        a, b = rng.integers(low, 2, (m, k)), rng.integers(low, 2, (n, k))
        c = rng.integers(-1, 2, (m, n))
        self.beta = beta
        self.dtype = config.d.dtype or "f32"
        self.a = _stored(a, config.a.dtype, config.a.major == "k")
        self.b = _stored(b, config.b.dtype, config.b.major == "k")
        self.c = _stored(c, config.c.dtype or "f32", config.c.major == "n")
        self.d = _stored(np.zeros((m, n)), self.dtype, config.d.major == "n")
        self.d[...] = np.frombuffer(b"\x7b" * self.d.itemsize, dtype=self.d.dtype)[0]
        self.vectors, row, column, bias = _vectors(config, rng, m, n)
        self.want = decode(encode(row * (a @ b.T) * column + bias + int(beta) * c, self.dtype), self.dtype)

    def run(self, kernel: emulator.EmulatedKernel, **options: Any) -> emulator.EmulatorReport:
        """Run a kernel on it."""
        return kernel.run(self.a, self.b, self.d, self.c, beta=self.beta, vectors=self.vectors, **options)

    @property
    def exact(self) -> bool:
        """Whether D is what it must be, bit for bit."""
        return bool(np.array_equal(decode(self.d, self.dtype), self.want))


def _vectors(
    config: GemmConfig, rng: np.random.Generator, m: int, n: int
) -> tuple[dict[str, Array], Array, Array, Array]:
    """Scales of powers of two and a small bias: as arguments, and as numbers (M,1), (1,N) and (1,N)."""
    numbers = {
        "scale_a": 2.0 ** rng.integers(-2, 2, (m, 1) if config.epilogue.scale_a == "row" else (1, 1)),
        "scale_b": 2.0 ** rng.integers(-2, 2, (1, n) if config.epilogue.scale_b == "column" else (1, 1)),
        "bias": rng.integers(-2, 3, (1, n)).astype(np.float64),
    }
    arguments = {}
    for name, units in (("scale_a", 1.0), ("scale_b", 1.0), ("bias", 0.0)):
        if getattr(config.epilogue, name) is None:
            numbers[name] = np.full((1, 1), units)
        else:
            wide = name == "bias" and config.d.dtype in ("f16", "bf16", "f64")
            arguments[name] = encode(numbers[name].ravel(), config.d.dtype if wide else "f32")
    return arguments, numbers["scale_a"], numbers["scale_b"], numbers["bias"]


def _stored(x: Array, dtype: str, rows_first: bool) -> Array:
    encoded = encode(x, dtype)
    return np.ascontiguousarray(encoded) if rows_first else np.asfortranarray(encoded)
