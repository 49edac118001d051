"""Run hand-written CUDA files: with their own ``main``, or one kernel of theirs with given arguments."""

from __future__ import annotations

import difflib
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cutegen.emulator.collect import collect
from cutegen.emulator.gemm import Matrix, default_processes, shared_limit
from cutegen.emulator.host import HostToolchain
from cutegen.emulator.job import Buffer, Job, Progress, run_job
from cutegen.emulator.kernel import CompiledSource, compile_text
from cutegen.emulator.prepare import ARCH_CODES
from cutegen.emulator.report import EmulatorReport
from cutegen.emulator.schedules import run_schedules
from cutegen.errors import ArgumentError, CompileError, SourceError

__all__ = ["Launch", "Program", "compile_program", "emulate", "outputs_of"]

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
            take the parameter's type, None is a null pointer, and ``bytes`` are passed as they are (16 at
            most).
        outputs: Indices of the arrays that the kernel may write to; all by default.
        names: What reports call the arrays, by index; ``argument0`` and so on by default.
        cooperative: A cooperative launch, which a barrier of the whole grid needs.
    """

    kernel: str
    grid: Triple
    block: Triple
    shared: int = 0
    cluster: Triple = (1, 1, 1)
    arguments: Sequence[Any] = ()
    outputs: Sequence[int] | None = None
    names: Sequence[str] = ()
    cooperative: bool = False


@dataclass(frozen=True, kw_only=True)
class Program:
    """A compiled file, ready to run as often as wanted.

    Attributes:
        compiled: What the host compiler made.
        launch: The kernel that runs; None: the file's own ``main``.
    """

    compiled: CompiledSource
    launch: Launch | None

    def run(
        self,
        *,
        arguments: Sequence[str] = (),
        sanitize: bool = True,
        processes: int | None = None,
        seed: int = 0,
        multiprocessors: int = 0,
        dump: str | Path | None = None,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> EmulatorReport:
        """Run it once; see :func:`emulate`.

        Raises:
            ArgumentError: An argument of the launch cannot be passed.
            LaunchError: The run could not be carried out.
        """
        job = Job(
            compiled=self.compiled,
            entry="",
            arguments=tuple(arguments),
            shared_limit=shared_limit(self.compiled.arch),
            sanitize=sanitize,
            processes=default_processes(1 << 20) if processes is None else processes,
            seed=seed,
            multiprocessors=multiprocessors,
            dump=None if dump is None else Path(dump),
            timeout=timeout,
            progress=progress,
        )
        if self.launch is not None:
            launch = self.launch
            parameters, pointers, buffers = _pack(launch)
            ctas = launch.grid[0] * launch.grid[1] * launch.grid[2]
            job = replace(
                job,
                entry="cge_entry",
                parameters=parameters,
                pointers=pointers,
                buffers=buffers,
                grid=launch.grid,
                block=launch.block,
                cluster=launch.cluster,
                shared=launch.shared,
                cooperative=launch.cooperative,
                processes=default_processes(ctas) if processes is None else processes,
            )
        return collect(job, run_job(job))


def compile_program(
    source: str | Path,
    launch: Launch | None = None,
    *,
    arch: str = "sm_80",
    options: Sequence[str] = (),
    host: HostToolchain | None = None,
) -> Program:
    """Compile a ``.cu`` file for the CPU, or take it from the cache; see :func:`emulate`.

    Raises:
        ArgumentError: There is no such file, architecture, ``main`` or kernel.
        SourceError: The host compiler refused the file.
        ToolchainError: A compiler or headers are missing.
    """
    path = Path(source)
    text = _read(path)
    if arch not in ARCH_CODES:
        raise ArgumentError(f"arch must be one of {', '.join(ARCH_CODES)} (got {arch!r})")
    suffix = "\n"
    if launch is None:
        if not re.search(r"\bmain\s*\(", text):
            known = ", ".join(_kernels(text)) or "none"
            raise ArgumentError(f"{path} has no main; name one of its kernels to launch (it has {known})")
    else:
        _check_kernel(path, text, launch.kernel)
        suffix = (
            f'\n#line 1 "launch"\nextern "C" void cge_entry(void** arguments) {{ '
            f"cge::call<{_passed(launch)}>(&{launch.kernel}, arguments); }}\n"
        )
    try:
        compiled = compile_text(
            text,
            name=path.stem,
            arch=arch,
            host=host,
            options=(*options, f"-I{path.resolve().parent}"),
            suffix=suffix,
        )
    except CompileError as exc:
        _explain_arguments(launch, exc.log)
        raise SourceError(str(path), exc.command, exc.log) from None
    return Program(compiled=compiled, launch=launch)


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
    multiprocessors: int = 0,
    dump: str | Path | None = None,
    schedules: int = 1,
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
        multiprocessors: SMs of the GPU to be: what the program is told, and how many CTAs can be resident. By
            default those of a large GPU of the architecture.
        dump: A directory; what is in each allocation of a program is written to ``0.bin`` and so on, in the
            order of allocation, when it is freed or the program ends.
        schedules: Orders of threads that are run, from ``seed`` on. Outputs begin each one as they were
            given; a note of the report says when they differ.
        timeout: Seconds after which a run is stopped.
        progress: Called with the CTAs that are done and the number of all.
        host: Compiler and headers; found when left out.

    Raises:
        ArgumentError: There is no such file or kernel, or an argument of the launch cannot be passed.
        SourceError: The host compiler refused the file.
        ToolchainError: A compiler or headers are missing.
        LaunchError: The run could not be carried out.
    """
    program = compile_program(source, launch, arch=arch, options=options, host=host)
    return run_schedules(
        lambda number: program.run(
            arguments=arguments,
            sanitize=sanitize,
            processes=processes,
            seed=number,
            multiprocessors=multiprocessors,
            dump=dump,
            timeout=timeout,
            progress=progress,
        ),
        outputs_of(launch) if launch is not None else {},
        range(seed, seed + schedules),
    )


def outputs_of(launch: Launch) -> dict[str, Any]:
    """The arrays of a launch that its kernel may write to, by name."""
    return {
        _name(launch, index): argument
        for index, argument in enumerate(launch.arguments)
        if not isinstance(argument, bytes | bool | int | float | Matrix | None)
        and (launch.outputs is None or index in launch.outputs)
    }


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is no UTF-8 text"
        raise ArgumentError(f"{path} cannot be read: {reason}") from None


def _kernels(text: str) -> list[str]:
    """Names of the kernels that a text declares."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    names = set()
    for match in re.finditer(r"__global__\b", code):
        at = match.end()
        while found := re.compile(r"[^;{(]*?\b(\w+)\s*\(").match(code, at):
            if found[1] not in ("__launch_bounds__", "__cluster_dims__", "decltype", "alignas"):
                names.add(found[1])
                break
            at, depth = found.end(), 1
            while depth and at < len(code):
                depth += {"(": 1, ")": -1}.get(code[at], 0)
                at += 1
    return sorted(names)


def _check_kernel(path: Path, text: str, kernel: str) -> None:
    name = re.sub(r"<.*", "", kernel, flags=re.DOTALL).strip().rsplit("::", 1)[-1].strip("&( )")
    known = _kernels(text)
    if re.search(rf"\b{re.escape(name)}\b", text) or (not known and "#include" in text):
        return
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"it has {', '.join(known) or 'no kernel'}"
    raise ArgumentError(f"{path} has no kernel {name}; {hint}")


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
        elif argument is None:
            slots.append(bytes(_SLOT))
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
                    name=_name(launch, index),
                    address=address,
                    bytes=nbytes,
                    element=element,
                    writable=writable,
                )
            )
            slots.append(bytes(_SLOT))
    return b"".join(slots), tuple(pointers), tuple(buffers)


def _passed(launch: Launch) -> str:
    """For each argument what it is, as cge::Passed has it."""
    codes = []
    for argument in launch.arguments:
        if argument is None:
            codes.append("cge::kNull")
        elif isinstance(argument, bytes):
            codes.append(str(len(argument)))
        else:
            codes.append("cge::kNumber" if isinstance(argument, bool | int | float) else "cge::kArray")
    return ", ".join(codes)


def _explain_arguments(launch: Launch | None, log: str) -> None:
    """Raise what a static_assert of program.hpp says about a launch."""
    found = re.search(r"launch: ([\w ,;]+)", log)
    if launch is None or found is None:
        return
    place = re.search(r"Passed<(\d+),", log)
    where = f"argument {place[1]}: " if place and found[1].startswith("a") else ""
    raise ArgumentError(f"{launch.kernel}: {where}{found[1]}")


def _name(launch: Launch, index: int) -> str:
    return (launch.names[index] if index < len(launch.names) else "") or f"argument{index}"


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
