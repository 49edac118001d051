"""An advisory lock on a file, which saves double work and on which nothing depends.

The kernel drops it when its holder dies, however it dies. On file systems without locks it is as if it were
free for everyone.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

__all__ = ["FileLock"]

_UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})
_FIRST_WAIT = 0.005
_LONGEST_WAIT = 0.1


class FileLock:
    """A lock that whoever holds it may delete: the file vanishes on release.

    Args:
        path: The lock file; its directory must exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._fd is not None

    def try_acquire(self, *, create: bool = True) -> bool:
        """Take the lock if it is free; True also where the file system has no locks.

        Args:
            create: Make the lock file when it is missing; otherwise a missing file is a refusal.

        Raises:
            OSError: If the lock file cannot be made, for example on a read-only file system.
        """
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        while True:
            try:
                fd = os.open(self.path, flags, 0o666)
            except FileNotFoundError:
                if create:
                    raise
                return False
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(fd)
                if error.errno in _UNSUPPORTED:
                    return True
                if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                    return False
                raise
            if self._is_current(fd):
                self._fd = fd
                return True
            os.close(fd)  # its last holder deleted the file between our open and our lock

    def acquire(self, *, timeout: float, give_up: Callable[[], bool]) -> bool:
        """Wait for the lock.

        Args:
            timeout: Most seconds to wait.
            give_up: Asked at each turn; True ends the wait, because there is nothing left to do.

        Returns:
            Whether the lock is held now.
        """
        deadline = time.monotonic() + timeout
        wait = _FIRST_WAIT
        while not self.try_acquire():
            if give_up() or time.monotonic() >= deadline:
                return False
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT)
        return True

    def release(self) -> None:
        """Delete the file and drop the lock; does nothing when it is not held."""
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(fd)

    def _is_current(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), self.path.stat())
        except FileNotFoundError:
            return False

    def __enter__(self) -> FileLock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
