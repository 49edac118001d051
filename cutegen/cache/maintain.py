"""What people do with a cache: list it, ask about it, shrink it, empty it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cutegen.cache.entry import DamagedEntryError, is_key, read_entry
from cutegen.cache.lock import FileLock
from cutegen.cache.store import Store

__all__ = ["CacheInfo", "EntryInfo", "Pruned", "clear", "info", "ls", "prune"]


_SKEW = 3600.0  # seconds that the clocks of machines which share a cache may differ


@dataclass(frozen=True, kw_only=True)
class EntryInfo:
    """One line of a listing.

    Attributes:
        key: The content key.
        name: The kernel's name, or ``?`` when the manifest is damaged.
        arch: Feature level of the source.
        target: What the binary was built for.
        bytes: Size on disk, in bytes.
        used: When it was last used, in seconds since the epoch.
        damaged: Whether a check failed; the next build moves it aside.
        dir: Where it is.
    """

    key: str
    name: str
    arch: str
    target: str
    bytes: int
    used: float
    damaged: bool
    dir: str

    def to_dict(self) -> dict[str, Any]:
        """The line as a JSON-ready dictionary."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class CacheInfo:
    """A cache as a whole.

    Attributes:
        root: Its directory.
        exists: Whether it has been made.
        problem: Why this process cannot write it, or could not make it, or None; found by trying.
        entries: Number of entries.
        bytes: Size of all entries, in bytes.
        size_limit: The limit that holds, 0 for none.
        damaged: Entries that were moved aside.
        failed: Failed compilations of which the source is kept.
        aside_bytes: Size of these two, in bytes; it counts towards the limit.
        other_bytes: Size of what the emulator and the renderer keep there, in bytes; they limit it.
        free: Free bytes of its file system, or None when it has none yet.
    """

    root: str
    exists: bool
    problem: str | None
    entries: int
    bytes: int
    size_limit: int
    damaged: int
    failed: int
    aside_bytes: int
    other_bytes: int
    free: int | None

    @property
    def writable(self) -> bool:
        """Whether builds can be kept here."""
        return self.problem is None

    def to_dict(self) -> dict[str, Any]:
        """The facts as a JSON-ready dictionary."""
        return {**asdict(self), "writable": self.writable}


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """What was dropped and what is left.

    Attributes:
        dropped: Keys of the entries that are gone.
        freed_bytes: Size of these and of the damaged entries and failures that are gone, in bytes.
        left_entries: Entries that are left.
        left_bytes: Size of these and of the damaged entries and failures that are left, in bytes.
    """

    dropped: tuple[str, ...]
    freed_bytes: int
    left_entries: int
    left_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON-ready dictionary."""
        return asdict(self)


def ls(store: Store, *, verify: bool = False) -> list[EntryInfo]:
    """Every entry, most recently used first.

    Args:
        store: The cache directory.
        verify: Compare every file with its checksum; otherwise only the manifest with its seal.
    """
    return sorted((_describe(store, key, verify) for key in _keys(store)), key=lambda e: (-e.used, e.key))


def info(store: Store, *, size_limit: int = 0) -> CacheInfo:
    """Facts about a cache; what it writes to find out vanishes at once."""
    sizes = [_size(store.path(key)) for key in _keys(store)]
    root = store.root
    nearest = root
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    try:
        stat = os.statvfs(nearest)
        free = stat.f_bavail * stat.f_frsize
    except OSError:
        free = None
    aside = _aside(store)
    return CacheInfo(
        root=str(root),
        exists=root.is_dir(),
        problem=_why_unwritable(store, nearest),
        entries=len(sizes),
        bytes=sum(sizes),
        size_limit=size_limit,
        damaged=_count(store.damaged),
        failed=_count(store.failed),
        aside_bytes=sum(size for _, _, size in aside),
        other_bytes=sum(_size(path) for path in _others(store)),
        free=free,
    )


def _why_unwritable(store: Store, nearest: Path) -> str | None:
    """Why a build could not be kept, found by writing where a build writes; None when it could."""
    if store.root.is_symlink() and not store.root.exists():
        return f"{store.root} is a symbolic link to nothing"
    parts = (store.base, store.entries, store.work, store.locks)
    for directory in (nearest, *(path for path in parts if os.path.lexists(path))):
        try:
            with tempfile.TemporaryFile(dir=directory) as probe:
                probe.write(bytes(4096))
                probe.flush()
        except OSError as error:
            return f"{directory}: {error.strerror or error}"
    return None


def prune(
    store: Store,
    *,
    max_bytes: int | None = None,
    max_age: float | None = None,
    min_idle: float = 0.0,
) -> Pruned:
    """Drop damaged entries, failures and the least recently used entries, and what dead builders left.

    Args:
        store: The cache directory.
        max_bytes: Drop until at most so many bytes are left, of all of these together; damaged entries and
            failures go before the entries that are good.
        max_age: Drop what was not used for so many seconds.
        min_idle: Keep what was used or made in the last so many seconds, whatever the other limits say.
    """
    now = time.time()
    used = []
    for key in _keys(store):
        try:
            used.append((store.last_used(key), store.path(key), _size(store.path(key))))
        except OSError:
            used.append((0.0, store.path(key), _size(store.path(key))))  # no manifest: of no use to anyone
    aside = _aside(store)
    left = sum(size for _, _, size in (*aside, *used))
    dropped = []
    freed = 0
    # NOTE: a clock that was wrong left times yet to come; what has them must not stay forever.
    aside, used = (
        sorted((0.0 if when > now + _SKEW else when, path, size) for when, path, size in found)
        for found in (aside, used)
    )
    for when, path, size in (*aside, *used):
        idle = now - when
        too_old = max_age is not None and idle > max_age
        too_big = max_bytes is not None and left > max_bytes
        if (too_old or too_big) and idle >= min_idle and _drop(store, path):
            freed += size
            left -= size
            if path.parent == store.entries:
                dropped.append(path.name)
    store.sweep()
    return Pruned(
        dropped=tuple(dropped), freed_bytes=freed, left_entries=len(used) - len(dropped), left_bytes=left
    )


def clear(store: Store) -> Pruned:
    """Drop everything, the emulator's kernels and headers too; builds that run now are left alone."""
    result = prune(store, max_bytes=-1)
    others = _others(store)
    before = sum(map(_size, others))
    for directory in (store.damaged, store.failed, store.toolchains, *others):
        shutil.rmtree(directory, ignore_errors=True)
    freed = before - sum(map(_size, _others(store)))
    return replace(result, freed_bytes=result.freed_bytes + freed)


def _aside(store: Store) -> list[tuple[float, Path, int]]:
    """When each damaged entry and each failure was put aside, where it is, and its size in bytes."""
    found = []
    for directory in (store.damaged, store.failed):
        with contextlib.suppress(OSError):
            for path in directory.iterdir():
                with contextlib.suppress(OSError):
                    found.append((path.lstat().st_mtime, path, _size(path)))
    return found


def _others(store: Store) -> list[Path]:
    """What other parts of cutegen keep in the same directory."""
    return [path for name in ("emulator", "templates") if (path := store.root / name).is_dir()]


def _keys(store: Store) -> list[str]:
    try:
        return sorted(path.name for path in store.entries.iterdir() if is_key(path.name))
    except OSError:
        return []


def _describe(store: Store, key: str, verify: bool) -> EntryInfo:
    path = store.path(key)
    name, arch, target, damaged = "?", "?", "?", False
    used = 0.0
    try:
        used = store.last_used(key)
        entry = read_entry(path, key, verify=verify)
        name = entry.name
        arch, target = str(entry.meta.get("arch", "?")), str(entry.meta.get("target", "?"))
    except (DamagedEntryError, OSError):
        damaged = True
    return EntryInfo(
        key=key,
        name=name,
        arch=arch,
        target=target,
        bytes=_size(path),
        used=used,
        damaged=damaged,
        dir=str(path),
    )


def _drop(store: Store, path: Path) -> bool:
    """Delete an entry so that it vanishes at one moment: rename it away first."""
    try:
        store.work.mkdir(parents=True, exist_ok=True)
        doomed = store.work / secrets.token_hex(8)
        with FileLock(doomed.with_suffix(".lock")) as lock:
            lock.try_acquire()
            path.rename(doomed)
            shutil.rmtree(doomed, ignore_errors=True)
    except OSError:
        return False
    return True


def _size(path: Path) -> int:
    """Bytes of all files below a directory, or of a file."""
    try:
        with os.scandir(path) as items:
            return sum(
                _size(Path(item.path))
                if item.is_dir(follow_symlinks=False)
                else item.stat(follow_symlinks=False).st_size
                for item in items
            )
    except NotADirectoryError:
        return path.lstat().st_size
    except OSError:
        return 0


def _count(directory: Path) -> int:
    try:
        return sum(1 for _ in directory.iterdir())
    except OSError:
        return 0
