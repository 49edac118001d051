"""The nvcc command of a kernel, with a way around the paths that nvcc mangles."""

from __future__ import annotations

import re
from pathlib import Path

from cutegen.arch import ArchName, arch
from cutegen.errors import ToolchainError
from cutegen.toolchain.model import Toolchain

__all__ = ["FLAGS", "OBJECT_FLAGS", "Links", "gencode", "nvcc_command"]

_COMMON: tuple[str, ...] = ("-std=c++17", "--expt-relaxed-constexpr", "-lineinfo", "-Xptxas", "-v")
FLAGS: tuple[str, ...] = ("-cubin", *_COMMON)

#: For a source with host code: an object of it. The cubin is kept on the way.
OBJECT_FLAGS: tuple[str, ...] = (
    "-c",
    *_COMMON,
    "-O2",
    "-Xcompiler",
    "-fPIC,-fvisibility=hidden,-fvisibility-inlines-hidden",
)

# Seen with nvcc 13.0: it splits lists of directories at commas, and hands command lines to a shell.
_UNFIT_DIRECTORY = re.compile(r"[\"',`]")
_UNFIT_PROGRAM = re.compile(r"[$`]")
_UNFIT_PLACE = re.compile(r"[\"`]")  # ptxas does not take a quote in the names of sources


class Links:
    """Stand-ins for paths that nvcc cannot take: symbolic links below the directory where it runs.

    Args:
        directory: Where nvcc runs; its ``links`` is made when it is needed.

    Raises:
        ToolchainError: If nvcc cannot run in the directory itself.
    """

    def __init__(self, directory: Path) -> None:
        if _UNFIT_PLACE.search(str(directory)):
            raise ToolchainError(
                f"nvcc cannot work in a directory whose path holds a double quote or a backtick (got "
                f"{directory}); set CUTEGEN_CACHE_DIR to another"
            )
        self.directory = directory
        self.count = 0

    def include(self, path: Path) -> str:
        """A name of an include directory."""
        return self._name(path, "include") if _UNFIT_DIRECTORY.search(str(path)) else str(path)

    def program(self, path: str) -> str:
        """A name of a compiler, by which it can be run."""
        return self._name(Path(path), Path(path).name) if _UNFIT_PROGRAM.search(path) else path

    def _name(self, path: Path, name: str) -> str:
        # NOTE: the last part of a compiler's name may decide what it is, as of clang++.
        place = Path("links") / str(self.count) / re.sub(r"[^\w.+-]", "_", name)
        self.count += 1
        link = self.directory / place
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
        return str(place)


def nvcc_command(
    toolchain: Toolchain,
    arch_name: ArchName,
    target: str,
    source: str,
    output: str,
    links: Links | None = None,
    flags: tuple[str, ...] = FLAGS,
) -> tuple[str, ...]:
    """The command that compiles ``source``; the source comes last.

    Args:
        toolchain: Compilers and headers.
        arch_name: Feature level of the source.
        target: What the cubin is for, for example ``sm_90``.
        source: The source file.
        output: The cubin, or the object of host code.
        links: Stands in for paths that nvcc cannot take; left out: all paths are written as they are.
        flags: ``FLAGS`` for a cubin, ``OBJECT_FLAGS`` for an object.
    """
    host = toolchain.host
    includes = (toolchain.cutlass.include, *toolchain.nvcc.extra_includes)
    return (
        str(toolchain.nvcc.path),
        *flags,
        *gencode(arch_name, target),
        *(("-ccbin", links.program(host.argv[0]) if links else host.argv[0]) if host.for_nvcc else ()),
        *(f"-I{links.include(path) if links else path}" for path in includes),
        "-o",
        output,
        source,
    )


def gencode(arch_name: ArchName, target: str) -> tuple[str, str]:
    """The flags that say what to build for."""
    return ("-gencode", f"arch={arch(arch_name).virtual},code={target}")
