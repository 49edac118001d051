"""The checked metadata of a kernel call, kept so that a repeated call has nothing left to check.

A :class:`Signature` stands for one combination of shapes, strides, types and device. Building one costs
some ten microseconds and raises the typed errors; afterwards a *guard* recognises the same combination in
0.3 us, and the launch structures already packed are found by the tensors' addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any

from cutegen.binding import UNCHECKED, pack_launch
from cutegen.config import GemmConfig
from cutegen.dtypes import DType
from cutegen.errors import ArgumentError, ToolchainError
from cutegen.guards import Guard, compared, make_guard, metadata
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
from cutegen.vector_check import ReadVector, require_known
from cutegen.vectors import VECTOR_NAMES, Vector, vectors_of

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "Backend",
    "Guard",
    "Signature",
    "SignatureTable",
    "Strided",
    "Vectors",
    "cuda_backend",
    "import_torch",
    "make_guard",
    "metadata",
    "read_tensor",
]

Vectors = Sequence[Any]
"""scale_a, scale_b and bias, each None where it is left out; or nothing, as if all were."""

Found = tuple[Guard, "Signature"]
Strided = tuple[tuple[int, ...], tuple[int, ...]]
"""Extents and strides in elements."""

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


def import_torch() -> Any:
    """The module torch; a ToolchainError if it is not installed."""
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
        return int(import_torch().cuda.current_stream(device).cuda_stream)

    raw = getattr(import_torch()._C, "_cuda_getCurrentRawStream", None)  # 50 ns instead of 1 us
    return Backend(device_type="cuda", current_stream=raw or slow)


class Signature:
    """A call whose metadata has been checked; only addresses, stream, alpha and beta are still open.

    Attributes:
        m: Rows of A and D; likewise n and k.
        device: Ordinal of the tensors' device.
        empty: Whether D has no element, so that nothing is launched.
        new_output: Allocates a fresh, uninitialised output of this call.
        vectors: Those that the kernel takes.
        calls: Packed launches by the addresses of a, b, c if there is one, and out, then stream, alpha, beta,
            and the addresses of vectors.
    """

    __slots__ = ("a", "b", "c", "calls", "d", "device", "empty", "k", "m", "n", "new_output", "vectors")

    def __init__(
        self,
        *,
        a: Matrix,
        b: Matrix,
        c: Matrix | None,
        d: Matrix,
        device: int,
        new: Callable[[], Tensor],
        vectors: tuple[ReadVector, ...] = (),
    ) -> None:
        self.a, self.b, self.c, self.d = a, b, c, d
        self.vectors = vectors
        self.m, self.n, self.k = d.shape[0], d.shape[1], a.shape[1]
        self.device = device
        self.empty = 0 in d.shape
        self.calls: dict[tuple[Any, ...], bytes] = {}
        self.new_output = new

    def pack(
        self,
        a: int,
        b: int,
        c: int | None,
        d: int,
        stream: int,
        alpha: float,
        beta: float,
        vectors: tuple[int, ...] = (),
        group: int = 0,
    ) -> bytes:
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
        places = dict(zip((v.vector.name for v in self.vectors), vectors, strict=True))
        for vector, address in zip(self.vectors, vectors, strict=True):
            vector.require_place(address, self.d, d)
        packed = pack_launch(
            *(a, b, c_address, d),
            *(self.a.ld, self.b.ld, self.c.ld if self.c else self.d.ld, self.d.ld),
            *(self.m, self.n, self.k, group),
            *(float(alpha), float(beta)),
            *(places.get(name, 0) for name in VECTOR_NAMES),
            *(stream, self.device, UNCHECKED),
        )
        if len(self.calls) >= _MOST_CALLS:
            self.calls.clear()
        addresses = (a, b, d) if c is None else (a, b, c, d)
        key = (*addresses, stream, alpha, beta, *vectors)
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
        group: Tiles of a raster group; 0: as the config says.
    """

    def __init__(self, config: GemmConfig, backend: Backend, group: int = 0) -> None:
        self.wanted = wanted_operands(config)
        self.vectors = vectors_of(config)
        self.backend, self._group = backend, group
        self._tile = config.tile or (1, 1, 1)
        self._guard = make_guard if backend.adopt is None else compared
        #: Found by a call's shapes alone, and to be confirmed by the guard.
        self._by_shape: dict[tuple[Any, ...], Found] = {}
        self._known: dict[tuple[Any, ...], Signature] = {}

    def find(
        self, a: Any, b: Any, c: Any, out: Any, b_is: BOrder | None, vectors: Vectors | None = ()
    ) -> Found:
        """The guard that recognises a call, and the call's signature: a known or a new one.

        Args:
            a: As for a call; likewise b, c, out and b_is.
            b: See a.
            c: See a.
            out: See a.
            b_is: See a.
            vectors: None asks about the matrices alone, whatever vectors the kernel takes.

        Raises:
            ArgumentError: An argument does not fit; the message names it, what it got and what it must be.
        """
        tensors = (a, b) if c is None else (a, b, c)
        if out is not None:
            tensors = (*tensors, out)
        given: list[Any] = []
        if vectors is not None and (self.vectors or vectors):
            require_known(self.vectors, vectors or (None,) * len(VECTOR_NAMES))
            given = [v for v in vectors if v is not None]
            tensors = (*tensors, *given)
        shapes: tuple[Any, ...]
        key: tuple[Any, ...]
        try:
            shapes = (a.shape, b.shape, c is None, out is None, b_is, len(given))
            found = self._by_shape.get(shapes)
            if found is not None and found[0](*tensors):
                return found
            key = (*map(metadata, tensors), shapes)
            signature = self._known.get(key)
        except (AttributeError, TypeError, RuntimeError):  # no tensor, or one without strides: _make says so
            shapes = key = ()
            signature = None
        if signature is None:
            signature = self._make(a, b, c, out, b_is, given)
            if len(self._known) >= _MOST_SIGNATURES:
                self._known.clear()
                self._by_shape.clear()
            self._known[key] = signature
        self._by_shape[shapes] = found = (self._guard(*tensors), signature)
        return found

    def addressed(
        self,
        signature: Signature,
        a: Any,
        b: Any,
        c: Any,
        out: Any,
        alpha: float,
        beta: float,
        vectors: Vectors = (),
    ) -> bytes:
        """The launch structure of a call on the current stream, packed now or earlier.

        Raises:
            ArgumentError: As :meth:`Signature.pack`.
        """
        stream = self.backend.current_stream(signature.device)
        x, y, d = a.data_ptr(), b.data_ptr(), out.data_ptr()
        z = None if c is None else c.data_ptr()
        places = tuple(v.data_ptr() for v in vectors if v is not None)
        key = (x, y, d, stream, alpha, beta) if z is None else (x, y, z, d, stream, alpha, beta)
        if places:
            key = (*key, *places)
        try:
            packed = signature.calls.get(key)
        except TypeError:  # an unhashable scalar: pack() says so
            packed = None
        return packed or signature.pack(x, y, z, d, stream, alpha, beta, places, self._group)

    def _make(
        self, a: Any, b: Any, c: Any, out: Any, b_is: BOrder | None, vectors: Sequence[Any]
    ) -> Signature:
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
            vectors=tuple(
                self._vector(wanted, tensor, a, m, n)
                for wanted, tensor in zip(self.vectors, vectors, strict=False)  # or none are asked about
            ),
        )

    def _vector(self, wanted: Vector, tensor: Any, a: Any, m: int, n: int) -> ReadVector:
        shape, stride = self._strides(wanted.name, wanted.element, tensor, a)
        return ReadVector.read(wanted, shape, stride, m, n)

    def _mn(self, wanted: Wanted, tensor: Any, a: Any, need: tuple[int, int]) -> Matrix:
        if tensor is None:
            return Matrix.read(wanted, need, _packed(need, wanted.major))
        shape, stride = self._metadata(wanted, tensor, a)
        if shape != need:
            raise ArgumentError(f"{wanted.name}: must have shape (M,N) = {need} (got {shape})")
        return Matrix.read(wanted, shape, stride)

    def _metadata(self, wanted: Wanted, tensor: Any, a: Any) -> tuple[tuple[int, int], tuple[int, int]]:
        """Shape and strides of a tensor after checking its type, device, dtype and rank."""
        shape, stride = self._strides(
            wanted.name, wanted.dtype, tensor, a, partial(require_matrix, wanted), writes=wanted.field == "d"
        )
        return (shape[0], shape[1]), (stride[0], stride[1])

    def _strides(
        self,
        name: str,
        element: DType,
        tensor: Any,
        a: Any,
        check_rank: Callable[[Sequence[int]], None] = lambda shape: None,
        *,
        writes: bool = False,
    ) -> Strided:
        """Shape and strides in elements of a tensor after checking its type, device and dtype, then its rank.

        Args:
            name: The argument's name.
            element: Its element type.
            tensor: The argument.
            a: The kernel's first argument, on whose device it must be; None for that one itself.
            check_rank: Raises unless a shape has the right number of modes.
            writes: Whether the kernel writes to it.
        """
        if self.backend.adopt is not None:
            read: Strided = tensor.read(name, element, a, check_rank, writes=writes)
            return read
        torch, kind = import_torch(), self.backend.device_type
        if not isinstance(tensor, torch.Tensor):
            got = f"{type(tensor).__module__}.{type(tensor).__qualname__}"
            raise ArgumentError(f"{name}: must be a torch tensor on a {kind} device (got {got})")
        if tensor.device.type != kind:
            raise ArgumentError(f"{name}: must be on a {kind} device (got a tensor on {tensor.device})")
        if a is not None and tensor.device != a.device:
            raise ArgumentError(f"{name}: must be on {a.device}, as a is (got {tensor.device})")
        return read_tensor(torch, name, element, tensor, check_rank)

    def _allocator(self, shape: tuple[int, int], a: Any) -> Callable[[], Any]:
        d = self.wanted["d"]
        strides = _packed(shape, d.major)
        if self.backend.adopt is not None:
            return partial(a.like, d, shape, strides)
        torch = import_torch()
        kind = getattr(torch, d.dtype.torch)
        return partial(torch.empty_strided, shape, strides, dtype=kind, device=a.device)


def read_tensor(
    torch: Any, name: str, element: DType, tensor: Tensor, check_rank: Callable[[Sequence[int]], None]
) -> Strided:
    """Shape and strides of a torch tensor on the right device, after checking its layout, dtype and rank."""
    if tensor.layout is not torch.strided or tensor.is_neg():
        what = "a lazily negated view" if tensor.layout is torch.strided else str(tensor.layout)
        raise ArgumentError(f"{name}: must be a plain strided tensor (got {what})")
    need = getattr(torch, element.torch, None)
    if tensor.dtype is not need:
        raise ArgumentError(f"{name}: dtype must be {need or element.torch} (got {tensor.dtype})")
    check_rank(tensor.shape)
    return tuple(tensor.shape), tuple(tensor.stride())


def _packed(shape: tuple[int, int], major: int) -> tuple[int, int]:
    return (shape[1], 1) if major == 1 else (1, shape[0])
