"""Read tensors as the operands of a kernel, and say exactly what is wrong with those that do not fit.

Everything here looks at metadata only and knows nothing of torch beyond a tensor's attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cutegen.config import GemmConfig
from cutegen.dtypes import DType, dtype
from cutegen.errors import ArgumentError

__all__ = [
    "BOrder",
    "Matrix",
    "Wanted",
    "alignment",
    "check_extents",
    "orient_b",
    "overlap",
    "require_matrix",
    "wanted_operands",
]

BOrder = Literal["nk", "kn"]

_MAX = 2**31 - 1


def alignment(
    shape: Sequence[int],
    stride: Sequence[int],
    *,
    itemsize: int,
    address: int = 0,
    major: int | None = None,
    limit: int = 16,
) -> int:
    """Bytes to which every run of contiguous elements of a strided tensor is aligned, in base and length.

    Address, strides and the length of a run all count, because a vector copy may neither start nor end off
    its width. The stride of a mode of extent 1 does not count: nothing ever steps along it.

    Args:
        shape: Extents.
        stride: Strides in elements.
        itemsize: Bytes of one element.
        address: Address of the first element, or its offset from an aligned base, in bytes.
        major: The mode along which copies run; left out: the last one with stride 1 and extent over 1.
        limit: The largest answer of interest, a power of two.
    """
    if 0 in shape:
        return limit
    if major is None:
        unit = [i for i, (n, s) in enumerate(zip(shape, stride, strict=True)) if s == 1 and n > 1]
        major = unit[-1] if unit else -1
    bits = limit | address | (shape[major] * itemsize if major >= 0 else itemsize)
    for mode, (extent, step) in enumerate(zip(shape, stride, strict=True)):
        if mode != major and extent > 1:
            bits |= step * itemsize
    return bits & -bits


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a kernel wants of one operand.

    Attributes:
        name: The argument's name: a, b, c or out.
        field: The config field that says so: a, b, c or d.
        dtype: Element type.
        modes: Names of the two modes in the kernel's order: (M,K), (N,K) or (M,N).
        major: Index of the mode with stride 1.
        align: Guaranteed alignment in bytes.
    """

    name: str
    field: str
    dtype: DType
    modes: tuple[str, str]
    major: int
    align: int


def wanted_operands(config: GemmConfig) -> dict[str, Wanted]:
    """What a resolved config wants of a, b, c and d."""

    def one(field: str, modes: tuple[str, str], kind: Any, major: str, align: int | None) -> Wanted:
        element = dtype(kind)
        return Wanted(
            name="out" if field == "d" else field,
            field=field,
            dtype=element,
            modes=modes,
            major=modes.index(major.upper()),
            align=max(align or element.bytes, element.bytes),
        )

    d_type = config.d.dtype or config.accumulator or "f32"
    c, d = config.c, config.d
    return {
        "a": one("a", ("M", "K"), config.a.dtype, config.a.major or "k", config.a.align),
        "b": one("b", ("N", "K"), config.b.dtype, config.b.major or "k", config.b.align),
        "c": one("c", ("M", "N"), c.dtype or d_type, c.major or d.major or "n", c.align),
        "d": one("d", ("M", "N"), d_type, d.major or "n", d.align),
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Matrix:
    """A tensor's metadata, read as one operand in the kernel's order of modes.

    Attributes:
        wanted: What the kernel wants of it.
        shape: Extents.
        ld: Stride of the mode that is not the major one, in elements; of the packed matrix if that mode has
            extent 1 at most, and an aligned one if there is no element: nobody reads there, but a kernel
            computes addresses.
    """

    wanted: Wanted
    shape: tuple[int, int]
    ld: int

    @classmethod
    def read(
        cls, wanted: Wanted, shape: tuple[int, int], stride: tuple[int, int], *, note: str = ""
    ) -> Matrix:
        """Check that stride 1 runs along the mode that the kernel wants, and find the leading stride.

        Args:
            wanted: What the kernel wants.
            shape: Extents in the kernel's order of modes.
            stride: Strides in the same order.
            note: How the tensor was read, for the message.

        Raises:
            ArgumentError: Stride 1 runs along another mode, or an output's elements overlap.
        """
        major, minor = wanted.major, 1 - wanted.major
        empty = 0 in shape
        if not empty and shape[major] > 1 and stride[major] != 1:
            mode, other = wanted.modes[major], wanted.modes[minor]
            along = f"stride 1 along {other}" if stride[minor] == 1 else "no mode with stride 1"
            raise ArgumentError(
                f"{wanted.name}: {mode} must have stride 1, as {wanted.field}.major of this kernel is "
                f"{mode.lower()} (got {_modes(wanted)}={shape} with strides {stride}: {along}{note}); use a "
                f"kernel built with {wanted.field}: {{major: {other.lower()}}}, or a copy in the other layout"
            )
        ld = stride[minor] if shape[minor] > 1 and not empty else max(shape[major], 1)
        if empty:
            step = wanted.align // wanted.dtype.bytes
            ld = -(-ld // step) * step
        if wanted.field == "d" and ld < shape[major]:
            raise ArgumentError(
                f"out: elements must not overlap: the stride of {wanted.modes[minor]} must be at least "
                f"{shape[major]} (got {ld})"
            )
        return cls(wanted=wanted, shape=shape, ld=ld)

    @property
    def run_bytes(self) -> int:
        """Bytes of the contiguous elements along the major mode."""
        return self.shape[self.wanted.major] * self.wanted.dtype.bytes

    @property
    def pitch_bytes(self) -> int:
        """Bytes from one run to the next."""
        return self.ld * self.wanted.dtype.bytes

    @property
    def span_bytes(self) -> int:
        """Bytes from the first element's first byte to the last element's last one."""
        if 0 in self.shape:
            return 0
        return self.run_bytes + (self.shape[1 - self.wanted.major] - 1) * self.pitch_bytes

    def alignment(self, address: int = 0) -> int:
        """Alignment in bytes that the matrix has at an address."""
        strides = (1, self.ld) if self.wanted.major == 0 else (self.ld, 1)
        return alignment(
            self.shape,
            strides,
            itemsize=self.wanted.dtype.bytes,
            address=address,
            major=self.wanted.major,
        )

    def require_alignment(self, address: int) -> None:
        """Raise unless the matrix at this address is aligned as the kernel wants."""
        got, want = self.alignment(address), self.wanted.align
        if got >= want:
            return
        mode, other = self.wanted.modes[self.wanted.major], self.wanted.modes[1 - self.wanted.major]
        facts = [f"the address is a multiple of {address & -address} B" if address else "the address is 0"]
        if self.shape[1 - self.wanted.major] > 1:
            facts.append(f"the pitch along {other} is {self.pitch_bytes} B")
        facts.append(f"a run along {mode} is {self.run_bytes} B")
        raise ArgumentError(
            f"{self.wanted.name}: address, pitch and run length must be multiples of {want} bytes, as "
            f"{self.wanted.field}.align of this kernel is {want} (got {got}: {', '.join(facts)}); "
            f"kernel.variant_for(a, b, c, out) gives a kernel for such tensors"
        )


def require_matrix(wanted: Wanted, shape: Sequence[int]) -> None:
    """Raise unless an argument of this shape has two dimensions."""
    if len(shape) != 2:
        raise ArgumentError(
            f"{wanted.name}: must have 2 dimensions, ({','.join(wanted.modes)}) "
            f"(got {len(shape)}, shape {tuple(shape)})"
        )


def _modes(wanted: Wanted) -> str:
    return f"({wanted.modes[0]},{wanted.modes[1]})"


def orient_b(shape: tuple[int, int], k: int, order: BOrder | None) -> tuple[bool, str]:
    """Whether b is given as (K,N), and how to say so in a message.

    Whatever ``torch.mm(a, b)`` accepts means the same here: b is (K,N). A tensor that torch.mm refuses
    because only its second extent is K is B itself, (N,K). The keyword ``b_is`` settles it beforehand.
    """
    if order not in (None, "nk", "kn"):
        raise ArgumentError(f"b_is: must be 'nk', 'kn' or None (got {order!r})")
    transposed = order == "kn" or (order is None and shape[0] == k)
    if shape[0 if transposed else 1] != k:
        need = {"nk": "(N,K)", "kn": "(K,N)", None: "(K,N), as for torch.mm, or (N,K)"}[order]
        raise ArgumentError(f"b: must be {need} with K = {k}, the second extent of a (got shape {shape})")
    if order is None and shape[0] == shape[1]:
        return True, (
            "; a square b is read as (K,N), as by torch.mm: for a W of shape (N,K) pass W.t(), or b_is='nk'"
        )
    return transposed, f"; given as {'(K,N)' if transposed else '(N,K)'}"


def check_extents(m: int, n: int, k: int, tile: tuple[int, int, int]) -> None:
    """Raise unless extents and the number of CTA tiles fit the kernel's 32-bit indices."""
    for name, extent, block in zip("MNK", (m, n, k), tile, strict=True):
        most = _MAX // block * block  # a partial tile's last index must not wrap
        if extent > most:
            argument = "b" if name == "N" else "a"
            raise ArgumentError(f"{argument}: {name} must be at most {most} (got {extent})")
    tiles = -(-m // tile[0]) * -(-n // tile[1])
    if tiles > _MAX:
        raise ArgumentError(f"out: must have at most {_MAX} tiles of {tile[0]}x{tile[1]} (got {tiles})")


def overlap(x: Matrix, x_address: int, y: Matrix, y_address: int) -> bool:
    """Whether two matrices may share a byte.

    Exact for disjoint address ranges, for a matrix in the gaps of another, and for matrices of one pitch,
    such as column slices of one buffer; other interleavings count as overlapping.
    """
    if not (x.span_bytes and y.span_bytes):
        return False
    if x_address >= y_address + y.span_bytes or y_address >= x_address + x.span_bytes:
        return False
    y_bytes = y.run_bytes if x.pitch_bytes == y.pitch_bytes else y.span_bytes
    x_bytes = x.run_bytes if x.pitch_bytes == y.pitch_bytes else x.span_bytes
    return not (_in_gaps(x, y_address - x_address, y_bytes) or _in_gaps(y, x_address - y_address, x_bytes))


def _in_gaps(matrix: Matrix, offset: int, length: int) -> bool:
    """Whether ``length`` bytes at ``offset`` from a matrix lie between two of its runs."""
    if not matrix.pitch_bytes:
        return False
    shift = offset % matrix.pitch_bytes
    return matrix.run_bytes <= shift and shift + length <= matrix.pitch_bytes
