"""One run of a compiled kernel in a process of its own."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cutegen import settings
from cutegen.emulator.kernel import CompiledSource
from cutegen.errors import LaunchError
from cutegen.toolchain.process import watched

__all__ = ["Buffer", "Job", "MapArgument", "Outcome", "Progress", "run_job"]

Progress = Callable[[int, int], None]
"""Called with the CTAs (clusters) that are done and the number of all."""

_PAGE = 4096
_ALIGN = 16  # what of an address survives: the widest access, but not where numpy happened to put the array
_POLL_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """Memory that a kernel gets; copied in before the run, and back after it if it is writable.

    Attributes:
        name: For reports.
        address: Where it is in this process.
        bytes: Its size.
        element: Bytes of an element; races are told apart by elements.
        writable: Whether the kernel may write to it.
        dependent: Whether it must not be touched before ``griddepcontrol.wait``, as in a dependent launch.
        row_bytes: Bytes of a row that belong to the matrix; 0: no rows.
        pitch: Bytes from one row to the next.
    """

    name: str
    address: int
    bytes: int
    element: int = 1
    writable: bool = False
    dependent: bool = False
    row_bytes: int = 0
    pitch: int = 0


@dataclass(frozen=True, kw_only=True)
class MapArgument:
    """A tensor map of two modes, which the emulated driver encodes into the parameters.

    Attributes:
        at: Byte in the parameters.
        type: ``CUtensorMapDataType``.
        buffer: Index of the buffer.
        delta: Bytes from its begin.
        extents: Of the contiguous mode and of the other, in elements.
        stride: Of the other mode, in bytes.
        box: Extents of a box.
        swizzle: ``CUtensorMapSwizzle``.
    """

    at: int
    type: int
    buffer: int
    delta: int
    extents: tuple[int, int]
    stride: int
    box: tuple[int, int]
    swizzle: int


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to run and how.

    Attributes:
        compiled: The kernel.
        entry: Name of its entry; empty: its ``main``.
        prepare: Name of host code that makes the entry's parameters of the parameter block, and the grid.
        arguments: Words for its ``main``.
        parameters: The parameter block, or 16-byte slots of arguments for the entry ``cge_entry``.
        pointers: (byte in the parameters, index of a buffer, bytes from its begin).
        maps: Tensor maps, which follow the parameter block at byte 128.
        buffers: The memory that it may touch.
        grid: CTAs.
        block: Threads.
        cluster: CTAs of a cluster.
        shared: Bytes of dynamic shared memory.
        shared_limit: Most bytes of shared memory of one CTA.
        sanitize: Whether to check and to count.
        processes: Worker processes; CTAs are spread over them.
        seed: 0 runs threads in order; others in an order of their own.
        multiprocessors: SMs of the GPU; 0: those of a large one of the architecture.
        dump: Where what a program leaves in its allocations is written.
        cooperative: Whether the CTAs may wait for each other at a barrier of the grid.
        timeout: Seconds after which the run is stopped.
        progress: Called now and then while it runs.
    """

    compiled: CompiledSource
    entry: str
    prepare: str = ""
    arguments: tuple[str, ...] = ()
    parameters: bytes = b""
    pointers: tuple[tuple[int, int, int], ...] = ()
    maps: tuple[MapArgument, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    shared_limit: int = 227 * 1024
    sanitize: bool = True
    processes: int = 1
    seed: int = 0
    multiprocessors: int = 0
    cooperative: bool = False
    dump: Path | None = None
    timeout: float | None = None
    progress: Progress | None = None


@dataclass(kw_only=True)
class Outcome:
    """What came back.

    Attributes:
        records: Findings, traffic and so on, as the runtime wrote them.
        ctas: Clusters that ran to their end.
        seconds: Wall time of the process.
        output: What it printed.
        status: Exit status of its ``main``.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    ctas: int = 0
    seconds: float = 0.0
    output: str = ""
    status: int = 0


def run_job(job: Job) -> Outcome:
    """Run a job to its end.

    Raises:
        LaunchError: If the process could not run it, or took too long.
    """
    start = time.monotonic()
    offsets, total = _layout(job.buffers)
    data_fd = os.memfd_create("cutegen-data")
    report_fd = os.memfd_create("cutegen-report")
    try:
        os.ftruncate(data_fd, total)
        with mmap.mmap(data_fd, total) as data:
            _copy(job.buffers, offsets, data, out=False)
            # NOTE: workers append with one write each; the file's position must not be shared state.
            append_fd = os.open(f"/proc/self/fd/{report_fd}", os.O_WRONLY | os.O_APPEND)
            try:
                code, output, error = _execute(job, offsets, data, data_fd, append_fd)
            finally:
                os.close(append_fd)
            _copy(job.buffers, offsets, data, out=True)
            done = int.from_bytes(data[4:8], "little")
        records = _read_records(report_fd)
    finally:
        os.close(data_fd)
        os.close(report_fd)
    if code == 64 or (code not in (0, 65, 66, 70, 71) and not any(r["type"] == "finding" for r in records)):
        raise LaunchError(f"the emulator stopped with status {code}: {(error or output).strip()[-400:]}")
    return Outcome(
        records=records,
        ctas=done,
        seconds=time.monotonic() - start,
        output=output + error,
        status=1 if code == 66 else 0,
    )


def _layout(buffers: Sequence[Buffer]) -> tuple[list[int], int]:
    """Where each buffer lies in the data file: whole pages, behind the control page."""
    offsets, at = [], _PAGE
    for buffer in buffers:
        offsets.append(at)
        at += -(-(buffer.bytes + buffer.address % _ALIGN) // _PAGE) * _PAGE
    return offsets, at


def _copy(buffers: Sequence[Buffer], offsets: Sequence[int], data: mmap.mmap, *, out: bool) -> None:
    anchor = ctypes.c_char.from_buffer(data)  # the map cannot be closed while this lives
    base = ctypes.addressof(anchor)
    for buffer, offset in zip(buffers, offsets, strict=True):
        here, there = base + offset + buffer.address % _ALIGN, buffer.address
        if buffer.bytes and not out:
            ctypes.memmove(here, there, buffer.bytes)
        elif buffer.bytes and buffer.writable:
            ctypes.memmove(there, here, buffer.bytes)
    del anchor


def _describe(job: Job, offsets: Sequence[int], data_fd: int, report_fd: int) -> str:
    lines = [
        f"library {job.compiled.library}",
        f"entry {job.entry}" if job.entry else "main",
        *([f"prepare {job.prepare}"] if job.prepare else []),
        *(f"argument {word}" for word in job.arguments),
        f"arch {''.join(filter(str.isdigit, job.compiled.arch))} {int(job.compiled.arch.endswith('a'))}",
        f"data {data_fd} 0",
        f"report {report_fd}",
    ]
    for b, offset in zip(job.buffers, offsets, strict=True):
        name = b.name.replace(" ", "_") or "buffer"
        lines.append(
            f"buffer {name} {offset} {b.bytes} {b.address % _ALIGN} {b.element} {int(b.writable)} "
            f"{int(b.dependent)} {b.row_bytes} {b.pitch}"
        )
    if job.parameters:
        lines.append(f"parameters {job.parameters.hex()}")
    lines += [f"pointer {at} {index} {delta}" for at, index, delta in job.pointers]
    for m in job.maps:
        numbers = (m.at, m.type, m.buffer, m.delta, *m.extents, m.stride, *m.box, m.swizzle)
        lines.append(f"map {' '.join(map(str, numbers))}")
    for key in ("grid", "block", "cluster"):
        lines.append(f"{key} {' '.join(map(str, getattr(job, key)))}")
    lines += [
        f"shared {job.shared}",
        f"limit {job.shared_limit}",
        f"seed {job.seed}",
        f"multiprocessors {job.multiprocessors}",
        f"cooperative {int(job.cooperative)}",
        *([f"dump {job.dump.resolve()}"] if job.dump else []),
        f"processes {job.processes}",
    ]
    return "\n".join(lines) + "\n"


def _execute(
    job: Job, offsets: Sequence[int], data: mmap.mmap, data_fd: int, report_fd: int
) -> tuple[int, str, str]:
    program = job.compiled.runtimes / ("sanitize" if job.sanitize else "plain")
    process = subprocess.Popen(
        [str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(data_fd, report_fd),
        env=dict(settings.child_environment()),
        start_new_session=True,
    )
    text = _describe(job, offsets, data_fd, report_fd).encode()
    try:
        with watched(process):
            output, error = _communicate(job, process, data, text)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.communicate()
    return process.returncode, output.decode(errors="replace"), error.decode(errors="replace")


def _communicate(
    job: Job, process: subprocess.Popen[bytes], data: mmap.mmap, words: bytes
) -> tuple[bytes, bytes]:
    """Tell a process its job, and wait for its end or for the job's timeout."""
    deadline = None if job.timeout is None else time.monotonic() + job.timeout
    text: bytes | None = words
    while True:
        wait = _POLL_SECONDS if job.progress else None
        if deadline is not None:
            left = max(0.0, deadline - time.monotonic())
            wait = left if wait is None else min(wait, left)
        try:
            return process.communicate(text, timeout=wait)
        except subprocess.TimeoutExpired as expired:
            text = None
            if job.progress:
                job.progress(int.from_bytes(data[4:8], "little"), int.from_bytes(data[8:12], "little"))
            if deadline is not None and time.monotonic() >= deadline:
                raise LaunchError(f"the emulated kernel did not end within {job.timeout:g} s") from expired


def _read_records(fd: int) -> list[dict[str, Any]]:
    size = os.fstat(fd).st_size
    text = os.pread(fd, size, 0).decode(errors="replace") if size else ""
    return [json.loads(line) for line in text.splitlines() if line.strip()]
