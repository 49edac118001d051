"""Random inputs whose results are exact: small integers, and scales that are powers of two."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName, dtype
from cutegen.numerics import encode, is_torch
from cutegen.vectors import vectors_of

__all__ = ["Inputs", "accumulator_type", "exact_inputs", "output_type", "value_range"]


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Operands in the layouts of a config: A is (M,K), B is (N,K), C is (M,N) or None.

    Attributes:
        a: A; likewise b and c.
        b: See a.
        c: See a.
        vectors: Those of ``scale_a``, ``scale_b`` and ``bias`` that the config has, each of one mode: keyword
            arguments of a kernel, of :func:`reference` and :func:`check`.
    """

    a: Any
    b: Any
    c: Any
    vectors: Mapping[str, Any] = field(default_factory=dict)


def accumulator_type(config: GemmConfig) -> DTypeName:
    """In which a config's products are summed."""
    return config.accumulator or ("s32" if dtype(config.a.dtype).kind == "int" else "f32")


def output_type(config: GemmConfig) -> DTypeName:
    """The element type of a config's D."""
    return config.d.dtype or accumulator_type(config)


def value_range(config: GemmConfig, k: int) -> tuple[int, float]:
    """Largest magnitude and share of nonzeros of the integers in A and B.

    Every partial sum of products is to be exact in the accumulator. As long as they stay exact in the
    output too, at five standard deviations, larger magnitudes are taken: they show more mistakes.
    """
    exact = dtype(accumulator_type(config)).exact_int
    inputs = min(dtype(config.a.dtype).exact_int, dtype(config.b.dtype).exact_int)
    shown = min(dtype(output_type(config)).exact_int, exact)
    for magnitude in (4, 3, 2):
        spread = magnitude * (magnitude + 1) / 3 * max(k, 1) ** 0.5
        if magnitude <= inputs and k * magnitude**2 <= exact and 5 * spread <= shown:
            return magnitude, 1.0
    if k <= exact:
        return 1, 1.0
    # Products of {-1, 0, 1} are nonzero with probability p^2: keep their number 8 deviations below the limit.
    return 1, ((exact - 8 * exact**0.5) / k) ** 0.5


def exact_inputs(
    config: GemmConfig,
    m: int,
    n: int,
    k: int,
    *,
    seed: int = 0,
    with_c: bool = True,
    device: Any = None,
) -> Inputs:
    """Random small integers in a config's types and layouts.

    Args:
        config: The resolved config.
        m: Rows of A and D.
        n: Rows of B, columns of D.
        k: Columns of A and B.
        seed: Equal seeds give equal inputs on one kind of device.
        with_c: Whether to make C too.
        device: A torch device; left out: numpy arrays, which are the same on every machine.
    """
    magnitude, share = value_range(config, k)
    draw = _numpy_draw(seed) if device is None else _torch_draw(seed, device)
    a = _stored(draw, (m, k), 1 if config.a.major != "m" else 0, config.a.dtype, magnitude, share)
    b = _stored(draw, (n, k), 1 if config.b.major != "n" else 0, config.b.dtype, magnitude, share)
    c = None
    if with_c:
        c = _stored(
            draw, (m, n), 1 if config.c.major != "m" else 0, config.c.dtype or output_type(config), 4, 1.0
        )
    return Inputs(a=a, b=b, c=c, vectors=_exact_vectors(draw, config, m, n))


def _exact_vectors(draw: Draw, config: GemmConfig, m: int, n: int) -> dict[str, Any]:
    """Scales of 1/4, 1/2, 1 and 2, and a bias of small integers."""
    vectors: dict[str, Any] = {}
    for vector in vectors_of(config):
        shape = (vector.length(m, n), 1)
        values = draw(shape, -4, 4, 1.0) if vector.name == "bias" else 2.0 ** draw(shape, -2, 1, 1.0)
        vectors[vector.name] = _encoded(vector.dtype, values)[:, 0]
    return vectors


Draw = Callable[[tuple[int, int], int, int, float], Any]


def _numpy_draw(seed: int) -> Draw:
    import numpy as np

    rng = np.random.default_rng(seed)

    def draw(shape: tuple[int, int], low: int, high: int, share: float) -> Any:
        values = rng.integers(low, high + 1, shape).astype(np.float64)
        return values if share == 1.0 else values * (rng.random(shape) < 1.5 * share)

    return draw


def _torch_draw(seed: int, device: Any) -> Draw:
    import torch

    generator = torch.Generator(device=device).manual_seed(seed)

    def draw(shape: tuple[int, int], low: int, high: int, share: float) -> Any:
        values = torch.empty(shape, dtype=torch.float16, device=device)
        values.random_(low, high + 1, generator=generator)
        if share != 1.0:
            values *= torch.rand(shape, device=device, generator=generator) < 1.5 * share
        return values

    return draw


def _stored(
    draw: Draw, shape: tuple[int, int], major: int, name: DTypeName, magnitude: int, share: float
) -> Any:
    """Integers in [-magnitude, magnitude] (from 0 for unsigned types) with stride 1 along ``major``."""
    low = 0 if name == "u8" else -magnitude
    stored = _encoded(name, draw(shape if major == 1 else shape[::-1], low, magnitude, share))
    return stored if major == 1 else stored.T


def _encoded(name: DTypeName, values: Any) -> Any:
    """Values that were drawn, and that a type holds exactly, in its storage."""
    if is_torch(values):
        import torch

        return values.to(getattr(torch, dtype(name).torch))  # float16 holds them exactly
    return encode(name, values)
