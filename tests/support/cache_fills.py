"""Builders for tests of the cache, which make a small entry in no time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from cutegen.cache import Cache
from cutegen.cache.cache import Filled


def parts(note: str = "") -> dict[str, object]:
    return {"source": hashlib.sha256(f"source {note}".encode()).hexdigest(), "note": note}


def filler(note: str = "", *, size: int = 0) -> Callable[[Path, Path], Filled]:
    def fill(directory: Path, final: Path) -> Filled:
        (directory / "k.cu").write_text(f"source {note}")
        (directory / "libk.so").write_bytes(b"\x7fELF" + bytes(size))
        return Filled(name="k", meta={"arch": "sm_80", "target": "sm_90", "final": str(final)})

    return fill


def forbidden(directory: Path, final: Path) -> Filled:
    raise AssertionError("nothing is to be built")


def leftovers(cache: Cache) -> list[str]:
    """Files of builds and locks that should be gone."""
    store = cache.store
    return sorted(p.name for d in (store.work, store.locks) if d.is_dir() for p in d.iterdir())


def truncate(path: Path) -> None:
    """Cut off the last byte."""
    path.write_bytes(path.read_bytes()[:-1])
