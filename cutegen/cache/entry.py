"""One cache entry: a directory with a sealed manifest that names every file, its size and its checksum."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "MANIFEST",
    "SCHEMA",
    "DamagedEntryError",
    "Entry",
    "canonical_json",
    "is_key",
    "is_plain_name",
    "make_key",
    "read_entry",
    "seal",
    "sync",
]

SCHEMA = 1
"""Version of the key and of an entry's form; entries of another version live in another directory."""

MANIFEST = "manifest.json"
_KEY = re.compile(r"[0-9a-f]{64}")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_FIELDS = frozenset({"schema", "key", "name", "parts", "files", "meta", "seal"})


class DamagedEntryError(Exception):
    """An entry is not what was published; the message says where it differs."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A verified entry.

    Attributes:
        key: Its content key.
        dir: Where it is.
        name: The kernel's name.
        parts: What the key was made from.
        files: Size and checksum of each file, by name.
        meta: What the builder recorded, JSON-ready.
    """

    key: str
    dir: Path
    name: str
    parts: Mapping[str, Any]
    files: Mapping[str, tuple[int, str]]
    meta: Mapping[str, Any]

    @property
    def bytes(self) -> int:
        """Size of all files that the manifest names."""
        return sum(size for size, _ in self.files.values())


def canonical_json(value: object) -> bytes:
    """One spelling for each JSON value, for hashing."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def make_key(parts: Mapping[str, Any]) -> str:
    """The content key of JSON-ready parts, which must hold no path, time or host name."""
    return hashlib.sha256(canonical_json({"schema": SCHEMA, **parts})).hexdigest()


def is_key(text: str) -> bool:
    """Whether a text has the form of a key."""
    return _KEY.fullmatch(text) is not None


def is_plain_name(text: str) -> bool:
    """Whether a text can name a file of an entry: no separator, no leading dot."""
    return _PLAIN_NAME.fullmatch(text) is not None and text != MANIFEST


def seal(directory: Path, *, key: str, name: str, parts: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
    """Write the manifest of a finished directory and make all of it durable.

    Args:
        directory: A private directory that holds the entry's files and nothing else.
        key: The content key.
        name: The kernel's name.
        parts: What the key was made from.
        meta: What to record besides.
    """
    files = {}
    for path in sorted(directory.iterdir()):
        if path.name != MANIFEST:
            files[path.name] = list(_digest(path))
    body = {
        "schema": SCHEMA,
        "key": key,
        "name": name,
        "parts": dict(parts),
        "files": files,
        "meta": dict(meta),
    }
    body["seal"] = hashlib.sha256(canonical_json(body)).hexdigest()
    (directory / MANIFEST).write_bytes(canonical_json(body))
    for name_ in (*files, MANIFEST):
        sync(directory / name_)
    sync(directory)


def sync(path: Path) -> None:
    """Make a file or a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def read_entry(directory: Path, key: str, *, verify: bool = True) -> Entry:
    """Read an entry and check that it is what was published under ``key``.

    Args:
        directory: The entry's directory.
        key: The key that it must have.
        verify: Compare every file with its checksum, not only the manifest with its seal.

    Raises:
        FileNotFoundError: If there is no such entry.
        DamagedEntryError: If anything differs from what was published.
        OSError: If it cannot be read.
    """
    try:
        raw = (directory / MANIFEST).read_bytes()
    except FileNotFoundError:
        if directory.is_dir():
            raise DamagedEntryError(f"{directory} has no {MANIFEST}") from None
        raise
    except (NotADirectoryError, IsADirectoryError):
        if directory.exists():
            raise DamagedEntryError(f"{directory} is no entry") from None
        raise FileNotFoundError(f"{directory} lies below a file") from None
    body = _parse(raw, directory)
    if body["key"] != key or make_key(body["parts"]) != key:
        raise DamagedEntryError(f"{directory} holds the entry {body['key']}")
    entry = Entry(
        key=key,
        dir=directory,
        name=body["name"],
        parts=body["parts"],
        files={file: (size, digest) for file, (size, digest) in body["files"].items()},
        meta=body["meta"],
    )
    if verify:
        for file, expected in entry.files.items():
            try:
                found = _digest(directory / file)
            except (FileNotFoundError, IsADirectoryError):
                raise DamagedEntryError(f"{directory / file} is missing") from None
            if found != expected:
                raise DamagedEntryError(
                    f"{directory / file} is not what was published: {expected[0]} bytes, sha256 "
                    f"{expected[1][:12]} (got {found[0]} bytes, {found[1][:12]})"
                )
    return entry


def _parse(raw: bytes, directory: Path) -> dict[str, Any]:
    try:
        body = json.loads(raw)
        if not isinstance(body, dict) or set(body) != _FIELDS or body["schema"] != SCHEMA:
            raise ValueError("unknown form")
        if canonical_json(body) != raw:  # another spelling of the same
            raise ValueError("it was rewritten")
        stated = body.pop("seal")
        if hashlib.sha256(canonical_json(body)).hexdigest() != stated:
            raise ValueError("the seal does not match")
        _check_types(body)
    except (ValueError, RecursionError) as error:  # covers bad UTF-8 and bad JSON
        raise DamagedEntryError(f"{directory / MANIFEST} is damaged: {error}") from None
    return body


def _check_types(body: dict[str, Any]) -> None:
    # NOTE: a seal proves nothing about an entry that came in an archive, whoever wrote it could seal it.
    if not (isinstance(body["key"], str) and is_key(body["key"])):
        raise ValueError("the key is not a sha256")
    if not (isinstance(body["name"], str) and _PLAIN_NAME.fullmatch(body["name"])):
        raise ValueError("the name is not plain")
    if not all(isinstance(body[field], dict) for field in ("parts", "files", "meta")):
        raise ValueError("a field is not an object")
    for file, facts in body["files"].items():
        if not is_plain_name(file):
            raise ValueError(f"the file name {file!r} is not plain")
        match facts:
            case [int(), str()]:
                pass
            case _:
                raise ValueError(f"the facts of {file!r} are not a size and a checksum")


def _digest(path: Path) -> tuple[int, str]:
    data = path.read_bytes()
    return len(data), hashlib.sha256(data).hexdigest()
