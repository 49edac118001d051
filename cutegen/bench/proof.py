"""Before anything is timed: does it compute the right thing?"""

from __future__ import annotations

from cutegen.bench.contestants import Contestant
from cutegen.bench.operands import Operands, Tensors, poisoned_output
from cutegen.bench.shapes import Shape
from cutegen.config import GemmConfig
from cutegen.errors import ArgumentError, CheckFailedError
from cutegen.reference import check, exact_inputs
from cutegen.resolve.types import NATURAL_ACCUMULATOR

__all__ = ["prove"]


def prove(contestant: Contestant, shape: Shape, *, seed: int = 1, device: str = "cuda") -> None:
    """Run a contestant on small integers into a D of NaN, and compare with float64.

    Kernels of cutegen must agree bit for bit. A peer, whose order and types of summation are its own, must be
    within the tolerance that follows from the number formats.

    Raises:
        ArgumentError: It cannot take operands of this shape.
        CheckFailedError: The product is wrong.
    """
    if not contestant.computes:
        return
    operands = contestant.operands
    config = contestant.config or _config(operands)
    inputs = exact_inputs(config, shape.m, shape.n, shape.k, seed=seed, with_c=False, device=device)
    out = poisoned_output(operands, shape, device=device)
    try:
        contestant.bind(Tensors(a=inputs.a, b=inputs.b, d=out, vectors=inputs.vectors))()
    except RuntimeError as exc:  # how torch refuses shapes
        if contestant.is_own or "out of memory" in str(exc):
            raise
        raise ArgumentError(str(exc).splitlines()[0]) from None
    report = check(config, out, inputs.a, inputs.b, exact=contestant.is_own, **inputs.vectors)
    if not report.ok:
        raise CheckFailedError(f"{contestant.name} is wrong at {shape}: {report}")


def _config(operands: Operands) -> GemmConfig:
    """A config that says the types and layouts of a peer, of which nothing else is asked."""
    return GemmConfig(
        arch="sm_80",
        a={"dtype": operands.a, "major": operands.a_major},
        b={"dtype": operands.b, "major": operands.b_major},
        c={"dtype": operands.d, "major": operands.d_major},
        d={"dtype": operands.d, "major": operands.d_major},
        accumulator=NATURAL_ACCUMULATOR[operands.a],
        epilogue={vector.name: vector.kind for vector in operands.vectors},
    )
