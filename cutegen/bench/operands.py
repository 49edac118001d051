"""Types and layouts of the operands: contestants are compared where these agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cutegen.bench.shapes import Shape
from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName, dtype
from cutegen.vectors import Vector, vectors_of

__all__ = ["Operands", "Tensors", "empty_output", "poisoned_output", "random_tensors"]


@dataclass(frozen=True, kw_only=True)
class Tensors:
    """A (M,K), B (N,K) and D (M,N) as torch tensors; D's contents do not matter.

    Attributes:
        a: A; likewise b and d.
        b: See a.
        d: See a.
        vectors: Scales and bias by name, those that the kernels take.
    """

    a: Any
    b: Any
    d: Any
    vectors: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Operands:
    """Element type and major of A, B and D, what scales D and adds to it, and how 8-bit floats are summed.

    Attributes:
        a: Type of A; likewise b and d.
        b: See a.
        d: See a.
        a_major: The contiguous mode of A; likewise b_major and d_major.
        b_major: See a_major.
        d_major: See a_major.
        vectors: Scales and bias.
        promoted: Whether sums of 8-bit floats are kept in f32 outside the tensor cores (``promote``), and not
            in their fewer bits, which torch calls fast accumulation.
    """

    a: DTypeName
    b: DTypeName
    d: DTypeName
    a_major: str
    b_major: str
    d_major: str
    vectors: tuple[Vector, ...] = ()
    promoted: bool = False

    @classmethod
    def of(cls, config: GemmConfig) -> Operands:
        """Those of a resolved config."""
        return cls(
            a=config.a.dtype,
            b=config.b.dtype,
            d=config.d.dtype or "f32",
            a_major=config.a.major or "k",
            b_major=config.b.major or "k",
            d_major=config.d.major or "n",
            vectors=vectors_of(config),
            promoted=config.promote is not None,
        )

    def __str__(self) -> str:
        types = self.a if self.a == self.b else f"{self.a}*{self.b}"
        types += "" if self.d in (self.a, dtype(self.a).torch) else f" to {self.d}"
        majors = f"{self.a_major}{self.b_major}{self.d_major}"
        if majors != "kkn":
            types += f", majors {self.a_major}, {self.b_major}, {self.d_major}"
        types += "".join(f", {vector.name} by {vector.kind}" for vector in self.vectors)
        return types + ", promoted" * self.promoted

    def bytes_of(self, shape: Shape) -> int:
        """Bytes of A, B and D, each counted once."""
        m, n, k = shape.m, shape.n, shape.k
        return m * k * dtype(self.a).bytes + n * k * dtype(self.b).bytes + m * n * dtype(self.d).bytes


def random_tensors(operands: Operands, shape: Shape, *, seed: int = 0, device: str = "cuda") -> Tensors:
    """Normally distributed operands, or integers of the whole range."""
    import torch

    generator = torch.Generator(device=device).manual_seed(seed)

    def draw(name: DTypeName, rows: int, columns: int, major_is_last: bool) -> Any:
        stored = (rows, columns) if major_is_last else (columns, rows)
        kind = getattr(torch, dtype(name).torch)
        if dtype(name).kind == "int":
            info = torch.iinfo(kind)
            values = torch.randint(
                info.min, info.max + 1, stored, device=device, generator=generator, dtype=kind
            )
        elif dtype(name).bytes < 4:
            values = torch.randn(stored, device=device, generator=generator, dtype=torch.float16).to(kind)
        else:
            values = torch.randn(stored, device=device, generator=generator, dtype=kind)
        return values if major_is_last else values.t()

    return Tensors(
        a=draw(operands.a, shape.m, shape.k, operands.a_major == "k"),
        b=draw(operands.b, shape.n, shape.k, operands.b_major == "k"),
        d=empty_output(operands, shape, device=device),
        vectors={v.name: _random_vector(v, shape, device, generator) for v in operands.vectors},
    )


def _random_vector(vector: Vector, shape: Shape, device: str, generator: Any) -> Any:
    """Scales between 1/2 and 1, and a normally distributed bias."""
    import torch

    length = vector.length(shape.m, shape.n)
    draw = torch.randn if vector.name == "bias" else torch.rand
    values = draw(length, device=device, generator=generator)
    values = values if vector.name == "bias" else 0.5 + values / 2
    return values.to(getattr(torch, vector.element.torch))


def empty_output(operands: Operands, shape: Shape, *, device: str = "cuda") -> Any:
    """A new D."""
    import torch

    stored = (shape.m, shape.n) if operands.d_major == "n" else (shape.n, shape.m)
    out = torch.empty(stored, dtype=getattr(torch, dtype(operands.d).torch), device=device)
    return out if operands.d_major == "n" else out.t()


def poisoned_output(operands: Operands, shape: Shape, *, device: str = "cuda") -> Any:
    """A new D of NaN, or of the least integer."""
    import torch

    out = empty_output(operands, shape, device=device)
    if dtype(operands.d).kind == "int":
        return out.fill_(torch.iinfo(out.dtype).min)
    if dtype(operands.d).bytes == 1:  # no fill of 8-bit floats: their NaN is all ones
        out.view(torch.uint8).fill_(0x7F)
        return out
    return out.fill_(float("nan"))
