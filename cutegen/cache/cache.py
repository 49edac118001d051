"""The cache that builds use: a store, and a private temporary one where the store cannot be written."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import shutil
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutegen import settings
from cutegen.cache.entry import Entry, make_key, seal
from cutegen.cache.lock import FileLock
from cutegen.cache.maintain import prune
from cutegen.cache.store import Store
from cutegen.errors import CacheError, CompileError, CutegenWarning, UnwritableCacheError

__all__ = ["BuildFailure", "Cache", "CacheWarning", "Filled", "open_cache"]

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_UNWRITABLE = _FULL | {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EBUSY,
    errno.ELOOP,
    errno.ENAMETOOLONG,
}
_PRUNE_IDLE = 3600.0
_PREFIX = "cutegen-"
_OWNER = "owner.lock"
_OVERLAY_AGE = 24 * 3600.0
_HOW = "set CUTEGEN_CACHE_DIR or TMPDIR to a directory with free space"


class CacheWarning(CutegenWarning):
    """The cache cannot be used as asked; the build went on without it."""


@dataclass(frozen=True, kw_only=True)
class Filled:
    """What a builder says of the private directory that it filled."""

    name: str
    meta: Mapping[str, Any]


class BuildFailure(Exception):
    """A compiler said no. The cache keeps the directory as evidence and raises a :class:`CompileError`.

    Args:
        make_error: Makes the error, told where the evidence is now.
    """

    def __init__(self, make_error: Callable[[Path], CompileError]) -> None:
        super().__init__("a compiler failed")
        self.make_error = make_error


class Cache:
    """Look kernels up and build missing ones, once among all processes that share the store.

    Args:
        root: Directory of the store.
        size_limit: Bytes over which the least recently used entries are dropped after a build; 0: never.
        lock_timeout: Seconds to wait for another builder of the same key.
        stand_in: Whether a store that cannot be written is replaced by a private temporary one, which goes
            when the process ends; otherwise a build there is an error.
    """

    def __init__(
        self, root: Path, *, size_limit: int = 0, lock_timeout: float = 300.0, stand_in: bool = True
    ) -> None:
        self.store = Store(root)
        self.size_limit = size_limit
        self.lock_timeout = lock_timeout
        self.stand_in = stand_in

    def lookup(self, key: str) -> Entry | None:
        """The verified entry of ``key``, or None; damaged entries are moved aside."""
        entry = self.store.lookup(key)
        if entry is None:
            overlay = _existing_overlay(self.store.root)
            entry = overlay.lookup(key) if overlay else None
        return entry

    def fetch(
        self,
        parts: Mapping[str, Any],
        fill: Callable[[Path, Path], Filled],
        stopped: Callable[[], bool] = bool,
    ) -> tuple[Entry, bool]:
        """The entry made from ``parts``, building it if it is missing.

        Args:
            parts: Everything that decides the content, JSON-ready; see :func:`make_key`.
            fill: Builds into a private directory; also told the directory that it will become. It raises
                :class:`BuildFailure` when a compiler fails, and OSError when the disk does.
            stopped: Whether to stop waiting for another process that builds the same.

        Returns:
            The entry, and whether this call built it.

        Raises:
            CompileError: If the compiler failed. Nothing of that is remembered as an entry.
            UnwritableCacheError: If the store cannot be written and nothing may stand in for it.
            CacheError: If neither the store nor a temporary directory can be written.
        """
        key = make_key(parts)
        self.store.damage.pop(key, None)
        entry = self.lookup(key)
        if entry is not None:
            return entry, False
        try:
            return self._build(self.store, key, parts, fill, stopped)
        except OSError as error:
            if error.errno not in _UNWRITABLE:
                raise
            if not self.stand_in:
                raise UnwritableCacheError(
                    f"the kernel cache {self.store.root} cannot be written ({_reason(error)}); set "
                    "CUTEGEN_CACHE_DIR to a directory that can be written and has space"
                ) from error
            overlay = _overlay(self.store.root, error)
        try:
            return self._build(overlay, key, parts, fill, stopped)
        except OSError as error:
            raise CacheError(
                f"neither the cache {self.store.root} nor the temporary directory {overlay.root} can hold "
                f"the kernel: {_reason(error)}; {_HOW}"
            ) from error

    def _build(
        self,
        store: Store,
        key: str,
        parts: Mapping[str, Any],
        fill: Callable[[Path, Path], Filled],
        stopped: Callable[[], bool],
    ) -> tuple[Entry, bool]:
        store.prepare()
        with store.key_lock(key) as lock:
            lock.acquire(timeout=self.lock_timeout, give_up=lambda: store.has(key) or stopped())
            entry = store.lookup(key)
            if entry is not None:
                return entry, False
            store.sweep()
            with store.private() as directory:
                try:
                    filled = fill(directory, store.path(key))
                except BuildFailure as failure:
                    _raise_if_full(directory)
                    raise failure.make_error(store.keep_failure(directory, key)) from None
                seal(directory, key=key, name=filled.name, parts=parts, meta=filled.meta)
                entry = store.publish(directory, key)
        if self.size_limit:
            with contextlib.suppress(OSError):
                prune(store, max_bytes=self.size_limit, min_idle=_PRUNE_IDLE)
        return entry, True


def open_cache(root: Path | None = None, *, stand_in: bool = True) -> Cache:
    """The cache in ``root``, or where the settings say; nothing is created yet. See :class:`Cache`."""
    return Cache(
        settings.cache_dir() if root is None else Path(root),
        size_limit=settings.cache_size(),
        lock_timeout=settings.lock_timeout(),
        stand_in=stand_in,
    )


_overlays: dict[Path, Store] = {}
_overlay_locks: dict[Path, FileLock] = {}  # held for as long as this process lives
_overlays_lock = threading.Lock()


def _existing_overlay(root: Path) -> Store | None:
    return _overlays.get(root)


def _overlay(root: Path, reason: OSError) -> Store:
    """The temporary store of this process that stands in for ``root``, with one warning when it is made."""
    with _overlays_lock:
        store = _overlays.get(root)
        if store is not None:
            return store
        try:
            directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
        except OSError as error:
            raise CacheError(
                f"the cache {root} cannot be written ({_reason(reason)}) and no temporary directory can be "
                f"made ({_reason(error)}); {_HOW}"
            ) from error
        _sweep_overlays(directory.parent)
        lock = _overlay_locks[directory] = FileLock(directory / _OWNER)
        with contextlib.suppress(OSError):
            lock.try_acquire()
        store = _overlays[root] = Store(directory)
        atexit.register(_remove_overlay, directory, os.getpid())
    warnings.warn(
        f"the kernel cache {root} cannot be written ({_reason(reason)}); kernels built by this process are "
        f"kept in {directory} until it ends. Set CUTEGEN_CACHE_DIR to a writable directory to keep them.",
        CacheWarning,
        stacklevel=2,
    )
    return store


def _sweep_overlays(parent: Path) -> None:
    """Delete the temporary stores of processes that were killed, a day after."""
    with contextlib.suppress(OSError):
        for directory in parent.glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError), FileLock(directory / _OWNER) as lock:
                stat = directory.lstat()
                old = abs(time.time() - stat.st_mtime) > _OVERLAY_AGE
                if old and stat.st_uid == os.getuid() and lock.try_acquire(create=False) and lock.held:
                    shutil.rmtree(directory, ignore_errors=True)


def _remove_overlay(directory: Path, owner: int) -> None:
    if os.getpid() != owner:  # a fork of the owner
        return
    with contextlib.suppress(OSError):
        for sub in _evidence_last(directory):
            shutil.rmtree(sub, ignore_errors=True)
        directory.rmdir()


def _evidence_last(directory: Path) -> list[Path]:
    # NOTE: sources of failed compilations stay: an error that was printed names them.
    store = Store(directory)
    if store.failed.is_dir():
        return [store.entries, store.work, store.locks, store.damaged, store.toolchains]
    return [store.base, directory / "CACHEDIR.TAG", directory]


def _raise_if_full(directory: Path) -> None:
    stat = os.statvfs(directory)
    if stat.f_bavail * stat.f_frsize < 1 << 20:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
