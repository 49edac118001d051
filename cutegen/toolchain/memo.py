"""Remember facts that are dear to compute, for as long as the files they came from stay the same.

A memo is a JSON file in the cache. "The same" is size, modification time and change time of each file, which
lets a warm start skip reading hundreds of megabytes; the facts themselves hold no time and no path.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cutegen import settings
from cutegen.cache.lock import FileLock
from cutegen.cache.store import Store

__all__ = ["Memo", "stamps"]

_FORM = 2
_RACY = 0.1
_known: dict[str, dict[str, Any]] = {}
_known_lock = threading.Lock()


class Memo:
    """One remembered JSON object.

    Args:
        kind: What it is about; part of its file name.
        subject: What it was computed from, for example the path of a compiler.
    """

    def __init__(self, kind: str, subject: str) -> None:
        digest = hashlib.sha256(f"{_FORM}\0{kind}\0{subject}".encode()).hexdigest()
        self.path = Store(settings.cache_dir()).toolchains / f"{kind}-{digest[:20]}.json"

    def get(
        self, valid: Callable[[dict[str, Any]], bool], compute: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """The remembered object if it still holds, or a new one.

        Args:
            valid: Whether a remembered object still holds; asked with untrusted content.
            compute: Makes a new one. Among racing processes one computes and the others wait for it.
        """
        value = self._load(valid)
        if value is not None:
            return value
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context(FileLock(self.path.with_suffix(".lock")))
                lock.acquire(timeout=60.0, give_up=lambda: False)
                value = self._load(valid)
                if value is not None:
                    return value
            value = compute()
            self._save(value)
            return value

    def _load(self, valid: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
        with _known_lock:
            value = _known.get(str(self.path))
        if value is not None and _holds(valid, value):
            return value
        try:
            value = _unseal(self.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or not _holds(valid, value):
            return None
        with _known_lock:
            _known[str(self.path)] = value
        return value

    def _save(self, value: dict[str, Any]) -> None:
        with _known_lock:
            _known[str(self.path)] = value
        partial = self.path.with_suffix(f".{secrets.token_hex(4)}.tmp")
        try:
            partial.write_bytes(_seal(value))
            partial.replace(self.path)
        except OSError:  # a read-only or full cache: this process remembers, the next one computes again
            with contextlib.suppress(OSError):
                partial.unlink()


def stamps(paths: Iterable[Path]) -> dict[str, list[int]] | None:
    """Size, modification time and change time of each file, or None when one is missing."""
    found = {}
    try:
        for path in paths:
            stat = path.stat()
            found[str(path)] = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
    except OSError:
        return None
    return found


def settle(newest_ns: int) -> None:
    """Wait until a file changed at ``newest_ns`` cannot change again without a new time stamp."""
    age = time.time() - newest_ns / 1e9
    if 0 <= age < _RACY:
        time.sleep(_RACY - age)


def _seal(value: dict[str, Any]) -> bytes:
    body = json.dumps(value, separators=(",", ":")).encode()
    return b'{"seal":"%s","value":%s}' % (hashlib.sha256(body).hexdigest().encode(), body)


def _unseal(raw: bytes) -> Any:
    # NOTE: a flipped bit in a digest would become part of every cache key, so the content is sealed.
    head, _, tail = raw.partition(b',"value":')
    body = tail[:-1]
    if head != b'{"seal":"%s"' % hashlib.sha256(body).hexdigest().encode():
        raise ValueError("the seal does not match")
    return json.loads(body)


def _holds(valid: Callable[[dict[str, Any]], bool], value: dict[str, Any]) -> bool:
    try:
        return valid(value)
    except (KeyError, TypeError, ValueError, AttributeError, OSError, RecursionError):
        return False
