"""torch's own product, which calls cuBLAS, for the same types and layouts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cutegen.bench.operands import Operands, Tensors

__all__ = ["binder"]

_FP8 = ("e4m3", "e5m2")
_EIGHT_BIT_MAJORS = "torch multiplies 8-bit floats only if A and B are K-major and D is N-major"


def binder(operands: Operands) -> Callable[[Tensors], Callable[[], object]] | str:
    """What makes a launch of torch's product, or why torch has none."""
    if operands.vectors:
        return _scaled(operands)
    kinds = (operands.a, operands.b, operands.d)
    if kinds in (("f16",) * 3, ("bf16",) * 3, ("f64",) * 3, ("f32",) * 3):
        return _mm
    if kinds == ("tf32", "tf32", "f32"):
        return _tf32
    if kinds == ("s8", "s8", "s32"):
        return _int_mm
    if operands.a in _FP8 and operands.b in _FP8 and operands.d in ("bf16", "f16", "f32"):
        if (operands.a, operands.b) == ("e5m2", "e5m2"):
            return "cuBLAS has no product of two e5m2 matrices"
        return partial(_scaled_mm, not operands.promoted) if _majors(operands) == "kkn" else _EIGHT_BIT_MAJORS
    return "torch has no product of these types"


def _majors(operands: Operands) -> str:
    return operands.a_major + operands.b_major + operands.d_major


def _scaled(operands: Operands) -> Callable[[Tensors], Callable[[], object]] | str:
    """Products whose rows and columns are scaled."""
    kinds = {vector.name: vector.kind for vector in operands.vectors}
    if not {operands.a, operands.b} <= set(_FP8) or (operands.a, operands.b) == ("e5m2", "e5m2"):
        return "torch scales products of 8-bit floats alone, not of two e5m2 matrices"
    if (kinds.get("scale_a"), kinds.get("scale_b")) != ("row", "column") or operands.d != "bf16":
        return "torch scales rows and columns together, of a D in bf16"
    return partial(_row_wise, not operands.promoted) if _majors(operands) == "kkn" else _EIGHT_BIT_MAJORS


def _mm(t: Tensors) -> Callable[[], object]:
    import torch

    torch.set_float32_matmul_precision("highest")
    return partial(torch.mm, t.a, t.b.t(), out=t.d)


def _tf32(t: Tensors) -> Callable[[], object]:
    import torch

    product, precision = partial(torch.mm, t.a, t.b.t(), out=t.d), torch.set_float32_matmul_precision

    def launch() -> None:
        precision("high")
        product()
        precision("highest")

    return launch


def _int_mm(t: Tensors) -> Callable[[], object]:
    import torch

    return partial(torch._int_mm, t.a, t.b.t(), out=t.d)


def _scaled_mm(fast: bool, t: Tensors) -> Callable[[], object]:
    import torch

    one: Any = torch.ones((), device=t.a.device)
    return partial(
        torch._scaled_mm, t.a, t.b.t(), one, one, out_dtype=t.d.dtype, out=t.d, use_fast_accum=fast
    )


def _row_wise(fast: bool, t: Tensors) -> Callable[[], object]:
    import torch

    rows, columns = t.vectors["scale_a"].reshape(-1, 1), t.vectors["scale_b"].reshape(1, -1)
    return partial(
        torch._scaled_mm, t.a, t.b.t(), rows, columns, bias=t.vectors.get("bias"), out_dtype=t.d.dtype,
        out=t.d, use_fast_accum=fast,
    )  # fmt: skip
