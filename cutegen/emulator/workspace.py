"""Global memory of a kernel whose CTAs sum there, as the launcher keeps it for a stream."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from cutegen.emulator.job import Buffer
from cutegen.render import LaunchSpec

__all__ = ["Workspaces"]

_FLAG = 4  # bytes
_UNWRITTEN = 0xFF  # each byte of a slot before a launch: no number, in f16 and f32


class Workspaces:
    """Workspaces of one kernel, whose flags stay from one launch to the next.

    A launch has one for itself, and the next finds what it left, as one on the same stream does.

    Args:
        launch: How the kernel is launched.
    """

    def __init__(self, launch: LaunchSpec) -> None:
        self._sums, self._dependent = launch.sums, launch.pdl
        #: Flags as launches that are over left them.
        self.kept: list[ctypes.Array[ctypes.c_char]] = []

    @contextmanager
    def of(self, slots: int) -> Iterator[tuple[Buffer, ...]]:
        """The sums and the flags of a launch; neither where it has no slots."""
        if self._sums is None or slots == 0:
            yield ()
            return
        size = slots * self._sums.slot_flags * _FLAG
        flags = self.kept.pop() if self.kept else ctypes.create_string_buffer(size)
        if len(flags) < size:
            flags = ctypes.create_string_buffer(size)
        sums = ctypes.create_string_buffer(slots * self._sums.slot_bytes)
        ctypes.memset(sums, _UNWRITTEN, len(sums))
        yield tuple(
            Buffer(
                name=name,
                address=ctypes.addressof(memory),
                bytes=len(memory),
                element=_FLAG,
                writable=True,
                dependent=self._dependent,
            )
            for name, memory in (("sums", sums), ("flags", flags))
        )
        self.kept.append(flags)
