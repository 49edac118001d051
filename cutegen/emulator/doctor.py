"""What the emulator needs, for ``cutegen doctor``."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from cutegen.emulator.host import cxx_facts, find_cuda_headers, find_cxx
from cutegen.emulator.symbols import find_tool
from cutegen.errors import CutegenError
from cutegen.install import install_command
from cutegen.toolchain.doctor import Finding, version_number

__all__ = ["diagnose_emulator"]


def diagnose_emulator() -> tuple[Finding, ...]:
    """The findings ``needed_for="emulate"``; CUTLASS, which building needs too, is not repeated."""
    install = install_command("emulator")
    headers = f"{install}, or set CUTEGEN_CUDA_INCLUDE to the directory of cuda_runtime.h"
    return (
        _finding("C++ compiler", _compiler, "install g++ 11 or clang++ 14, or later, or set CUTEGEN_CXX"),
        _finding("emulator headers", _headers, headers),
        _finding("addr2line", _lines, "install binutils; without it findings have no lines"),
        _finding("numpy", _numpy, install),
    )


def _finding(name: str, find: Callable[[], dict[str, str]], fix: str) -> Finding:
    try:
        found = find()
        return Finding(
            name=name,
            needed_for="emulate",
            ok=True,
            version=found.get("version"),
            where=found.get("where"),
            origin=found.get("origin"),
        )
    except (CutegenError, OSError) as error:
        return Finding(name=name, needed_for="emulate", ok=False, problem=str(error), fix=fix)


def _compiler() -> dict[str, str]:
    path, origin = find_cxx()
    return {"version": version_number(cxx_facts(path)[1]), "where": str(path), "origin": origin}


def _headers() -> dict[str, str]:
    includes, origin = find_cuda_headers()
    return {"where": str(includes[0]), "origin": origin}


def _lines() -> dict[str, str]:
    tool = find_tool()
    if tool is None:
        raise OSError("neither addr2line nor llvm-addr2line was found")
    return {"where": tool}


def _numpy() -> dict[str, str]:
    if importlib.util.find_spec("numpy") is None:
        raise OSError("numpy is not installed; 'run --device cpu' makes its inputs with it")
    return {}
