"""What people do with a cache: list it, ask about it, shrink it, empty it."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cutegen.cache.entry import DamagedEntryError, is_key, read_entry
from cutegen.cache.lock import FileLock
from cutegen.cache.store import Store

__all__ = ["CacheInfo", "EntryInfo", "Pruned", "clear", "info", "ls", "prune"]


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
        writable: Whether this process can write it, or could make it.
        entries: Number of entries.
        bytes: Size of all entries, in bytes.
        size_limit: The limit that holds, 0 for none.
        damaged: Entries that were moved aside.
        failed: Failed compilations of which the source is kept.
        free: Free bytes of its file system, or None when it has none yet.
    """

    root: str
    exists: bool
    writable: bool
    entries: int
    bytes: int
    size_limit: int
    damaged: int
    failed: int
    free: int | None

    def to_dict(self) -> dict[str, Any]:
        """The facts as a JSON-ready dictionary."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """What was dropped and what is left."""

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
    """Facts about a cache; creates nothing."""
    sizes = [_size(store.path(key)) for key in _keys(store)]
    root = store.root
    nearest = root
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    try:
        stat = os.statvfs(nearest)
        free = stat.f_bavail * stat.f_frsize
        read_only = bool(stat.f_flag & os.ST_RDONLY)
    except OSError:
        free, read_only = None, True
    return CacheInfo(
        root=str(root),
        exists=root.is_dir(),
        writable=nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK) and not read_only,
        entries=len(sizes),
        bytes=sum(sizes),
        size_limit=size_limit,
        damaged=_count(store.damaged),
        failed=_count(store.failed),
        free=free,
    )


def prune(
    store: Store,
    *,
    max_bytes: int | None = None,
    max_age: float | None = None,
    min_idle: float = 0.0,
) -> Pruned:
    """Drop the least recently used entries, and what dead builders left.

    Args:
        store: The cache directory.
        max_bytes: Drop until at most so many bytes are left.
        max_age: Drop what was not used for so many seconds.
        min_idle: Keep what was used in the last so many seconds, whatever the other limits say.
    """
    now = time.time()
    used = []
    for key in _keys(store):
        try:
            used.append((store.last_used(key), key, _size(store.path(key))))
        except OSError:
            used.append((0.0, key, _size(store.path(key))))  # no manifest: of no use to anyone
    used.sort()
    left = sum(size for _, _, size in used)
    dropped = []
    freed = 0
    for when, key, size in used:
        idle = now - when
        too_old = max_age is not None and idle > max_age
        too_big = max_bytes is not None and left > max_bytes
        if (too_old or too_big) and idle >= min_idle and _drop(store, store.path(key)):
            dropped.append(key)
            freed += size
            left -= size
    store.sweep()
    return Pruned(
        dropped=tuple(dropped), freed_bytes=freed, left_entries=len(used) - len(dropped), left_bytes=left
    )


def clear(store: Store) -> Pruned:
    """Drop every entry and all evidence of failures; builds that run now are left alone."""
    result = prune(store, max_bytes=-1)
    for directory in (store.damaged, store.failed, store.toolchains):
        shutil.rmtree(directory, ignore_errors=True)
    return result


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
    try:
        with os.scandir(path) as items:
            return sum(item.stat(follow_symlinks=False).st_size for item in items)
    except OSError:
        return 0


def _count(directory: Path) -> int:
    try:
        return sum(1 for _ in directory.iterdir())
    except OSError:
        return 0
