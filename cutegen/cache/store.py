"""One cache directory: look up, publish, move damaged entries aside, sweep what dead builders left.

Layout below the root, one directory a schema version::

    v1/entries/<key>/      published entries; a rename puts them there whole
    v1/work/<id>/          private directories of running builds, <id>.lock held by their builder
    v1/locks/<key>.lock    held while a key is being built
    v1/damaged/            entries that failed their checksums
    v1/failed/<key>/       source and log of compilations that failed, never looked up
    v1/toolchains/         what is known of compilers and headers, by path and time stamp
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from cutegen.cache.entry import MANIFEST, SCHEMA, DamagedEntryError, Entry, read_entry, sync
from cutegen.cache.lock import FileLock

__all__ = ["Store"]

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Made by cutegen; everything here can be built again.\n"
_TOUCH_AFTER = 60.0
_UNLOCKED_WORK_AGE = 24 * 3600.0
_EVIDENCE_AGE = 7 * 24 * 3600.0


class Store:
    """A cache directory; making the object touches nothing.

    Args:
        root: The directory.

    Attributes:
        damage: What was wrong with entries that this object found damaged, by key.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.base = root / f"v{SCHEMA}"
        self.entries = self.base / "entries"
        self.work = self.base / "work"
        self.locks = self.base / "locks"
        self.damaged = self.base / "damaged"
        self.failed = self.base / "failed"
        self.toolchains = self.base / "toolchains"
        self.damage: dict[str, str] = {}

    def path(self, key: str) -> Path:
        """Where the entry of ``key`` is or would be."""
        return self.entries / key

    def has(self, key: str) -> bool:
        """Whether an entry seems to be there, unverified."""
        return (self.path(key) / MANIFEST).is_file()

    def lookup(self, key: str) -> Entry | None:
        """The verified entry of ``key``; a damaged one is moved aside and counts as missing."""
        try:
            entry = read_entry(self.path(key), key)
        except DamagedEntryError as error:
            self.damage[key] = str(error)
            self.set_aside(key)
            return None
        except OSError:  # missing, or not ours to read
            return None
        self._mark_used(entry.dir)
        return entry

    def set_aside(self, key: str) -> bool:
        """Move an entry out of the way, to ``damaged/``; False where the cache cannot be written."""
        try:
            self.damaged.mkdir(parents=True, exist_ok=True)
            aside = self.damaged / f"{key[:16]}-{secrets.token_hex(4)}"
            self.path(key).rename(aside)
            os.utime(aside)  # its age counts from now
        except FileNotFoundError:  # someone else was quicker
            return True
        except OSError:
            return False
        return True

    def prepare(self) -> None:
        """Make the directories that a build needs.

        Raises:
            OSError: If the cache cannot be written.
        """
        for directory in (self.entries, self.work, self.locks):
            directory.mkdir(parents=True, exist_ok=True)
        tag = self.root / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(_TAG, encoding="ascii")

    def key_lock(self, key: str) -> FileLock:
        """The lock that whoever builds ``key`` should hold."""
        return FileLock(self.locks / f"{key}.lock")

    @contextlib.contextmanager
    def private(self) -> Iterator[Path]:
        """A private directory on this file system; it and its contents vanish unless published.

        Raises:
            OSError: If the cache cannot be written.
        """
        while True:
            directory = self.work / secrets.token_hex(8)
            lock = FileLock(directory.with_suffix(".lock"))
            if lock.try_acquire():
                break
        with lock:
            directory.mkdir()
            try:
                yield directory
            finally:
                shutil.rmtree(directory, ignore_errors=True)

    def publish(self, directory: Path, key: str) -> Entry:
        """Make a sealed private directory the entry of ``key``.

        Losing a race is a hit: if a good entry is there already, that one is used.

        Raises:
            OSError: If the rename is refused for another reason than an existing entry.
        """
        target = self.path(key)
        for _ in range(8):
            try:
                directory.rename(target)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                    raise
                existing = self.lookup(key)
                if existing is not None:
                    return existing
                continue  # it was damaged and has been moved aside, or is gone again
            sync(self.entries)
            return read_entry(target, key, verify=False)
        raise OSError(errno.EBUSY, "the entry cannot be replaced", str(target))

    def keep_failure(self, directory: Path, key: str) -> Path:
        """Move a private directory to ``failed/``, in place of an earlier failure of the same key."""
        self.failed.mkdir(parents=True, exist_ok=True)
        target = self.failed / key[:16]
        shutil.rmtree(target, ignore_errors=True)
        try:
            directory.rename(target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            target = self.failed / f"{key[:16]}-{secrets.token_hex(4)}"  # someone else failed at this moment
            directory.rename(target)
        return target

    def sweep(self) -> None:
        """Delete what builders left that are no longer alive, and old evidence of failures."""
        now = time.time()
        for lock_file in _list(self.work, "*.lock"):
            with contextlib.suppress(OSError), FileLock(lock_file) as lock:
                if lock.try_acquire(create=False) and (
                    lock.held or _older(lock_file, now, _UNLOCKED_WORK_AGE)
                ):
                    shutil.rmtree(lock_file.with_suffix(""), ignore_errors=True)
        for directory in _list(self.work, "*"):
            if directory.suffix != ".lock" and _older(directory, now, _UNLOCKED_WORK_AGE):
                shutil.rmtree(directory, ignore_errors=True)
        for lock_file in _list(self.locks, "*.lock"):
            with contextlib.suppress(OSError), FileLock(lock_file) as lock:
                lock.try_acquire(create=False)
        for directory in (*_list(self.damaged, "*"), *_list(self.failed, "*")):
            if _older(directory, now, _EVIDENCE_AGE):
                shutil.rmtree(directory, ignore_errors=True)

    def last_used(self, key: str) -> float:
        """When the entry was last built or looked up, in seconds since the epoch."""
        return (self.path(key) / MANIFEST).stat().st_mtime

    def _mark_used(self, directory: Path) -> None:
        manifest = directory / MANIFEST
        with contextlib.suppress(OSError):
            if abs(time.time() - manifest.stat().st_mtime) > _TOUCH_AFTER:
                os.utime(manifest)


def _list(directory: Path, pattern: str) -> list[Path]:
    try:
        return sorted(directory.glob(pattern))
    except OSError:
        return []


def _older(path: Path, now: float, age: float) -> bool:
    try:
        return abs(now - path.stat().st_mtime) > age  # a clock that was wrong left times yet to come
    except OSError:
        return False
