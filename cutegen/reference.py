"""The float64 reference of D = alpha * scale_a * scale_b * A*B^T + bias + beta * C, and the check of a kernel's result against it.

Two ways to check:

- *Exact*: inputs of :func:`exact_inputs` are small integers, so that every partial sum is exactly
  representable in the accumulator whatever the order of summation; scales are powers of two. The result
  must then equal the reference after one rounding to the output type, bit for bit.
- *Within a tolerance* that follows from the number formats and grows with K; see :func:`tolerance`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName, dtype
from cutegen.errors import CheckFailedError
from cutegen.numerics import (
    decode,
    encode,
    in_range,
    is_torch,
    largest_rounding,
    round_to,
    unit_roundoff,
    where,
)
from cutegen.vectors import vectors_of

__all__ = [
    "Inputs",
    "Mismatch",
    "Report",
    "ThreadOf",
    "check",
    "exact_inputs",
    "operand_values",
    "reference",
    "tolerance",
    "value_range",
]

ThreadOf = Callable[[int, int], int]
"""From (row, column) in the CTA tile to the thread that computes that element."""

_BLOCK = 1 << 26  # elements of float64 worked on at a time
_K_STEP = 8  # elements of K that a tensor core sums at least before it rounds
_DEVIATIONS = 6  # standard deviations of a random partial sum that count as possible


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


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """The first element that is wrong.

    Attributes:
        m: Row of D; likewise the column n.
        got: The stored value.
        want: The value that should be there.
        allowed: How far they may differ.
        tile: (m, n) index of the CTA tile.
        thread: The thread of that CTA, if its mapping is known.
    """

    m: int
    n: int
    got: float
    want: float
    allowed: float
    tile: tuple[int, int]
    thread: int | None

    def __str__(self) -> str:
        where = f"CTA tile ({self.tile[0]}, {self.tile[1]})"
        if self.thread is not None:
            where += f", warp {self.thread // 32}, lane {self.thread % 32}"
        slack = f" within {self.allowed:.3g}" if self.allowed else ""
        return f"D({self.m}, {self.n}) must be {self.want:.17g}{slack} (got {self.got:.17g}); {where}"


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a check found.

    Attributes:
        total: Elements compared.
        bad: Elements that are wrong.
        first: The first of them in row order.
        worst: Largest finite difference; within a tolerance as a share of what is allowed.
        repro: A command or call that shows the same again.
    """

    total: int
    bad: int
    first: Mismatch | None
    worst: float
    repro: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.bad == 0

    def __str__(self) -> str:
        if self.first is None:
            return f"all {self.total} elements are right"
        lines = [f"{self.bad} of {self.total} elements are wrong; the first: {self.first}"]
        return "\n  ".join(lines + ([f"reproduce with: {self.repro}"] if self.repro else []))

    def require(self) -> None:
        """Raise :class:`CheckFailedError` unless nothing is wrong."""
        if not self.ok:
            raise CheckFailedError(str(self))


def _accumulator(config: GemmConfig) -> DTypeName:
    return config.accumulator or ("s32" if dtype(config.a.dtype).kind == "int" else "f32")


def _output(config: GemmConfig) -> DTypeName:
    return config.d.dtype or _accumulator(config)


def value_range(config: GemmConfig, k: int) -> tuple[int, float]:
    """Largest magnitude and share of nonzeros of the integers in A and B.

    Every partial sum of products is to be exact in the accumulator. As long as they stay exact in the
    output too, at five standard deviations, larger magnitudes are taken: they show more mistakes.
    """
    exact = dtype(_accumulator(config)).exact_int
    inputs = min(dtype(config.a.dtype).exact_int, dtype(config.b.dtype).exact_int)
    shown = min(dtype(_output(config)).exact_int, exact)
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
            draw, (m, n), 1 if config.c.major != "m" else 0, config.c.dtype or _output(config), 4, 1.0
        )
    return Inputs(a=a, b=b, c=c, vectors=_exact_vectors(draw, config, m, n))


def _exact_vectors(draw: Draw, config: GemmConfig, m: int, n: int) -> dict[str, Any]:
    """Scales of 1/4, 1/2, 1 and 2, and a bias of small integers."""
    vectors = {}
    for vector in vectors_of(config):
        shape = (vector.length(m, n), 1)
        if vector.name == "bias":
            values = draw(shape, -4, 4, 1.0)
        else:
            values = 2.0 ** draw(shape, -2, 1, 1.0)
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


def operand_values(name: DTypeName, array: Any) -> Any:
    """What the tensor core sees of stored operands, as float64; tf32 is truncated."""
    if name != "tf32":
        return decode(name, array)
    if is_torch(array):
        import torch

        return (array.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32).to(torch.float64)
    import numpy as np

    bits = np.ascontiguousarray(array).view(np.uint32) & np.uint32(0xFFFFE000)
    return bits.view(np.float32).astype(np.float64)


def reference(
    config: GemmConfig,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    scale_a: Any = None,
    scale_b: Any = None,
    bias: Any = None,
) -> Any:
    """D in float64, not rounded to the output type; C is not read when beta is 0.

    Scales and bias have any shape with as many elements as the config says.
    """
    factors = _factors(config, alpha, scale_a, scale_b, bias)
    return _evaluate(config, *_values(config, a, b), c, factors, beta)


def _values(config: GemmConfig, a: Any, b: Any) -> tuple[Any, Any]:
    return operand_values(config.a.dtype, a), operand_values(config.b.dtype, b)


@dataclass(frozen=True, kw_only=True)
class _Factors:
    """What the product is multiplied by, of shape () or (M,1) and () or (1,N), and what is added to each row."""

    rows: Any
    columns: Any
    bias: Any

    def of_rows(self, rows: slice) -> _Factors:
        """The factors of some rows of D."""
        return self if isinstance(self.rows, float) or self.rows.shape[0] == 1 else replace(self, rows=self.rows[rows])


def _factors(config: GemmConfig, alpha: float, scale_a: Any, scale_b: Any, bias: Any) -> _Factors:
    given = {"scale_a": scale_a, "scale_b": scale_b, "bias": bias}
    values = {v.name: decode(v.dtype, given[v.name]).reshape(-1) for v in vectors_of(config)}
    rows, columns, bias = (values.get(name) for name in ("scale_a", "scale_b", "bias"))
    return _Factors(
        rows=float(alpha) if rows is None else alpha * rows[:, None],
        columns=1.0 if columns is None else columns[None, :],
        bias=None if bias is None else bias[None, :],
    )


def _evaluate(config: GemmConfig, x: Any, y: Any, c: Any, factors: _Factors, beta: float) -> Any:
    value = factors.rows * (x @ y.T) * factors.columns
    if factors.bias is not None:
        value = value + factors.bias
    if beta != 0:
        value = value + beta * decode(config.c.dtype or _output(config), c)
    return value


def tolerance(
    config: GemmConfig,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    scale_a: Any = None,
    scale_b: Any = None,
    bias: Any = None,
) -> Any:
    """How far each element may be from the reference, for inputs that are not exact.

    ``h_out(D) + u_acc * (2 + K / 8) * (|D| + 6 sigma)``, where h is the largest error of rounding D to its
    type (half a unit in the last place), u the unit roundoff (twice that for the accumulator, because tensor
    cores truncate; that of the f32 epilogue for integers), K / 8 the number of roundings, and sigma, the size
    of a random partial sum, is ``|alpha| * |A(m,:)| * |B(n,:)| / sqrt(K)``, times the scales. The reference it is taken from is
    not rounded: a sum beside the middle between two values may be rounded to either.
    """
    x, y = _values(config, a, b)
    factors = _factors(config, alpha, scale_a, scale_b, bias)
    return _allowed(config, x, y, _evaluate(config, x, y, c, factors, beta), c, factors, beta)


def _allowed(config: GemmConfig, x: Any, y: Any, want: Any, c: Any, factors: _Factors, beta: float) -> Any:
    k = x.shape[1]
    norms = ((x * x).sum(1) ** 0.5, (y * y).sum(1) ** 0.5)
    sigma = abs(factors.rows) * norms[0][:, None] * norms[1][None, :] * abs(factors.columns) / max(k, 1) ** 0.5
    size = abs(want)
    if factors.bias is not None:
        size = size + abs(factors.bias)
    if beta != 0:
        size = size + abs(beta * decode(config.c.dtype or _output(config), c))
    per_step = 2 * (unit_roundoff(_accumulator(config)) or unit_roundoff("f32"))
    rounding = per_step * (2 + k / _K_STEP)
    allowed = largest_rounding(_output(config), want) + rounding * (size + _DEVIATIONS * sigma)
    return where(in_range(_output(config), want), allowed, 0 * allowed)


def _expected(name: DTypeName, exactly: Any, *, exact: bool) -> Any:
    """What is compared: the rounded value, or the value itself as far as the type reaches."""
    rounded = round_to(name, exactly)
    return rounded if exact else where(in_range(name, exactly), exactly, rounded)


def check(
    config: GemmConfig,
    got: Any,
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    scale_a: Any = None,
    scale_b: Any = None,
    bias: Any = None,
    exact: bool = True,
    thread_of: ThreadOf | None = None,
    repro: str = "",
) -> Report:
    """Compare a kernel's result with the reference.

    Args:
        config: The resolved config.
        got: D as the kernel stored it, (M,N).
        a: A, (M,K).
        b: B, (N,K).
        c: C, (M,N); not read when beta is 0.
        alpha: Factor of the product.
        beta: Factor of C.
        scale_a: If the config has it; likewise scale_b and bias.
        scale_b: See scale_a.
        bias: See scale_a.
        exact: Whether D must equal the reference bit for bit; otherwise it must be within :func:`tolerance`.
        thread_of: Which thread computes an element of the CTA tile, to be named in the report.
        repro: How to show the same again, for the report.
    """
    out = _output(config)
    y = operand_values(config.b.dtype, b)
    whole = _factors(config, alpha, scale_a, scale_b, bias)
    total = bad = 0
    worst = 0.0
    first: Mismatch | None = None
    for rows in _row_blocks(got.shape, a.shape[1]):
        x = operand_values(config.a.dtype, a[rows])
        part, factors = None if c is None else c[rows], whole.of_rows(rows)
        with _quiet():
            exactly = _evaluate(config, x, y, part, factors, beta)
            want, value = _expected(out, exactly, exact=exact), decode(out, got[rows])
            allowed = None if exact else _allowed(config, x, y, exactly, part, factors, beta)
            wrong, share = _differences(value, want, allowed)
        total += value.shape[0] * value.shape[1]
        worst = max(worst, share)
        count = int(wrong.sum())
        if count and first is None:
            first = _first(config, rows.start, wrong, value, want, allowed, thread_of)
        bad += count
    return Report(total=total, bad=bad, first=first, worst=worst, repro=repro)


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings from numpy about the infinities and NaNs that are to be compared."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        yield
        return
    with numpy.errstate(all="ignore"):
        yield


def _differences(value: Any, want: Any, allowed: Any) -> tuple[Any, float]:
    """Which elements are wrong, and the largest finite difference (as a share of what is allowed)."""
    same = (value == want) | ((value != value) & (want != want))
    share = abs(value - want)
    if allowed is not None:
        share = share / allowed
        same = same | (share <= 1)
    finite = share[~same & (share < float("inf"))] if allowed is None else share[share < float("inf")]
    return ~same, float(finite.max()) if finite.shape[0] else 0.0


def _row_blocks(shape: tuple[int, ...], k: int) -> Iterator[slice]:
    m, n = shape
    step = max(1, min(m, _BLOCK // max(n, k, 1)))
    if n:
        yield from (slice(start, min(start + step, m)) for start in range(0, m, step))


def _first(
    config: GemmConfig,
    start: int,
    wrong: Any,
    value: Any,
    want: Any,
    allowed: Any,
    thread_of: ThreadOf | None,
) -> Mismatch:
    row = int(wrong.any(1).nonzero()[0][0])
    column = int(wrong[row].nonzero()[0][0])
    m, n = start + row, column
    blk_m, blk_n = (config.tile or (1, 1, 1))[:2]
    return Mismatch(
        m=m,
        n=n,
        got=float(value[row, column]),
        want=float(want[row, column]),
        allowed=0.0 if allowed is None else float(allowed[row, column]),
        tile=(m // blk_m, n // blk_n),
        thread=None if thread_of is None else thread_of(m % blk_m, n % blk_n),
    )
