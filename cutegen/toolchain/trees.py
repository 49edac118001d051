"""Trees of header files: which files belong, whether any has changed, and the hash of their content."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

__all__ = ["Tree", "digest_tree", "files", "included_names", "reachable", "tree_stamp", "walk"]

Tree = dict[str, list[str]]
"""Names of files by directory, both relative to a root."""

_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
_STD_MACRO = re.compile(rb"CUDA_STD_HEADER\([ \t]*(\w+)[ \t]*\)")
_HAS_INCLUDE = re.compile(rb"__has_include[ \t]*\([ \t]*[<\"]([^>\"\n]+)[>\"]")


def walk(root: Path) -> Tree:
    """Every file below ``root``; symlinks are followed, those that lead round or nowhere are left out.

    Raises:
        OSError: If a directory cannot be read.
    """
    tree: Tree = {}
    seen: set[str] = set()
    pending = [""]
    while pending:
        relative = pending.pop()
        real = os.path.realpath(root / relative)
        if real in seen:
            continue
        seen.add(real)
        names = []
        with os.scandir(real) as items:
            for item in items:
                try:
                    is_dir, is_file = item.is_dir(), item.is_file()
                except OSError:  # a link to itself
                    continue
                if is_dir:
                    pending.append(f"{relative}/{item.name}" if relative else item.name)
                elif is_file:
                    names.append(item.name)
        tree[relative] = sorted(names)
    return tree


def reachable(root: Path, bases: Sequence[str], names: Iterable[str]) -> Tree:
    """The files below ``root`` that ``names`` can include, directly or not, under any condition.

    Args:
        root: The tree.
        bases: Directories in it that the compiler searches, relative to it.
        names: What is included from outside, for example ``cuda_fp16.h``.
    """
    found: set[str] = set()
    pending = [path for name in names if (path := _resolve(root, bases, name)) is not None]
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.add(path)
        for name in included_names((root / path).read_bytes()):
            target = _resolve(root, (posixpath.dirname(path), *bases), name)
            if target is not None and target not in found:
                pending.append(target)
    tree: Tree = {}
    for path in sorted(found):
        tree.setdefault(posixpath.dirname(path), []).append(posixpath.basename(path))
    return tree


def files(tree: Tree) -> Iterator[str]:
    """Relative paths of all files, in a fixed order."""
    for directory in sorted(tree):
        for name in sorted(tree[directory]):
            yield f"{directory}/{name}" if directory else name


def included_names(data: bytes, *, certain: bool = False) -> set[str]:
    """What a header includes, under any condition.

    Args:
        data: Its content.
        certain: Leave out what it asks for with ``__has_include`` first.
    """
    names = {name.decode("utf-8", "replace") for name in _INCLUDE.findall(data)}
    names |= {f"cuda/std/{name.decode()}" for name in _STD_MACRO.findall(data)}
    if certain:
        names -= {name.decode("utf-8", "replace") for name in _HAS_INCLUDE.findall(data)}
    return names


def digest_tree(root: Path, tree: Tree) -> str:
    """Hash of the names and the content of all files; no absolute path, no time."""
    digest = hashlib.sha256()
    for path in files(tree):
        data = (root / path).read_bytes()
        digest.update(f"{path}\0{len(data)}\0".encode() + hashlib.sha256(data).digest())
    return digest.hexdigest()


def tree_stamp(root: Path, tree: Tree) -> tuple[str, int]:
    """A hash of the sizes and times of a known tree, and the newest of these times in nanoseconds.

    A directory's time changes when something is added to it or removed from it, so the tree need not be
    walked again. This runs at each start: it is written for speed.
    """
    values = array("q")
    newest = 0
    stat = os.stat
    base = str(root)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    for directory, names in tree.items():
        fd = os.open(f"{base}/{directory}", flags)
        try:
            values.append(os.fstat(fd).st_mtime_ns)
            for name in names:
                found = stat(name, dir_fd=fd)
                values.extend((found.st_size, found.st_mtime_ns, found.st_ctime_ns))
                if found.st_ctime_ns > newest:
                    newest = found.st_ctime_ns
        finally:
            os.close(fd)
    return hashlib.sha256(values.tobytes()).hexdigest(), newest


def _resolve(root: Path, bases: Sequence[str], name: str) -> str | None:
    for base in bases:
        path = posixpath.normpath(posixpath.join(base, name))
        if not path.startswith(("..", "/")) and (root / path).is_file():
            return path
    return None
