"""What the emulator keeps in the cache: rewritten headers, precompiled headers, runtimes and kernels.

An entry is a directory that is built privately and appears whole, by one rename. Entries are named by the
hash of what they were made from. A lock only saves double work. An entry that has lost files or parts of it,
as after a full disk or a crash, is put aside and built anew.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from cutegen import settings
from cutegen.cache.lock import FileLock

__all__ = ["digest_of", "digest_sources", "ensure", "root"]

_SCHEMA = 1
_LOCK_SECONDS = 300.0
_ABANDONED_SECONDS = 3600.0
_UNUSED_SECONDS = 30 * 24 * 3600.0
_TOUCH_SECONDS = 3600.0
_MOST = {"pch": 3, "headers": 3, "runtime": 6}  # entries of a kind that are kept, the last used ones
_SIZES = "sizes.json"
_EXISTS = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


def root() -> Path:
    """Where entries are kept; nothing is created."""
    return settings.cache_dir() / "emulator" / f"v{_SCHEMA}"


def digest_of(**parts: object) -> str:
    """A name for what was made from JSON-ready parts."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def digest_sources(paths: Iterable[Path], base: Path) -> str:
    """Hash of the content of source files and of their names below ``base``."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(base).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def ensure(kind: str, key: str, build: Callable[[Path], None]) -> tuple[Path, bool]:
    """The entry of a key, built if it is missing.

    Args:
        kind: What it is, for example ``headers``; part of its name.
        key: See :func:`digest_of`.
        build: Fills a private directory. What it raises is passed on, and nothing is kept.

    Returns:
        The entry's directory, and whether this call built it.
    """
    base = root()
    target = base / f"{kind}-{key}"
    if target.is_dir():
        if _whole(target):
            _mark_used(target)
            return target, False
        with contextlib.suppress(OSError):  # one process puts it aside, or nobody may
            target.rename(base / f"tmp-{secrets.token_hex(8)}")
    try:
        base.mkdir(parents=True, exist_ok=True)
        with FileLock(base / f"{kind}-{key}.lock") as lock:
            lock.acquire(timeout=_LOCK_SECONDS, give_up=target.is_dir)
            if target.is_dir():
                return target, False
            _sweep(base)
            return _publish(base, target, build), True
    except OSError as error:
        if error.errno not in (
            errno.EACCES,
            errno.EROFS,
            errno.EPERM,
            errno.ENOSPC,
            errno.EDQUOT,
            errno.ENOENT,
        ):
            raise
    private = _private_root()  # a cache that cannot be written
    target = private / f"{kind}-{key}"
    if target.is_dir():
        return target, False
    return _publish(private, target, build), True


def _publish(base: Path, target: Path, build: Callable[[Path], None]) -> Path:
    private = base / f"tmp-{secrets.token_hex(8)}"
    private.mkdir()
    try:
        build(private)
        (private / _SIZES).write_text(json.dumps(_sizes(private)), encoding="utf-8")
        try:
            private.rename(target)
        except OSError as error:
            if error.errno not in _EXISTS or not target.is_dir():
                raise
        return target
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _sizes(entry: Path) -> dict[str, int]:
    """Bytes of each file of an entry that is not a tree of headers, by its name."""
    return {
        path.name: path.stat().st_size for path in entry.iterdir() if path.is_file() and path.name != _SIZES
    }


def _whole(entry: Path) -> bool:
    """Whether an entry's files have the sizes that they were built with."""
    try:
        wanted: dict[str, int] = json.loads((entry / _SIZES).read_text(encoding="utf-8"))
        return all((entry / name).stat().st_size == size for name, size in wanted.items())
    except FileNotFoundError:
        return not (entry / _SIZES).exists()  # nobody noted them
    except (OSError, ValueError):
        return False


def _mark_used(entry: Path) -> None:
    with contextlib.suppress(OSError):
        if time.time() - entry.stat().st_mtime > _TOUCH_SECONDS:
            os.utime(entry)


def _sweep(base: Path) -> None:
    """Delete what builders left that died, and entries that nobody has used for long."""
    now = time.time()
    by_age: dict[str, list[Path]] = {}
    with contextlib.suppress(OSError):
        entries = sorted((p for p in base.iterdir() if p.is_dir()), key=lambda p: -p.stat().st_mtime)
        for path in entries:
            kind = path.name.split("-")[0]
            unused = now - path.stat().st_mtime
            by_age.setdefault(kind, []).append(path)
            superfluous = len(by_age[kind]) > _MOST.get(kind, 10**6) and unused > _ABANDONED_SECONDS
            if superfluous or unused > (_ABANDONED_SECONDS if kind == "tmp" else _UNUSED_SECONDS):
                shutil.rmtree(path, ignore_errors=True)


def _private_root() -> Path:
    path = Path(tempfile.gettempdir()) / f"cutegen-emulator-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    return path
