"""Move cache entries between machines as a tar file.

An archive is trusted as much as any other binary that one runs: checksums prove that it arrived whole, not
who made it.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import secrets
import tarfile
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from cutegen.cache.entry import MANIFEST, DamagedEntryError, is_key, is_plain_name, read_entry, sync
from cutegen.cache.maintain import ls
from cutegen.cache.store import Store
from cutegen.errors import CacheError

__all__ = ["Transfer", "export_entries", "import_entries"]

_PREFIX = "cutegen-cache"
_MAX_FILE = 256 * 1024**2
_MAX_FILES = 64


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """What an export or an import did.

    Attributes:
        path: The archive.
        keys: Entries that were written.
        present: Entries that an import found in the cache already.
        bytes: Size of what was written, in bytes.
    """

    path: str
    keys: tuple[str, ...]
    present: tuple[str, ...]
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON-ready dictionary."""
        return asdict(self)


def export_entries(store: Store, path: Path, keys: Iterable[str] | None = None) -> Transfer:
    """Write entries to a tar file (``.tar.gz`` compresses), which appears only when it is complete.

    Args:
        store: The cache directory.
        path: The archive to write.
        keys: Keys, or prefixes that name one entry each; all good entries when left out.

    Raises:
        CacheError: If a key names no entry or several, an entry is damaged, or the file cannot be written.
    """
    wanted = _select(store, keys)
    try:
        target = path.resolve()  # what a link leads to is replaced, not the link
        if target.exists() and not target.is_file():  # a pipe or a device is written, never replaced
            with target.open("wb") as raw:
                total = _write(raw, store, wanted, path)
        else:
            partial = target.with_name(f".{target.name[:64]}.{secrets.token_hex(4)}.tmp")
            try:
                with partial.open("xb") as raw:
                    total = _write(raw, store, wanted, path)
                    raw.flush()
                    os.fsync(raw.fileno())
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
    except OSError as error:
        raise CacheError(f"{path} cannot be written: {error.strerror or error}") from error
    return Transfer(path=str(path), keys=tuple(wanted), present=(), bytes=total)


def _write(raw: IO[bytes], store: Store, keys: Iterable[str], path: Path) -> int:
    with contextlib.ExitStack() as stack:
        out: Any = raw
        if path.suffix in (".gz", ".tgz"):  # no name and no time: equal entries give equal archives
            out = stack.enter_context(gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
        tar = stack.enter_context(tarfile.open(fileobj=out, mode="w|"))
        return sum(_add(tar, store, key) for key in keys)


def import_entries(store: Store, path: Path) -> Transfer:
    """Take the entries of a tar file into a cache.

    Every entry is verified before it is published: its seal, its checksums, its key, its source. Nothing is
    ever written outside a private directory, whatever names the archive holds.

    Raises:
        CacheError: If the archive or anything in it is not what :func:`export_entries` writes, or the cache
            cannot be written. Entries before the bad one stay.
    """
    done: list[str] = []
    present: list[str] = []
    total = 0
    try:
        store.prepare()
        with tarfile.open(path, mode="r|*") as tar, store.private() as scratch:
            for key in _unpack(tar, scratch):
                total += _take(store, scratch / key, key, done, present)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise CacheError(f"{path} is not a whole tar file: {error}") from error
    except DamagedEntryError as error:
        raise CacheError(f"{path} is refused: {error}") from error
    except OSError as error:
        raise CacheError(f"importing {path} into {store.root} failed: {error.strerror or error}") from error
    return Transfer(path=str(path), keys=tuple(done), present=tuple(present), bytes=total)


def _select(store: Store, keys: Iterable[str] | None) -> list[str]:
    known = ls(store)
    if keys is None:
        return sorted(entry.key for entry in known if not entry.damaged)
    wanted = []
    for prefix in keys:
        matches = [entry.key for entry in known if entry.key.startswith(prefix)]
        if len(matches) != 1:
            found = "no entry" if not matches else f"{len(matches)} entries"
            raise CacheError(f"the key must name one entry of {store.root} (got {prefix!r}: {found})")
        wanted.append(matches[0])
    return sorted(set(wanted))


def _add(tar: tarfile.TarFile, store: Store, key: str) -> int:
    try:
        entry = read_entry(store.path(key), key)
    except DamagedEntryError as error:
        raise CacheError(f"entry {key[:16]} cannot be exported: {error}") from error
    total = 0
    for name in (*sorted(entry.files), MANIFEST):
        data = (entry.dir / name).read_bytes()
        member = tarfile.TarInfo(f"{_PREFIX}/{key}/{name}")
        member.size = len(data)
        member.mode = 0o644
        tar.addfile(member, io.BytesIO(data))  # no owner, no time: equal entries give equal archives
        total += len(data)
    return total


def _unpack(tar: tarfile.TarFile, scratch: Path) -> list[str]:
    """Write an archive's files below ``scratch``; returns the keys in order."""
    counts: dict[str, int] = {}
    for member in tar:
        key, name = _member_names(member)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] > _MAX_FILES:
            raise DamagedEntryError(f"entry {key[:16]} has more than {_MAX_FILES} files")
        data = tar.extractfile(member)
        if data is None:
            raise DamagedEntryError(f"member {member.name!r} has no content")
        directory = scratch / key
        directory.mkdir(exist_ok=True)
        with (directory / name).open("xb") as out:
            out.write(data.read(_MAX_FILE + 1))
    return list(counts)


def _member_names(member: tarfile.TarInfo) -> tuple[str, str]:
    parts = PurePosixPath(member.name).parts
    if not member.isreg():
        raise DamagedEntryError(f"member {member.name!r} is not a plain file")
    if member.size > _MAX_FILE:
        raise DamagedEntryError(f"member {member.name!r} has {member.size} bytes, more than {_MAX_FILE}")
    match parts:
        case (prefix, key, name) if (
            prefix == _PREFIX and is_key(key) and (is_plain_name(name) or name == MANIFEST)
        ):
            return key, name
        case _:
            raise DamagedEntryError(f"member {member.name!r} is not {_PREFIX}/<key>/<file>")


def _take(store: Store, directory: Path, key: str, done: list[str], present: list[str]) -> int:
    entry = read_entry(directory, key)
    if extra := {p.name for p in directory.iterdir()} - set(entry.files) - {MANIFEST}:
        raise DamagedEntryError(f"entry {key[:16]} holds {sorted(extra)}, which its manifest does not name")
    source = entry.parts.get("source")
    if source is None or all(digest != source for _, digest in entry.files.values()):
        raise DamagedEntryError(f"entry {key[:16]} does not hold the source that its key was made from")
    if store.lookup(key) is not None:
        present.append(key)
        return 0
    for name in (*entry.files, MANIFEST):
        sync(directory / name)
    sync(directory)
    store.publish(directory, key)
    done.append(key)
    return entry.bytes
