"""The checked metadata of a kernel call, kept so that a repeated call has nothing left to check.

A :class:`Signature` stands for one combination of shapes, strides, types and device. Building one costs
some ten microseconds and raises the typed errors; afterwards a *guard* recognises the same combination in
0.3 us, and the launch structures already packed are found by the tensors' addresses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any

from cutegen.binding import MOST_DEVICES, UNCHECKED, pack_launch
from cutegen.config import GemmConfig
from cutegen.errors import ArgumentError, ToolchainError
from cutegen.install import install_command
from cutegen.operand_check import (
    BOrder,
    Matrix,
    Wanted,
    check_extents,
    orient_b,
    overlap,
    require_matrix,
    wanted_operands,
)

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "Backend",
    "Guard",
    "Signature",
    "SignatureTable",
    "cuda_backend",
    "device_ordinal",
    "make_guard",
    "metadata",
    "read_tensor",
]

Guard = Callable[..., bool]
Found = tuple[Guard, "Signature"]

_MOST_SIGNATURES = 256  # kept per kernel
_MOST_CALLS = 1024  # packed launches kept per signature


@dataclass(frozen=True, kw_only=True)
class Backend:
    """Where a kernel runs: the seam between a CUDA kernel and one for the CPU emulator.

    Attributes:
        device_type: The ``torch.device`` type of tensors that it takes.
        current_stream: Device ordinal to the handle of the stream that work must be enqueued on.
        adopt: Makes of an argument what has the metadata of a tensor, and ``owner``, the argument itself;
            left out: arguments are torch tensors already.
    """

    device_type: str
    current_stream: Callable[[int], int]
    adopt: Callable[[Any], Any] | None = None


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ToolchainError(
            f"calling a kernel needs torch, which is not installed: {install_command('torch')}"
        ) from error
    return torch


def cuda_backend() -> Backend:
    """The backend of CUDA kernels; finds torch but does not initialise CUDA."""

    def slow(device: int) -> int:
        return int(_torch().cuda.current_stream(device).cuda_stream)

    raw = getattr(_torch()._C, "_cuda_getCurrentRawStream", None)  # 50 ns instead of 1 us
    return Backend(device_type="cuda", current_stream=raw or slow)


def metadata(tensor: Any) -> tuple[Any, ...]:
    """All that decides whether a tensor fits, except its address; hashable."""
    return (tensor.shape, tensor.stride(), tensor.dtype, tensor.device, tensor.is_neg(), type(tensor))


def make_guard(*tensors: Any) -> Guard:
    """A callable that tells in 0.3 us whether other tensors have the same metadata as these.

    It uses the class with which ``torch.compile`` guards its graphs: one C++ call compares type, dtype,
    device, shape and strides of all tensors. Where torch lacks it, Python compares.
    """
    try:
        guards = sys.modules["torch"]._C._dynamo.guards
        check: Guard = guards.TensorGuards(
            *tensors,
            dynamic_dims_sizes=[list(t.shape) for t in tensors],
            dynamic_dims_strides=[list(t.stride()) for t in tensors],
        ).check
        if check(*tensors):
            return check
    except (AttributeError, KeyError, TypeError, ValueError, RuntimeError, SystemError):
        pass  # a private interface of another torch: the comparison below says the same
    return _compared(*tensors)


def _compared(*tensors: Any) -> Guard:
    """The guard that asks nothing of torch."""
    known = [metadata(t) for t in tensors]

    def compare(*others: Any) -> bool:
        try:
            return [metadata(t) for t in others] == known
        except (AttributeError, TypeError, RuntimeError):
            return False

    return compare


class Signature:
    """A call whose metadata has been checked; only addresses, stream, alpha and beta are still open.

    Attributes:
        m: Rows of A and D; likewise n and k.
        device: Ordinal of the tensors' device.
        empty: Whether D has no element, so that nothing is launched.
        new_output: Allocates a fresh, uninitialised output of this call.
        calls: Packed launches by the addresses of a, b, c if there is one, and out, then stream, alpha, beta.
    """

    __slots__ = ("a", "b", "c", "calls", "d", "device", "empty", "k", "m", "n", "new_output")

    def __init__(
        self, *, a: Matrix, b: Matrix, c: Matrix | None, d: Matrix, device: int, new: Callable[[], Tensor]
    ) -> None:
        self.a, self.b, self.c, self.d = a, b, c, d
        self.m, self.n, self.k = d.shape[0], d.shape[1], a.shape[1]
        self.device = device
        self.empty = 0 in d.shape
        self.calls: dict[tuple[Any, ...], bytes] = {}
        self.new_output = new

    def pack(self, a: int, b: int, c: int | None, d: int, stream: int, alpha: float, beta: float) -> bytes:
        """Check addresses and scalars, pack the launch structure and keep it in ``calls``.

        Raises:
            ArgumentError: An address is not aligned, the output overlaps an input, or C is missing.
        """
        for name, value in (("alpha", alpha), ("beta", beta)):
            if not isinstance(value, Real):
                raise ArgumentError(f"{name}: must be a real number (got {type(value).__qualname__})")
            try:
                float(value)
            except OverflowError:
                raise ArgumentError(f"{name}: must fit into a double (got an integer beyond it)") from None
        c_address = self._c_address(c, d, beta)
        for matrix, address in ((self.a, a), (self.b, b), (self.d, d)):
            matrix.require_alignment(address)
        for matrix, address in ((self.a, a), (self.b, b)):
            if overlap(matrix, address, self.d, d):
                raise ArgumentError(
                    f"out: must not overlap {matrix.wanted.name} in memory: other CTAs still read it "
                    f"(got out at {d:#x}, {matrix.wanted.name} at {address:#x})"
                )
        packed = pack_launch(
            *(a, b, c_address, d),
            *(self.a.ld, self.b.ld, self.c.ld if self.c else self.d.ld, self.d.ld),
            *(self.m, self.n, self.k, 0),
            *(float(alpha), float(beta)),
            *(stream, self.device, UNCHECKED),
        )
        if len(self.calls) >= _MOST_CALLS:
            self.calls.clear()
        addresses = (a, b, d) if c is None else (a, b, c, d)
        key = (*addresses, stream, alpha, beta)
        self.calls[key] = packed
        return packed

    def _c_address(self, c: int | None, d: int, beta: float) -> int:
        """The address of C that the kernel gets: 0 when it must not be read."""
        if beta == 0:
            return 0
        if c is None or self.c is None:
            raise ArgumentError(f"c: must be given when beta is not 0 (got c=None with beta = {beta})")
        self.c.require_alignment(c)
        same = (c, self.c.ld, self.c.wanted.dtype, self.c.wanted.major) == (
            d,
            self.d.ld,
            self.d.wanted.dtype,
            self.d.wanted.major,
        )
        if not same and overlap(self.c, c, self.d, d):
            raise ArgumentError(
                f"c: must be out itself, in its layout, or not overlap it (got c at {c:#x}, out at {d:#x})"
            )
        return c


class SignatureTable:
    """Checks the metadata of calls of one kernel, each combination once.

    Args:
        config: The kernel's resolved config.
        backend: Where the kernel runs.
    """

    def __init__(self, config: GemmConfig, backend: Backend) -> None:
        self.wanted = wanted_operands(config)
        self.backend = backend
        self._tile = config.tile or (1, 1, 1)
        self._guard = make_guard if backend.adopt is None else _compared
        #: Found by a call's shapes alone, and to be confirmed by the guard.
        self._by_shape: dict[tuple[Any, ...], Found] = {}
        self._known: dict[tuple[Any, ...], Signature] = {}

    def find(self, a: Any, b: Any, c: Any, out: Any, b_is: BOrder | None) -> Found:
        """The guard that recognises a call, and the call's signature: a known or a new one.

        Raises:
            ArgumentError: An argument does not fit; the message names it, what it got and what it must be.
        """
        tensors = (a, b) if c is None else (a, b, c)
        if out is not None:
            tensors = (*tensors, out)
        shapes: tuple[Any, ...]
        key: tuple[Any, ...]
        try:
            shapes = (a.shape, b.shape, c is None, out is None, b_is)
            found = self._by_shape.get(shapes)
            if found is not None and found[0](*tensors):
                return found
            key = (*map(metadata, tensors), shapes)
            signature = self._known.get(key)
        except (AttributeError, TypeError, RuntimeError):  # no tensor, or one without strides: _make says so
            shapes = key = ()
            signature = None
        if signature is None:
            signature = self._make(a, b, c, out, b_is)
            if len(self._known) >= _MOST_SIGNATURES:
                self._known.clear()
                self._by_shape.clear()
            self._known[key] = signature
        self._by_shape[shapes] = found = (self._guard(*tensors), signature)
        return found

    def addressed(
        self, signature: Signature, a: Any, b: Any, c: Any, out: Any, alpha: float, beta: float
    ) -> bytes:
        """The launch structure of a call on the current stream, packed now or earlier.

        Raises:
            ArgumentError: As :meth:`Signature.pack`.
        """
        stream = self.backend.current_stream(signature.device)
        x, y, d = a.data_ptr(), b.data_ptr(), out.data_ptr()
        z = None if c is None else c.data_ptr()
        key = (x, y, d, stream, alpha, beta) if z is None else (x, y, z, d, stream, alpha, beta)
        try:
            packed = signature.calls.get(key)
        except TypeError:  # an unhashable scalar: pack() says so
            packed = None
        return signature.pack(x, y, z, d, stream, alpha, beta) if packed is None else packed

    def _make(self, a: Any, b: Any, c: Any, out: Any, b_is: BOrder | None) -> Signature:
        """Check everything about a call but addresses, stream and scalars."""
        wanted = self.wanted
        a_shape, a_stride = self._metadata(wanted["a"], a, None)
        b_shape, b_stride = self._metadata(wanted["b"], b, a)
        transposed, note = orient_b(b_shape, a_shape[1], b_is)
        if transposed:
            b_shape, b_stride = b_shape[::-1], b_stride[::-1]
        m, n, k = a_shape[0], b_shape[0], a_shape[1]
        check_extents(m, n, k, self._tile)
        return Signature(
            a=Matrix.read(wanted["a"], a_shape, a_stride),
            b=Matrix.read(wanted["b"], b_shape, b_stride, note=note),
            c=None if c is None else self._mn(wanted["c"], c, a, (m, n)),
            d=self._mn(wanted["d"], out, a, (m, n)),
            device=a.device.index or 0,
            new=self._allocator((m, n), a),
        )

    def _mn(self, wanted: Wanted, tensor: Any, a: Any, need: tuple[int, int]) -> Matrix:
        if tensor is None:
            return Matrix.read(wanted, need, _packed(need, wanted.major))
        shape, stride = self._metadata(wanted, tensor, a)
        if shape != need:
            raise ArgumentError(f"{wanted.name}: must have shape (M,N) = {need} (got {shape})")
        return Matrix.read(wanted, shape, stride)

    def _metadata(self, wanted: Wanted, tensor: Any, a: Any) -> tuple[tuple[int, int], tuple[int, int]]:
        """Shape and strides of a tensor after checking its type, device, dtype and rank."""
        if self.backend.adopt is not None:
            read: tuple[tuple[int, int], tuple[int, int]] = tensor.read(wanted, a)
            return read
        torch, name, kind = _torch(), wanted.name, self.backend.device_type
        if not isinstance(tensor, torch.Tensor):
            got = f"{type(tensor).__module__}.{type(tensor).__qualname__}"
            raise ArgumentError(f"{name}: must be a torch tensor on a {kind} device (got {got})")
        if tensor.device.type != kind:
            raise ArgumentError(f"{name}: must be on a {kind} device (got a tensor on {tensor.device})")
        if a is not None and tensor.device != a.device:
            raise ArgumentError(f"{name}: must be on {a.device}, as a is (got {tensor.device})")
        return read_tensor(torch, wanted, tensor)

    def _allocator(self, shape: tuple[int, int], a: Any) -> Callable[[], Any]:
        d = self.wanted["d"]
        strides = _packed(shape, d.major)
        if self.backend.adopt is not None:
            return partial(a.like, d, shape, strides)
        torch = _torch()
        kind = getattr(torch, d.dtype.torch)
        return partial(torch.empty_strided, shape, strides, dtype=kind, device=a.device)


def read_tensor(torch: Any, wanted: Wanted, tensor: Tensor) -> tuple[tuple[int, int], tuple[int, int]]:
    """Shape and strides of a torch tensor on the right device, after checking its layout, dtype and rank."""
    name = wanted.name
    if tensor.layout is not torch.strided or tensor.is_neg():
        what = "a lazily negated view" if tensor.layout is torch.strided else str(tensor.layout)
        raise ArgumentError(f"{name}: must be a plain strided tensor (got {what})")
    need = getattr(torch, wanted.dtype.torch, None)
    if tensor.dtype is not need:
        raise ArgumentError(f"{name}: dtype must be {need or wanted.dtype.torch} (got {tensor.dtype})")
    require_matrix(wanted, tensor.shape)
    (rows, columns), (row_stride, column_stride) = tensor.shape, tensor.stride()
    return (rows, columns), (row_stride, column_stride)


def _packed(shape: tuple[int, int], major: int) -> tuple[int, int]:
    return (shape[1], 1) if major == 1 else (1, shape[0])


def device_ordinal(device: Any) -> int:
    """The driver's number of a device given as an ordinal, ``"cuda:1"`` or a ``torch.device``.

    None means the device that is current in torch, or the first one where torch has not been used.

    Raises:
        ArgumentError: It is no CUDA device, or no driver numbers devices so high.
    """
    torch = sys.modules.get("torch")
    given = device
    if isinstance(device, str):
        kind, _, number = device.partition(":")
        if kind != "cuda" or not ((number.isascii() and number.isdecimal()) or device == "cuda"):
            raise ArgumentError(f"device: must be an ordinal, 'cuda' or 'cuda:N' (got {given!r})")
        device = int(number) if number else None
    elif getattr(device, "type", None) == "cuda":
        device = device.index
    elif device is not None:
        try:
            device = index(device)
        except TypeError:
            raise ArgumentError(f"device: must be an ordinal or a CUDA device (got {given!r})") from None
    if device is not None:
        if isinstance(given, bool) or not 0 <= device < MOST_DEVICES:
            raise ArgumentError(f"device: must be an ordinal from 0 to {MOST_DEVICES - 1} (got {given!r})")
        return int(device)
    return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_initialized() else 0
