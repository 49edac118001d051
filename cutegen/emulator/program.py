"""Run hand-written CUDA files: with their own ``main``, or one kernel of theirs with given arguments."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutegen.emulator.collect import collect
from cutegen.emulator.gemm import Matrix, default_processes, shared_limit
from cutegen.emulator.host import HostToolchain
from cutegen.emulator.job import Buffer, Job, Progress, run_job
from cutegen.emulator.kernel import compile_text
from cutegen.emulator.report import EmulatorReport
from cutegen.errors import ArgumentError

__all__ = ["Launch", "emulate"]

Triple = tuple[int, int, int]
_SLOT = 16


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How one kernel of a file is launched.

    Attributes:
        kernel: A C++ expression that names it, for example ``gemm<float, 128>``.
        grid: CTAs.
        block: Threads of a CTA.
        shared: Bytes of dynamic shared memory.
        cluster: CTAs of a cluster.
        arguments: Its arguments: numpy arrays and torch CPU tensors become pointers, Python ints and floats
            take the parameter's type, and ``bytes`` are passed as they are (16 at most).
        outputs: Indices of the arrays that the kernel may write to; all by default.
    """

    kernel: str
    grid: Triple
    block: Triple
    shared: int = 0
    cluster: Triple = (1, 1, 1)
    arguments: Sequence[Any] = ()
    outputs: Sequence[int] | None = None


def emulate(
    source: str | Path,
    launch: Launch | None = None,
    *,
    arch: str = "sm_80",
    arguments: Sequence[str] = (),
    options: Sequence[str] = (),
    sanitize: bool = True,
    processes: int | None = None,
    seed: int = 0,
    timeout: float | None = None,
    progress: Progress | None = None,
    host: HostToolchain | None = None,
) -> EmulatorReport:
    """Compile a ``.cu`` file for the CPU and run it.

    Args:
        source: The file.
        launch: The kernel to launch; left out: the file's own ``main``, which may allocate, copy and launch
            through the CUDA runtime.
        arch: The architecture to be.
        arguments: Words for its ``main``.
        options: Further options of the host compiler, such as ``-DNAME=1`` and ``-I/include``.
        sanitize: Check every access and count its cost.
        processes: Worker processes over which CTAs are spread.
        seed: 0 runs threads in order, others in an order of their own.
        timeout: Seconds after which the run is stopped.
        progress: Called with the CTAs that are done and the number of all.
        host: Compiler and headers; found when left out.

    Raises:
        CompileError: The host compiler refused the file.
        ToolchainError: A compiler or headers are missing.
        ArgumentError: An argument of the launch cannot be passed.
        LaunchError: The run could not be carried out.
    """
    path = Path(source)
    text = path.read_text(encoding="utf-8")
    suffix = ""
    if launch is not None:
        suffix = (
            f'\nextern "C" void cge_entry(void** arguments) {{ cge::call(&{launch.kernel}, arguments); }}\n'
        )
    compiled = compile_text(
        text,
        name=path.stem,
        arch=arch,
        host=host,
        options=(*options, f"-I{path.resolve().parent}"),
        suffix=suffix or "\n",
    )
    if launch is None:
        job = Job(
            compiled=compiled,
            entry="",
            arguments=tuple(arguments),
            shared_limit=shared_limit(arch),
            sanitize=sanitize,
            processes=default_processes(1 << 20) if processes is None else processes,
            seed=seed,
            timeout=timeout,
            progress=progress,
        )
        return collect(job, run_job(job))
    ctas = launch.grid[0] * launch.grid[1] * launch.grid[2]
    parameters, pointers, buffers = _pack(launch)
    job = Job(
        compiled=compiled,
        entry="cge_entry",
        parameters=parameters,
        pointers=pointers,
        buffers=buffers,
        grid=launch.grid,
        block=launch.block,
        cluster=launch.cluster,
        shared=launch.shared,
        shared_limit=shared_limit(arch),
        sanitize=sanitize,
        processes=default_processes(ctas) if processes is None else processes,
        seed=seed,
        timeout=timeout,
        progress=progress,
    )
    return collect(job, run_job(job))


def _pack(launch: Launch) -> tuple[bytes, tuple[tuple[int, int, int], ...], tuple[Buffer, ...]]:
    """Arguments in 16-byte slots: an int or a float in both forms, told apart by the parameter's type."""
    slots: list[bytes] = []
    pointers: list[tuple[int, int, int]] = []
    buffers: list[Buffer] = []
    for index, argument in enumerate(launch.arguments):
        if isinstance(argument, bytes):
            if len(argument) > _SLOT:
                raise ArgumentError(f"argument {index} must have at most {_SLOT} bytes (got {len(argument)})")
            slots.append(argument.ljust(_SLOT, b"\0"))
        elif isinstance(argument, (bool, int, float)):
            inside = -(1 << 63) <= argument < 1 << 64
            if not inside and not isinstance(argument, float):
                raise ArgumentError(f"argument {index} must fit into 64 bits (got {argument})")
            whole = int(argument) if inside else 0  # a float beyond, or none: no integer parameter gets it
            slots.append(struct.pack("<q" if whole < 1 << 63 else "<Q", whole) + struct.pack("<d", argument))
        else:
            address, nbytes, element = _memory(argument, index)
            writable = launch.outputs is None or index in launch.outputs
            pointers.append((len(slots) * _SLOT, len(buffers), 0))
            buffers.append(
                Buffer(
                    name=f"argument{index}", address=address, bytes=nbytes, element=element, writable=writable
                )
            )
            slots.append(bytes(_SLOT))
    return b"".join(slots), tuple(pointers), tuple(buffers)


def _memory(argument: Any, index: int) -> tuple[int, int, int]:
    """Address, bytes and element size of a contiguous array or tensor."""
    if isinstance(argument, Matrix):
        return argument.address, argument.bytes, argument.element
    if hasattr(argument, "data_ptr"):
        return (
            int(argument.data_ptr()),
            int(argument.numel() * argument.element_size()),
            int(argument.element_size()),
        )
    if hasattr(argument, "__array_interface__"):
        address = int(argument.__array_interface__["data"][0])
        return address, int(argument.nbytes), int(argument.itemsize)
    raise ArgumentError(
        f"argument {index} must be a number, bytes or an array (got {type(argument).__name__})"
    )
