"""An emulated kernel of cutegen as a callable over CPU tensors."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cutegen.arch import ARCHS
from cutegen.emulator.collect import collect
from cutegen.emulator.host import HostToolchain
from cutegen.emulator.job import Buffer, Job, Progress, run_job
from cutegen.emulator.kernel import CompiledSource, compile_source
from cutegen.emulator.maps import MAP_BYTES, MAPS_OFFSET, map_arguments
from cutegen.emulator.report import EmulatorReport
from cutegen.emulator.workspace import Workspaces
from cutegen.errors import ArgumentError, LaunchError
from cutegen.render import LaunchSpec, RenderedKernel
from cutegen.vectors import VECTOR_NAMES, Vector

__all__ = ["EmulatedKernel", "Matrix", "compile"]

#: Of the pointers to scales and bias in the parameters.
_VECTORS_OFFSET = 96

#: Of a persistent kernel: few, so that each takes tile after tile.
_RESIDENT_CLUSTERS = 3


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A matrix in this process's memory.

    Attributes:
        address: Of its first element.
        element: Bytes of an element.
        shape: Rows and columns.
        strides: Elements from row to row and from column to column; one of them is 1.
    """

    address: int
    element: int
    shape: tuple[int, int]
    strides: tuple[int, int]

    @property
    def leading(self) -> int:
        """The stride of the mode that is not the major one."""
        if self.strides[0] == 1 and not (self.strides[1] == 1 and self.shape[0] == 1):
            return self.strides[1]
        return self.strides[0]

    @property
    def bytes(self) -> int:
        """From its first to its last element."""
        if 0 in self.shape:
            return 0
        last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return (last + 1) * self.element

    @classmethod
    def of(cls, tensor: Any, name: str) -> Matrix:
        """A 2-D numpy array or torch CPU tensor.

        Raises:
            ArgumentError: It is something else, or neither stride is 1.
        """
        if isinstance(tensor, Matrix):
            return tensor
        if hasattr(tensor, "data_ptr"):
            address, element = int(tensor.data_ptr()), int(tensor.element_size())
            shape, strides = tuple(tensor.shape), tuple(int(s) for s in tensor.stride())
            if tensor.device.type != "cpu":
                raise ArgumentError(f"{name} must be a CPU tensor (got one on {tensor.device})")
        elif hasattr(tensor, "__array_interface__"):
            address, element = int(tensor.__array_interface__["data"][0]), int(tensor.itemsize)
            shape, strides = tuple(tensor.shape), tuple(int(s) // element for s in tensor.strides)
        else:
            raise ArgumentError(
                f"{name} must be a numpy array or a torch tensor (got {type(tensor).__name__})"
            )
        if len(shape) != 2:
            raise ArgumentError(f"{name} must have two dimensions (got {len(shape)})")
        if 1 not in strides and 0 not in shape and max(shape) > 1:
            raise ArgumentError(f"{name} must have a stride of 1 (got {strides})")
        return cls(
            address=address, element=element, shape=(shape[0], shape[1]), strides=(strides[0], strides[1])
        )


@dataclass(frozen=True, kw_only=True)
class EmulatedKernel:
    """A rendered kernel that runs on the CPU.

    Attributes:
        compiled: What the host compiler made.
        launch: How it is launched.
        workspaces: Global memory for sums, kept from one launch to the next.
    """

    compiled: CompiledSource
    launch: LaunchSpec
    workspaces: Workspaces = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Begin without a workspace."""
        object.__setattr__(self, "workspaces", Workspaces(self.launch))

    def run(
        self,
        a: Any,
        b: Any,
        d: Any,
        c: Any = None,
        *,
        alpha: float = 1.0,
        beta: float = 0.0,
        vectors: Mapping[str, Any] | None = None,
        leading: Sequence[int] | None = None,
        group: int = 0,
        sanitize: bool = True,
        processes: int | None = None,
        seed: int = 0,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> EmulatorReport:
        """D = alpha * A*B^T + beta * C.

        Args:
            a: A, (M,K), in the kernel's type and major: a numpy array, a torch CPU tensor, a :class:`Matrix`.
            b: B, (N,K).
            d: D, (M,N), which is written.
            c: C, (M,N); not read when beta is 0. It may be ``d`` itself.
            alpha: Factor of the product.
            beta: Factor of C.
            vectors: What the config has of ``scale_a``, ``scale_b`` and ``bias``: contiguous arrays or
                tensors, or a :class:`Matrix` of one column.
            leading: Leading strides of A, B, C, D in elements, where the arrays do not tell them.
            group: Tiles of a raster group; 0: as the config says.
            sanitize: Check every access and count its cost.
            processes: Worker processes; by default as many as there are cores, for more than a few CTAs.
            seed: 0 runs threads in order, others in an order of their own.
            timeout: Seconds after which the run is stopped.
            progress: Called with the CTAs that are done and the number of all.

        Raises:
            ArgumentError: Shapes do not fit.
            LaunchError: The run could not be carried out.
        """
        given = {"A": Matrix.of(a, "a"), "B": Matrix.of(b, "b"), "D": Matrix.of(d, "d")}
        if c is not None and beta != 0:
            given["C"] = Matrix.of(c, "c")
        (m, k), (n, kb) = given["A"].shape, given["B"].shape
        for name, want in (("B", (n, k)), ("D", (m, n)), ("C", (m, n))):
            if name in given and given[name].shape != want:
                raise ArgumentError(f"{name.lower()} must be {want} (got {given[name].shape})")
        del kb
        if self.launch.host_code and k == 0:
            raise LaunchError("a collective needs a K of at least 1 (got 0)")
        buffers, where = _buffers(given, set(given) - set(self.launch.constant) if self.launch.pdl else set())
        pointers = [("ABCD".index(x) * 8, *where[x]) for x in given]
        for vector in self.launch.vectors:
            buffer = _vector_buffer(vector, (vectors or {}).get(vector.name), vector.length(m, n))
            pointers.append((_VECTORS_OFFSET + VECTOR_NAMES.index(vector.name) * 8, len(buffers), 0))
            buffers = (*buffers, buffer)
        lds = list(leading or (given[x].leading if x in given else n for x in "ABCD"))
        try:
            parameters = struct.pack("<4q4q4i2d3q", 0, 0, 0, 0, *lds, m, n, k, group, alpha, beta, 0, 0, 0)
        except (struct.error, OverflowError, TypeError) as error:
            raise ArgumentError(
                f"extents must fit into 32 bits, leading strides into 64, alpha and beta into a double (got "
                f"(M,N,K) = {(m, n, k)}, leading strides {lds}, alpha = {alpha}, beta = {beta})"
            ) from error
        extents = {"A": (m, k), "B": (n, k), "D": (m, n)}
        maps = map_arguments(self.launch.maps, extents, dict(zip("ABCD", lds, strict=True)), where)
        maps_end = MAPS_OFFSET + MAP_BYTES * len(maps)
        parameters = parameters.ljust(maps_end + MAP_BYTES * self.launch.workspace, b"\0")
        clusters = self.launch.clusters(m, n, k, most=_RESIDENT_CLUSTERS)
        per_cluster = self.launch.cluster_size
        tiles = clusters * per_cluster
        own = self.launch.host_code
        job = Job(
            compiled=self.compiled,
            entry=self.launch.kernel,
            parameters=parameters,
            pointers=tuple(pointers),
            maps=maps,
            buffers=buffers,
            grid=(tiles, 1, 1),
            prepare=f"{self.compiled.name}_prepare" if own else "",
            cluster=(*self.launch.cluster, 1) if own else (per_cluster, 1, 1),
            multiprocessors=_RESIDENT_CLUSTERS * per_cluster if own else 0,
            block=(self.launch.threads, 1, 1),
            shared=self.launch.smem_bytes,
            shared_limit=shared_limit(self.compiled.arch),
            sanitize=sanitize,
            processes=default_processes(tiles) if processes is None else processes,
            seed=seed,
            timeout=timeout,
            progress=progress,
        )
        if tiles == 0:
            return EmulatorReport(kernel=self.compiled.name, sanitized=sanitize)
        with self.workspaces.of(self.launch.slots(m, n, k, most=_RESIDENT_CLUSTERS)) as workspace:
            where_from = tuple((maps_end + 8 * i, len(buffers) + i, 0) for i in range(len(workspace)))
            job = replace(job, buffers=(*buffers, *workspace), pointers=(*pointers, *where_from))
            return collect(job, run_job(job))


def compile(rendered: RenderedKernel, *, host: HostToolchain | None = None) -> EmulatedKernel:
    """Compile a rendered kernel for the CPU, or take it from the cache.

    Raises:
        CompileError: The host compiler refused the text.
        ToolchainError: A compiler or headers are missing.
    """
    return EmulatedKernel(compiled=compile_source(rendered, host=host), launch=rendered.launch)


def shared_limit(arch: str) -> int:
    """Most bytes of shared memory of one CTA."""
    known = next((limits for name, limits in ARCHS.items() if name == arch), None)
    return known.smem_per_block if known is not None else 227 * 1024


def default_processes(ctas: int) -> int:
    """One process for a few CTAs, else one for each core."""
    return min(len(os.sched_getaffinity(0)), max(1, ctas // 2))


def _buffers(
    given: dict[str, Matrix], dependent: set[str]
) -> tuple[tuple[Buffer, ...], dict[str, tuple[int, int]]]:
    """Buffers, and for each matrix the index of its buffer and its offset; C may share D's."""
    buffers: list[Buffer] = []
    where: dict[str, tuple[int, int]] = {}
    for name, matrix in given.items():
        if name == "C" and matrix.address == given["D"].address and matrix.bytes:
            where[name] = where["D"]
            continue
        rows_first = matrix.strides[1] == 1
        width = matrix.shape[1 if rows_first else 0] * matrix.element
        pitch = matrix.leading * matrix.element
        strided = min(matrix.shape) > 0 and pitch > width
        where[name] = (len(buffers), 0)
        buffers.append(
            Buffer(
                name=name,
                address=matrix.address,
                bytes=matrix.bytes,
                element=matrix.element,
                writable=name == "D",
                dependent=name in dependent,
                row_bytes=width if strided else 0,
                pitch=pitch if strided else 0,
            )
        )
    return tuple(buffers), where


def _vector_buffer(vector: Vector, array: Any, length: int) -> Buffer:
    """A vector's buffer.

    Raises:
        ArgumentError: It is missing, or has another number of elements.
    """
    if array is None:
        raise ArgumentError(f"{vector.name} must be given, as epilogue.{vector.name} is {vector.kind}")
    if not isinstance(array, Matrix):
        array = Matrix.of(array.reshape(-1, 1), vector.name)
    size = vector.element.bytes
    if array.shape != (length, 1) or array.bytes != length * size:
        raise ArgumentError(
            f"{vector.name} must be {length} contiguous elements of {size} bytes "
            f"(got {array.shape[0]} of {array.element} bytes)"
        )
    return Buffer(name=vector.name, address=array.address, bytes=array.bytes, element=size, writable=False)
