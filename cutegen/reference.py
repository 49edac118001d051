"""The float64 reference of a kernel's D, and the check of its result against it.

D is alpha * scale_a(m) * scale_b(n) * A*B^T + bias(n) + beta * C, with what the config has of the vectors.

Two ways to check:

- *Exact*: inputs of :func:`exact_inputs` are small integers, so that every partial sum is exactly
  representable in the accumulator whatever the order of summation; scales are powers of two. The result
  must then equal the reference after one rounding to the output type, bit for bit.
- *Within a tolerance* that follows from the number formats and grows with K; see :func:`tolerance`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName
from cutegen.errors import CheckFailedError
from cutegen.exact_inputs import Inputs, accumulator_type, exact_inputs, output_type, value_range
from cutegen.numerics import (
    decode,
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
    """What the product is multiplied by, (M,1) and (1,N) or numbers, and what is added to each row."""

    rows: Any
    columns: Any
    bias: Any

    def of_rows(self, rows: slice) -> _Factors:
        """The factors of some rows of D."""
        return (
            self
            if isinstance(self.rows, float) or self.rows.shape[0] == 1
            else replace(self, rows=self.rows[rows])
        )


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
        value = value + beta * decode(config.c.dtype or output_type(config), c)
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
    of a random partial sum, is ``|alpha| * |A(m,:)| * |B(n,:)| / sqrt(K)``, times the scales. The reference
    it is taken from is not rounded: a sum beside the middle between two values may be rounded to either.
    """
    x, y = _values(config, a, b)
    factors = _factors(config, alpha, scale_a, scale_b, bias)
    return _allowed(config, x, y, _evaluate(config, x, y, c, factors, beta), c, factors, beta)


def _allowed(config: GemmConfig, x: Any, y: Any, want: Any, c: Any, factors: _Factors, beta: float) -> Any:
    k = x.shape[1]
    norms = ((x * x).sum(1) ** 0.5, (y * y).sum(1) ** 0.5)
    sigma = (
        abs(factors.rows) * norms[0][:, None] * norms[1][None, :] * abs(factors.columns) / max(k, 1) ** 0.5
    )
    size = abs(want)
    if factors.bias is not None:
        size = size + abs(factors.bias)
    if beta != 0:
        size = size + abs(beta * decode(config.c.dtype or output_type(config), c))
    per_step = 2 * (unit_roundoff(accumulator_type(config)) or unit_roundoff("f32"))
    rounding = per_step * (2 + k / _K_STEP)
    allowed = largest_rounding(output_type(config), want) + rounding * (size + _DEVIATIONS * sigma)
    return where(in_range(output_type(config), want), allowed, 0 * allowed)


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
    out = output_type(config)
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
