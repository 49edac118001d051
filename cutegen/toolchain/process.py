"""Run a compiler as a child process: an argument list, one merged log, and no orphan when it is stopped."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from cutegen.errors import ToolchainError
from cutegen.toolchain.limits import free_memory, usable_cores

__all__ = [
    "Children",
    "Completed",
    "StoppedError",
    "Workers",
    "memory_for_jobs",
    "parallel_jobs",
    "run",
    "says_full",
    "watched",
]

T = TypeVar("T")

_JOB_BYTES = 1024**3
_FULL = re.compile(
    r"No space left on device|Disk quota exceeded|File too large|File size limit exceeded|signal 25\b"
)
#: Waits for a line from us; when our end of the pipe closes without one, we are dead, and so is the group.
_GUARD = 'read -r line || kill -s KILL -- "-$1"'


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A process that has ended.

    Attributes:
        returncode: Its exit status; negative when a signal ended it.
        output: What it wrote to stdout and stderr, in order.
        seconds: How long it took.
    """

    returncode: int
    output: str
    seconds: float

    def describe_end(self) -> str:
        """How it ended, in words."""
        if self.returncode >= 0:
            return f"exit status {self.returncode}"
        with contextlib.suppress(ValueError):
            name = signal.Signals(-self.returncode).name
            hint = ", perhaps for lack of memory" if name == "SIGKILL" else ""
            return f"ended by {name}{hint}"
        return f"ended by signal {-self.returncode}"


_current: ContextVar[Children | None] = ContextVar("batch of processes", default=None)


class StoppedError(Exception):
    """The batch that a process belonged to was stopped."""


class Children:
    """The processes of one batch, so that all of them can be stopped at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._stopped

    def add(self, process: subprocess.Popen[bytes]) -> None:
        """Take a process in; it is stopped at once if the batch was."""
        with self._lock:
            self._running.add(process)
            if self._stopped:
                _kill_group(process)

    def remove(self, process: subprocess.Popen[bytes]) -> None:
        """Forget a process that has ended."""
        with self._lock:
            self._running.discard(process)

    def stop(self) -> None:
        """Kill every process with its descendants, and every one that starts later."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill_group(process)


class Workers:
    """Threads that run processes; those of tasks that are left by an exception, as of Ctrl-C, are killed.

    Every process that a task starts through :func:`run` or names to :func:`watched` is of one batch. Workers
    within a task are of its batch.

    Args:
        jobs: Tasks at a time.
    """

    def __init__(self, jobs: int) -> None:
        self._outer = _current.get()
        self._children = Children() if self._outer is None else self._outer
        self._pool = ThreadPoolExecutor(jobs)

    def submit(self, task: Callable[..., T], *args: Any) -> Future[T]:
        """Have a task done."""
        return self._pool.submit(self._call, task, *args)

    def _call(self, task: Callable[..., T], *args: Any) -> T:
        _current.set(self._children)
        return task(*args)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None and self._outer is None:
            self._children.stop()
        self._pool.shutdown(cancel_futures=kind is not None)


@contextlib.contextmanager
def watched(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Take a process, the leader of a group, into the batch of the task that runs now, if there is one."""
    children = _current.get()
    if children is None:
        yield
        return
    children.add(process)
    guard = _start_guard(process)
    try:
        yield
    finally:
        children.remove(process)
        if guard is not None:
            guard.communicate(b"done\n")
    if children.stopped:
        raise StoppedError


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    children: Children | None = None,
) -> Completed:
    """Run a command to its end.

    Args:
        argv: The command; never a shell string.
        cwd: Its working directory.
        env: Its environment; this process's when left out.
        timeout: Seconds after which it is killed.
        children: The batch it belongs to; left out: that of :class:`Workers`, if one of them runs this. A
            process of a batch also ends when this one is killed outright.

    Raises:
        ToolchainError: If it cannot be started or takes longer than ``timeout``.
        StoppedError: If its batch was stopped.
    """
    children = _current.get() if children is None else children
    if children is not None and children.stopped:
        raise StoppedError
    start = time.monotonic()
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=env,
            start_new_session=True,  # a group of its own, so that nvcc's children can be killed with it
        )
    except OSError as error:
        raise ToolchainError(f"{argv[0]} cannot be run: {error.strerror or error}") from error
    guard = None
    try:
        if children is not None:
            children.add(process)
            guard = _start_guard(process)
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(f"{argv[0]} did not end within {timeout:g} s") from error
    finally:
        if process.poll() is None:  # stopped by a timeout, Ctrl-C or any other exception
            _kill_group(process)
            process.communicate()
        if children is not None:
            children.remove(process)
        if guard is not None:
            guard.communicate(b"done\n")
    if children is not None and children.stopped:
        raise StoppedError
    return Completed(
        returncode=process.returncode,
        output=output.decode("utf-8", errors="replace"),
        seconds=time.monotonic() - start,
    )


def says_full(done: Completed) -> bool:
    """Whether a process failed because a disk, a quota or a file size limit was reached."""
    return bool(_FULL.search(done.output)) or done.describe_end() == "ended by SIGXFSZ"


def parallel_jobs(requested: int | None) -> int:
    """How many compile jobs to run at a time.

    Args:
        requested: What the user asked for, which is taken as said: free memory is an estimate, and on
            virtual machines that grow as they are used a low one. None: the usable cores, as far as
            free memory allows.
    """
    if requested is not None:
        return max(1, requested)
    cores, free = usable_cores(), free_memory()
    return max(1, cores if free is None else min(cores, free // _JOB_BYTES))


def memory_for_jobs(jobs: int) -> tuple[int, int] | None:
    """Bytes that so many compile jobs may need and bytes that are free, when those are fewer."""
    free = free_memory()
    needed = jobs * _JOB_BYTES
    return (needed, free) if free is not None and free < needed else None


def _start_guard(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes] | None:
    """A shell that kills a process with its descendants should this process be killed and not get to it."""
    try:
        return subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "cutegen-guard", str(process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # a signal to our group is not for it
        )
    except OSError:  # no shell, or no process left for one: the compiler goes unguarded
        return None


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:  # not yet waited for, so its process id cannot have been reused
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
