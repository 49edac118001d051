"""Arrays in this process's memory as arguments of an emulated kernel: numpy arrays and torch CPU tensors.

numpy has neither bf16 nor the fp8 types. An array of them is one of their bits (uint16 or int16, uint8 or
int8), or one of the types of ``ml_dtypes``, where that package is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cutegen.dtypes import DType
from cutegen.errors import ArgumentError
from cutegen.numerics import storage
from cutegen.operand_check import Wanted
from cutegen.signature import Backend, Strided, read_tensor

__all__ = ["HostArray", "cpu_backend"]

_BITS = {"bf16": ("uint16", "int16"), "e4m3": ("uint8", "int8"), "e5m2": ("uint8", "int8")}


@dataclass(frozen=True, kw_only=True)
class _Device:
    """Where an array of numpy is, and whether it may be written to."""

    type: str = "cpu"
    index: int = 0
    writeable: bool = True


class HostArray:
    """One argument with the metadata of a torch tensor, whichever library it is from.

    Args:
        owner: The argument itself, which is kept alive.
    """

    __slots__ = ("_address", "_stride", "device", "dtype", "owner", "shape")

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.device: Any = _Device()
        if _is_tensor(owner):
            self.shape, self.dtype, self.device = tuple(owner.shape), owner.dtype, owner.device
            plain = owner.layout is sys.modules["torch"].strided and owner.device.type == "cpu"
            self._stride = tuple(owner.stride()) if plain else ()
            self._address = int(owner.data_ptr()) if plain else 0
        elif _is_array(owner):
            self.shape, self.dtype = owner.shape, owner.dtype
            self.device = _Device(writeable=bool(owner.flags.writeable))
            self._stride = owner.strides
            self._address = int(owner.__array_interface__["data"][0])
        else:
            self.shape, self.dtype, self._stride, self._address = (), None, (), 0

    def stride(self) -> tuple[int, ...]:
        """Strides in elements for torch, in bytes for numpy."""
        return self._stride

    def is_neg(self) -> bool:
        """Whether the argument is a torch tensor whose values are to be negated."""
        return _is_tensor(self.owner) and bool(self.owner.is_neg())

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._address

    def read(
        self,
        name: str,
        element: DType,
        a: HostArray | None,
        check_rank: Callable[[Sequence[int]], None],
        *,
        writes: bool,
    ) -> Strided:
        """Shape and strides in elements, after checking kind, dtype, rank and device.

        Args:
            name: The argument's name.
            element: The element type that the kernel wants.
            a: The kernel's first argument, whose library all others must be from.
            check_rank: Raises unless a shape has the right number of modes.
            writes: Whether the kernel writes to it.

        Raises:
            ArgumentError: The argument does not fit.
        """
        owner = self.owner
        if not (_is_tensor(owner) or _is_array(owner)):
            got = f"{type(owner).__module__}.{type(owner).__qualname__}"
            raise ArgumentError(f"{name}: must be a numpy array or a torch tensor on the CPU (got {got})")
        if a is not None and _is_tensor(owner) != _is_tensor(a.owner):
            need = "a torch tensor" if _is_tensor(a.owner) else "a numpy array"
            raise ArgumentError(f"{name}: must be {need}, as a is (got {type(owner).__qualname__})")
        if _is_tensor(owner):
            if owner.device.type != "cpu":
                raise ArgumentError(f"{name}: must be on the CPU (got a tensor on {owner.device})")
            return read_tensor(sys.modules["torch"], name, element, owner, check_rank)
        return _read_array(name, element, owner, check_rank, writes=writes)

    def like(self, wanted: Wanted, shape: tuple[int, int], strides: tuple[int, int]) -> HostArray:
        """A new array of this one's library, not initialised.

        Args:
            wanted: Says the element type.
            shape: Extents.
            strides: Strides in elements, of a matrix without gaps.
        """
        if _is_tensor(self.owner):
            torch = sys.modules["torch"]
            kind = getattr(torch, wanted.dtype.torch)
            return HostArray(torch.empty_strided(shape, strides, dtype=kind))
        numpy: Any = sys.modules["numpy"]
        kind = storage(wanted.dtype.name)
        if wanted.dtype.name in _BITS and self.dtype.kind == "V":  # ml_dtypes' types; answer in kind
            kind = getattr(sys.modules.get("ml_dtypes"), wanted.dtype.torch, kind)
        return HostArray(numpy.empty(shape, kind, order="C" if strides[1] == 1 else "F"))


def _is_tensor(argument: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(argument, torch.Tensor)


def _is_array(argument: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(argument, numpy.ndarray)


def _read_array(
    name: str, element: DType, array: Any, check_rank: Callable[[Sequence[int]], None], *, writes: bool
) -> Strided:
    kind = array.dtype
    bits = _BITS.get(element.name, ())
    names = (str(storage(element.name)), *bits, *((element.torch,) if bits else ()))
    if kind.name not in names or not kind.isnative or kind.itemsize != element.bytes:
        need = f"{bits[0]} (its bits) or ml_dtypes.{element.torch}" if bits else names[0]
        what = f"{element.name}: " if bits else ""
        other = "" if kind.isnative else " of the other byte order"
        raise ArgumentError(f"{name}: dtype must be {what}{need} (got {kind.name}{other})")
    check_rank(array.shape)
    steps = [s for n, s in zip(array.shape, array.strides, strict=True) if n > 1 and 0 not in array.shape]
    if any(s < 0 or s % kind.itemsize for s in steps):
        raise ArgumentError(
            f"{name}: strides must be whole numbers of elements and not negative "
            f"(got {array.strides} bytes of {kind.itemsize}-byte elements); pass a copy"
        )
    if writes and not array.flags.writeable:
        raise ArgumentError(f"{name}: must be writable (got a read-only array)")
    return array.shape, tuple(step // kind.itemsize for step in array.strides)


def _adopt(argument: Any) -> HostArray | None:
    return None if argument is None else HostArray(argument)


def cpu_backend() -> Backend:
    """The backend of emulated kernels; it needs no torch."""
    return Backend(device_type="cpu", current_stream=lambda _: 0, adopt=_adopt)
