"""As much of torch as a kernel call looks at, over numpy: with GPUs that do not exist.

Tensors live in host memory whatever their device says, so that a fake launcher can compute with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

strided = "torch.strided"
sparse_coo = "torch.sparse_coo"


@dataclass(frozen=True)
class Dtype:
    """An element type; types that numpy lacks are stored as their bits."""

    name: str
    numpy: Any

    def __repr__(self) -> str:
        return f"torch.{self.name}"


@dataclass(frozen=True)
class Device:
    type: str
    index: int | None = None

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"


DTYPES = {
    name: Dtype(name, kind)
    for name, kind in {
        "float16": np.float16,
        "bfloat16": np.uint16,
        "float32": np.float32,
        "float64": np.float64,
        "int8": np.int8,
        "uint8": np.uint8,
        "int32": np.int32,
        "float8_e4m3fn": np.uint8,
        "float8_e5m2": np.uint8,
    }.items()
}


class Tensor:
    def __init__(self, array: np.ndarray, dtype: Dtype, device: str = "cuda:0", *, owner: Any = None) -> None:
        kind, _, index = device.partition(":")
        self.array = array
        self.dtype = dtype
        self.device = Device(kind, int(index) if index else None)
        self.layout = strided
        self.negated = False

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def stride(self) -> tuple[int, ...]:
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def dim(self) -> int:
        return self.array.ndim

    def element_size(self) -> int:
        return self.array.itemsize

    def is_neg(self) -> bool:
        return self.negated

    def data_ptr(self) -> int:
        return int(self.array.__array_interface__["data"][0]) if self.array.size else 0

    def _view(self, array: np.ndarray) -> Tensor:
        return Tensor(array, self.dtype, str(self.device))

    def t(self) -> Tensor:
        return self._view(self.array.T)

    def __getitem__(self, index: Any) -> Tensor:
        return self._view(self.array[index])

    def as_strided(self, shape: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> Tensor:
        size = self.array.itemsize
        flat = self.array.reshape(-1)[offset:]
        return self._view(np.lib.stride_tricks.as_strided(flat, shape, [s * size for s in stride]))


def aligned(count: int, kind: Any, to: int = 256) -> np.ndarray:
    """A flat array whose address is a multiple of ``to``, as the CUDA allocator gives."""
    size = np.dtype(kind).itemsize
    raw = np.zeros(count * size + to, np.uint8)
    start = -raw.__array_interface__["data"][0] % to
    return raw[start : start + count * size].view(kind)


def tensor(shape: tuple[int, ...], dtype: str = "float16", device: str = "cuda:0") -> Tensor:
    """A contiguous tensor of small integers."""
    kind = DTYPES[dtype]
    flat = aligned(int(np.prod(shape)), kind.numpy)
    values = np.random.default_rng(sum(shape)).integers(0 if "uint" in dtype else -2, 3, flat.shape)
    flat[:] = values.astype(kind.numpy)
    return Tensor(flat.reshape(shape), kind, device)


class Allocations:
    """Counts what a call allocates."""

    def __init__(self) -> None:
        self.made: list[tuple[Any, ...]] = []

    def empty_strided(
        self, shape: tuple[int, ...], stride: tuple[int, ...], *, dtype: Dtype, device: Device
    ) -> Tensor:
        self.made.append((shape, stride, dtype, str(device)))
        base = Tensor(aligned(int(np.prod(shape)), dtype.numpy), dtype, str(device))
        return base.as_strided(shape, stride)


def module(allocations: Allocations | None = None) -> Any:
    """A stand-in for ``import torch``."""
    return SimpleNamespace(
        Tensor=Tensor,
        strided=strided,
        get_float32_matmul_precision=lambda: "highest",
        empty_strided=(allocations or Allocations()).empty_strided,
        **DTYPES,
    )
