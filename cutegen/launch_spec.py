"""What a launcher must know of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from cutegen.operands.wgmma import TensorMap
from cutegen.vectors import Vector

__all__ = ["LaunchSpec", "OperandSpec", "SumsSpec"]


@dataclass(frozen=True, kw_only=True)
class OperandSpec:
    """What a launcher must know of A, B, C or D.

    Attributes:
        name: ``A``, ``B``, ``C`` or ``D``.
        dtype: cutegen's name of the element type.
        bytes: Of one element.
        align: Bytes of which address, pitch and contiguous extent must be multiples; of one element at least.
        run: The extent along which elements are contiguous: ``m``, ``n`` or ``k``.
        rows: The other extent, along which the leading stride steps.
    """

    name: str
    dtype: str
    bytes: int
    align: int
    run: str
    rows: str

    @property
    def elements(self) -> int:
        """Elements of which leading stride and contiguous extent must be multiples."""
        return self.align // self.bytes


@dataclass(frozen=True, kw_only=True)
class SumsSpec:
    """What a launcher must know of sums that meet in global memory, in slots.

    Attributes:
        slot_bytes: Of one CTA's sums.
        slot_flags: 32-bit words that tell of them; the kernel finds and leaves them 0.
        shares: Units of a tile that share its k-tiles; 1 with stream-K.
        stream_k: Whether clusters divide the k-tiles of several tiles evenly.
    """

    slot_bytes: int
    slot_flags: int
    shares: int = 1
    stream_k: bool = False


@dataclass(frozen=True, kw_only=True)
class LaunchSpec:
    """What a launcher must know of a kernel.

    Attributes:
        kernel: ``extern "C"`` name of the ``__global__`` function.
        threads: Threads of one CTA.
        smem_bytes: Dynamic shared memory of one CTA, in bytes.
        blk_m: Rows of the output tile of one CTA.
        blk_n: Columns of the output tile of one CTA.
        blk_k: Depth of one k-tile.
        scale: Type in which alpha and beta are applied.
        a: Operand A; likewise b, c and d.
        cluster: CTAs of a cluster along M and N.
        split_k: CTAs of a cluster for each of its output tiles.
        pdl: Whether it may be launched before the kernel before it in the stream has ended.
        constant: Matrices that it then reads at once, of ``AB``.
        persistent: Whether the grid is bounded by what the GPU holds at once.
        maps: Tensor maps that follow the parameters, in order.
        vectors: Scales and bias that the parameters hold.
        host_code: Whether host code in the source makes the kernel's parameters and its grid.
        workspace: Whether a launch may need global memory of its own.
        sums: What of it the kernel gets behind the maps; None where host code sees to it.
    """

    kernel: str
    threads: int
    smem_bytes: int
    blk_m: int
    blk_n: int
    blk_k: int
    scale: str
    a: OperandSpec
    b: OperandSpec
    c: OperandSpec
    d: OperandSpec
    cluster: tuple[int, int] = (1, 1)
    split_k: int = 1
    pdl: bool = False
    constant: str = ""
    persistent: bool = False
    maps: tuple[TensorMap, ...] = ()
    vectors: tuple[Vector, ...] = ()
    host_code: bool = False
    workspace: bool = False
    sums: SumsSpec | None = None

    @property
    def cluster_size(self) -> int:
        """CTAs of a cluster."""
        return self.cluster[0] * self.cluster[1] * self.split_k

    def vector_bytes(self, name: str) -> int:
        """Bytes of an element of a vector; 0 where the kernel does not take it."""
        return next((vector.element.bytes for vector in self.vectors if vector.name == name), 0)

    def clusters(self, m: int, n: int, k: int = 1, *, most: int) -> int:
        """Clusters of a launch for an (M,N) output; a persistent kernel has at most ``most``."""
        count = self._tiles(m, n) * self._parts(k)
        return min(count, most) if self.persistent else count

    def slots(self, m: int, n: int, k: int, *, most: int) -> int:
        """Slots for sums that a launch may need."""
        if self.sums is None:
            return 0
        tiles, clusters = self._tiles(m, n), self.clusters(m, n, k, most=most)
        if self.sums.stream_k:
            return clusters * self.cluster_size if clusters and tiles % clusters else 0
        return tiles * (self._parts(k) - 1) * self.cluster_size

    def _tiles(self, m: int, n: int) -> int:
        """Output tiles of a cluster."""
        return -(-m // (self.blk_m * self.cluster[0])) * -(-n // (self.blk_n * self.cluster[1]))

    def _parts(self, k: int) -> int:
        """The most units that may work on an output tile."""
        k_tiles = max(1, -(-k // self.blk_k))
        if self.sums is None:
            return 1
        return k_tiles if self.sums.stream_k else min(self.sums.shares, k_tiles)
