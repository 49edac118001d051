"""What this process may use of the machine: cores and memory, within its control groups."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

__all__ = ["free_memory", "usable_cores"]

_NO_LIMIT = 1 << 60  # the first version writes a huge number where there is no limit


def usable_cores(root: Path = Path("/")) -> int:
    """Cores that this process may use, at least 1.

    Args:
        root: Where ``proc`` and ``sys`` are.
    """
    cores = float(len(os.sched_getaffinity(0)))
    for group in _groups(root, "cpu"):
        words = _words(group / "cpu.max") or [
            *_words(group / "cpu.cfs_quota_us"),
            *_words(group / "cpu.cfs_period_us"),
        ]
        with contextlib.suppress(ValueError, ZeroDivisionError):  # no such file, or no quota: "max" or -1
            quota, period = map(int, words)
            cores = min(cores, quota / period) if quota > 0 else cores
    return max(1, round(cores))


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that this process and its children may still take, or None when nothing tells.

    Args:
        root: Where ``proc`` and ``sys`` are.
    """
    free = []
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            free.append(int(line.split()[1]) * 1024)
    for group in _groups(root, "memory"):
        limit = _number(group / "memory.max", group / "memory.limit_in_bytes")
        used = _number(group / "memory.current", group / "memory.usage_in_bytes")
        if limit is not None and used is not None and limit < _NO_LIMIT:
            free.append(max(0, limit - max(0, used - _reclaimable(group))))
    return min(free, default=None)


def _reclaimable(group: Path) -> int:
    """Bytes of file content that the kernel drops when memory is needed, which count as used."""
    sizes = {}
    for line in _lines(group / "memory.stat"):
        name, _, value = line.partition(" ")
        if name.removeprefix("total_") == "inactive_file" and value.isdecimal():
            sizes[name] = int(value)
    return sizes.get("total_inactive_file", sizes.get("inactive_file", 0))


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Directories of the control groups of this process that concern a controller, the innermost first.

    In a container the path may be that of the host; then only the outer directories exist, which is right.
    """
    mount = root / "sys/fs/cgroup"
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if number == "0":
            bases = [mount, mount / "unified"]
        elif controller in names.split(","):
            bases = [mount / controller, mount / names]
        else:
            continue
        place = PurePosixPath(path.lstrip("/"))
        if ".." not in place.parts:
            yield from (base / part for base in bases for part in (place, *place.parents))


def _number(*paths: Path) -> int | None:
    """The number in the first of some files that there is."""
    words = next(filter(None, map(_words, paths)), [""])
    return int(words[0]) if words[0].isdecimal() else None


def _words(path: Path) -> list[str]:
    return " ".join(_lines(path)).split()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
