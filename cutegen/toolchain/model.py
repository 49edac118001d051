"""What a toolchain is: found programs and headers, with their identities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cutlass", "HostCompiler", "Nvcc", "Toolchain"]


@dataclass(frozen=True, kw_only=True)
class Nvcc:
    """An nvcc and what belongs to it.

    Attributes:
        path: The program to run: the real file, or a wrapper script as it was found.
        origin: How it was found, for example ``PATH``.
        root: Root of its toolkit.
        cicc: Its device compiler.
        ptxas: Its assembler.
        includes: Its include directories; none lies in another.
        extra_includes: Include directories that it must be told of.
        version: For example ``13.0.88``.
        gpu_codes: The targets that it can build for, for example ``sm_90``.
        identity: Hash of its version and of the content of its programs.
    """

    path: Path
    origin: str
    root: Path
    cicc: Path
    ptxas: Path
    includes: tuple[Path, ...]
    extra_includes: tuple[Path, ...]
    version: str
    gpu_codes: tuple[str, ...]
    identity: str


@dataclass(frozen=True, kw_only=True)
class Cutlass:
    """A checked set of CUTLASS headers.

    Attributes:
        include: The include directory.
        origin: How it was found.
        version: For example ``4.2.0``.
    """

    include: Path
    origin: str
    version: str


@dataclass(frozen=True, kw_only=True)
class HostCompiler:
    """A host C compiler.

    Attributes:
        argv: The program, and arguments that the user gave with it.
        origin: How it was found.
        version: Its own words, for example ``gcc (Debian 12.2.0-14) 12.2.0``.
        machine: What it builds for, for example ``x86_64-linux-gnu``.
        for_nvcc: Whether nvcc must be told to use it.
    """

    argv: tuple[str, ...]
    origin: str
    version: str
    machine: str
    for_nvcc: bool


@dataclass(frozen=True, kw_only=True)
class Toolchain:
    """Everything that a build needs, found and checked.

    Attributes:
        nvcc: The CUDA compiler.
        cutlass: The CUTLASS headers.
        host: The host C compiler.
        headers: Hash of the content of every header tree.
    """

    nvcc: Nvcc
    cutlass: Cutlass
    host: HostCompiler
    headers: str

    def describe(self) -> dict[str, str]:
        """Versions in words, for reports; no path."""
        return {
            "nvcc": self.nvcc.version,
            "cutlass": self.cutlass.version,
            "host": self.host.version,
            "machine": self.host.machine,
        }
