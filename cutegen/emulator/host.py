"""Find what the emulator compiles with: a C++ compiler, the CUTLASS headers and the CUDA headers. No nvcc."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from cutegen import settings
from cutegen.errors import ToolchainError
from cutegen.install import install_command
from cutegen.toolchain.headers import find_cutlass, header_digest
from cutegen.toolchain.nvcc import locate_nvcc
from cutegen.toolchain.process import run

__all__ = ["HostToolchain", "cxx_facts", "find_cuda_headers", "find_cxx", "find_host_toolchain"]

_NAMES = ("g++", "c++", "clang++", "clang++-14", "g++-12", "g++-11")
_MINIMUM = {"gcc": 11, "clang": 14}
_HOW_CXX = "install g++ (11 or later) or clang++ (14 or later), or set CUTEGEN_CXX"


@dataclass(frozen=True, kw_only=True)
class HostToolchain:
    """What emulated kernels are compiled with.

    Attributes:
        cxx: The C++ compiler.
        family: ``gcc`` or ``clang``.
        version: The compiler's own words.
        machine: What it compiles for, for example ``x86_64-linux-gnu``.
        cutlass: CUTLASS's include directory, not rewritten.
        cuda: CUDA's include directories.
        headers: Hash of the content of both.
    """

    cxx: Path
    family: str
    version: str
    machine: str
    cutlass: Path
    cuda: tuple[Path, ...]
    headers: str

    @property
    def tools(self) -> Path:
        """Where the compiler really lies, and with it the assembler and the linker that it calls."""
        return self.cxx.resolve().parent

    @property
    def identity(self) -> dict[str, str]:
        """What makes two compilers produce the same, without paths."""
        return {"version": self.version, "machine": self.machine}


def find_host_toolchain(cxx: str | None = None) -> HostToolchain:
    """Find and check everything; remembered for the life of this process.

    Args:
        cxx: A C++ compiler, a path or a name on PATH; ``CUTEGEN_CXX``, ``CXX``, then PATH by default.

    Raises:
        ToolchainError: Saying what is missing and how to get it.
    """
    path, _ = find_cxx(cxx)
    family, version, machine = cxx_facts(path)
    cutlass, facts = find_cutlass()
    cuda, _ = find_cuda_headers()
    return HostToolchain(
        cxx=path,
        family=family,
        version=version,
        machine=machine,
        cutlass=cutlass.include,
        cuda=cuda,
        headers=header_digest(facts, cuda[:1]),
    )


def _setting(name: str) -> str | None:
    return settings.get(name) if name in settings.VARIABLES else None


def find_cxx(explicit: str | None = None) -> tuple[Path, str]:
    """The C++ compiler, and what named it."""
    search = settings.get("PATH") or os.defpath
    for origin, value in (
        ("argument", explicit),
        ("CUTEGEN_CXX", _setting("CUTEGEN_CXX")),
        ("CXX", _setting("CXX")),
    ):
        if value is None:
            continue
        found = shutil.which(value, path=search)
        if found is None:
            raise ToolchainError(f"the C++ compiler {value} ({origin}) was not found; {_HOW_CXX}")
        return Path(found), origin
    for name in _NAMES:
        found = shutil.which(name, path=search)
        if found is not None:
            return Path(found), "PATH"
    raise ToolchainError(f"no C++ compiler was found on PATH (looked for {', '.join(_NAMES)}); {_HOW_CXX}")


@functools.lru_cache(maxsize=8)
def cxx_facts(path: Path) -> tuple[str, str, str]:
    """Family, version and machine of a C++ compiler.

    Raises:
        ToolchainError: It is too old, or for a machine that the emulator does not run on.
    """
    env = settings.child_environment(tools=path.resolve().parent)
    version = run([str(path), "--version"], env=env, timeout=60.0).output.split("\n")[0].strip()
    machine = run([str(path), "-dumpmachine"], env=env, timeout=60.0).output.strip()
    family = "clang" if "clang" in version else "gcc"
    number = re.search(r"(\d+)\.\d+\.\d+", version)
    if number is None or int(number[1]) < _MINIMUM[family]:
        raise ToolchainError(
            f"the emulator needs {family} {_MINIMUM[family]} or later (got {version or path}); {_HOW_CXX}"
        )
    if not machine.startswith(("x86_64", "aarch64")):
        raise ToolchainError(f"the emulator runs on x86-64 and aarch64 (got {machine})")
    return family, version, machine


def find_cuda_headers() -> tuple[tuple[Path, ...], str]:
    """CUDA's include directories, and what named them."""
    tried: list[str] = []
    for origin, include in _cuda_places():
        if (include / "cuda_runtime.h").is_file() and (include / "crt" / "host_config.h").is_file():
            cccl = include / "cccl"
            if (cccl / "cuda" / "std" / "cstdint").is_file():
                return (include, cccl), origin
            if (include / "cuda" / "std" / "cstdint").is_file():
                return (include,), origin
        tried.append(f"{origin}: {include}")
    looked = "; ".join(tried) or "nowhere to look"
    raise ToolchainError(
        f"the CUDA headers were not found ({looked}); {install_command('emulator')}, or set "
        "CUTEGEN_CUDA_INCLUDE"
    )


def _cuda_places() -> list[tuple[str, Path]]:
    places: list[tuple[str, Path]] = []
    own = settings.get("CUTEGEN_CUDA_INCLUDE")
    if own is not None:
        return [("CUTEGEN_CUDA_INCLUDE", Path(own))]
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        spec = None
    for base in (spec.submodule_search_locations or []) if spec is not None else []:
        places += [("wheel", p) for p in sorted(Path(base).glob("cu1*/include"), reverse=True)]
    home = settings.get("CUDA_HOME")
    if home is not None:
        places.append(("CUDA_HOME", Path(home) / "include"))
    place, _ = locate_nvcc()
    if place is not None and place.path is not None:
        places.append((place.origin, place.path.resolve().parent.parent / "include"))
    places += [("toolkit", p / "include") for p in sorted(Path("/usr/local").glob("cuda*"))]
    return places
