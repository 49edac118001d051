"""CUTLASS and CUDA headers: found, checked for completeness, and hashed by content."""

from __future__ import annotations

import hashlib
import importlib.util
import posixpath
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cutegen import settings
from cutegen.errors import ToolchainError
from cutegen.install import install_command
from cutegen.toolchain.memo import Memo, settle
from cutegen.toolchain.model import Cutlass, Nvcc
from cutegen.toolchain.trees import Tree, digest_tree, files, included_names, reachable, tree_stamp, walk

__all__ = [
    "CUTLASS_MINIMUM",
    "check_cuda_headers",
    "find_cutlass",
    "header_digest",
    "locate_cutlass",
    "reachable_cuda_headers",
]

CUTLASS_MINIMUM = (4, 0)
"""Oldest CUTLASS that the rendered kernels compile with."""

_HOW = "pip install 'nvidia-cutlass>=4.2', or set CUTEGEN_CUTLASS_DIR to a checkout of CUTLASS"
_ROOTS = ("cute/tensor.hpp", "cute/atom/mma_atom.hpp", "cutlass/cutlass.h", "cutlass/numeric_types.h")
_OWN = ("cute/", "cutlass/")
_CONDITIONAL = frozenset({"cutlass/version.h"})  # includes a file that only CUTLASS's own build makes
_FORCED = "cuda_runtime.h"  # nvcc includes it before the source
_CUDA_BASES = ("", "cccl")
_CUDA_HEADERS = (
    ("cuda_runtime.h", "nvidia-cuda-runtime"),
    ("crt/host_config.h", "nvidia-cuda-crt"),
    ("cuda/std/cstdint", "nvidia-cuda-cccl"),
)

CutlassFacts = dict[str, Any]


def locate_cutlass() -> tuple[Path | None, str]:
    """The include directory of CUTLASS, or None, and what named it; nothing is imported or checked."""
    own = settings.get("CUTEGEN_CUTLASS_DIR")
    if own is not None:
        root = settings.absolute(own, "CUTEGEN_CUTLASS_DIR")
        nested = root / "include"
        return (nested if nested.is_dir() else root), "CUTEGEN_CUTLASS_DIR"
    # NOTE: find_spec of a top-level package does not import it; importing cutlass_library takes long.
    spec = importlib.util.find_spec("cutlass_library")
    for base in (spec.submodule_search_locations or []) if spec is not None else []:
        include = Path(base) / "source" / "include"
        if include.is_dir():
            return include, "nvidia-cutlass wheel"
    return None, "nvidia-cutlass wheel"


def find_cutlass() -> tuple[Cutlass, CutlassFacts]:
    """Find and check the CUTLASS headers.

    Returns:
        The headers, and what :func:`header_digest` needs to know of their content.

    Raises:
        ToolchainError: If they are missing, incomplete or too old. Nothing is run to find out.
    """
    include, origin = locate_cutlass()
    wanted = ".".join(map(str, CUTLASS_MINIMUM))
    if include is None or not include.is_dir():
        where = f"{origin}: {include}" if include else origin
        raise ToolchainError(
            f"the CUTLASS headers, version {wanted} or later, were not found ({where}: no version); {_HOW}"
        )
    real = include.resolve()
    without = ToolchainError(
        f"the CUTLASS headers in {include} ({origin}) are incomplete: cutlass/version.h is missing, "
        f"found no version, need {wanted} or later; {_HOW}"
    )
    if not (real / "cutlass" / "version.h").is_file():  # no need to look at a whole disk
        raise without
    try:
        facts = _remembered("cutlass", real, "", lambda: _examine_cutlass(real))
    except OSError as error:
        raise ToolchainError(
            f"the CUTLASS headers in {include} ({origin}) cannot be read: {error.filename}: {error.strerror}"
        ) from error
    version, missing = facts["version"], facts["missing"]
    if version is None:
        raise without
    if tuple(map(int, version.split(".")[:2])) < CUTLASS_MINIMUM:
        raise ToolchainError(
            f"CUTLASS must be version {wanted} or later (got {version} in {include}, {origin}); {_HOW}"
        )
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise ToolchainError(
            f"the CUTLASS {version} headers in {include} ({origin}) are incomplete, as after a copy that "
            f"stopped half-way: {', '.join(missing[:3])}{more} missing or empty; need a whole {wanted} or "
            f"later; {_HOW}"
        )
    return Cutlass(include=include, origin=origin, version=version), facts


def check_cuda_headers(nvcc: Nvcc) -> None:
    """Check that the headers which every compilation needs are there.

    Raises:
        ToolchainError: Naming each missing header and the wheel that has it.
    """
    bases = [base / sub for base in nvcc.includes for sub in _CUDA_BASES]
    missing = [
        f"{header} (wheel {wheel})"
        for header, wheel in _CUDA_HEADERS
        if not any((base / header).is_file() for base in bases)
    ]
    if missing:
        looked = ", ".join(map(str, nvcc.includes)) or "no include directory"
        raise ToolchainError(
            f"CUDA headers are missing for {nvcc.path}: {', '.join(missing)}; looked in {looked}. "
            f"Set CUTEGEN_CUDA_INCLUDE, or install a complete set: {install_command('cuda13')}"
        )


def header_digest(cutlass: CutlassFacts, cuda_includes: Sequence[Path]) -> str:
    """Hash of the content of all headers that a kernel can include, CUTLASS's and CUDA's.

    Of CUDA's headers these are the ones that nvcc's own ``cuda_runtime.h`` and CUTLASS reach.
    """
    digests = [str(cutlass["digest"]), *(str(_cuda_facts(cutlass, root)["digest"]) for root in cuda_includes)]
    return hashlib.sha256("\0".join(digests).encode()).hexdigest()


def reachable_cuda_headers(cutlass: CutlassFacts, root: Path) -> Tree:
    """The headers below a CUDA include directory that count for :func:`header_digest`."""
    tree: Tree = _cuda_facts(cutlass, root)["tree"]
    return tree


def _cuda_facts(cutlass: CutlassFacts, root: Path) -> dict[str, Any]:
    names = sorted({_FORCED, *cutlass["external"]})
    subject = hashlib.sha256("\0".join(names).encode()).hexdigest()
    return _remembered("cuda", root, subject, lambda: _examine_cuda(root, names))


def _remembered(kind: str, root: Path, subject: str, examine: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    def unchanged(facts: dict[str, Any]) -> bool:
        return isinstance(facts["digest"], str) and tree_stamp(root, facts["tree"])[0] == facts["stamp"]

    return Memo(f"headers-{kind}", f"{root}\0{subject}").get(unchanged, examine)


def _examine_cuda(root: Path, names: Sequence[str]) -> dict[str, Any]:
    tree = reachable(root, _CUDA_BASES, names)
    return {"tree": tree, "stamp": _settled_stamp(root, tree), "digest": digest_tree(root, tree)}


def _examine_cutlass(root: Path) -> CutlassFacts:
    tree = walk(root)
    stamp = _settled_stamp(root, tree)
    present: set[str] = set()
    wanted = set(_ROOTS)
    external: set[str] = set()
    version = None
    for path in files(tree):
        data = (root / path).read_bytes()
        if data.strip():  # an empty header is what a copy to a full disk leaves
            present.add(path)
        if path == "cutlass/version.h":
            version = _cutlass_version(data)
        included = included_names(data, certain=True)
        external |= {name for name in included if not name.startswith(_OWN)}
        if path.startswith("cute/") or (posixpath.dirname(path) == "cutlass" and path not in _CONDITIONAL):
            wanted |= {name for name in included if name.startswith(_OWN)}
    return {
        "tree": tree,
        "stamp": stamp,
        "digest": digest_tree(root, tree),
        "version": version,
        "missing": sorted(wanted - present),
        "external": sorted(external),
    }


def _settled_stamp(root: Path, tree: Tree) -> str:
    # NOTE: the stamp is taken before the content is read; a change in between shows at the next start.
    stamp, newest = tree_stamp(root, tree)
    settle(newest)
    return stamp


def _cutlass_version(data: bytes) -> str | None:
    found = []
    for part in (b"MAJOR", b"MINOR", b"PATCH"):
        match = re.search(rb"#[ \t]*define[ \t]+CUTLASS_" + part + rb"[ \t]+(\d+)", data)
        if match is None:
            return None
        found.append(match[1].decode())
    return ".".join(found)
