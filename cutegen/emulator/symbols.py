"""From code addresses to places in the kernel's source, with the chain of inlined calls."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from cutegen import settings
from cutegen.emulator.report import Place
from cutegen.toolchain.process import run

__all__ = ["Chains", "find_tool", "resolve"]

_TOOLS = ("addr2line", "llvm-addr2line", "llvm-addr2line-14", "llvm-addr2line-15")
_BATCH = 2000

Chains = dict[int, tuple[Place, ...]]
"""For each address its place and the places that it was inlined into, innermost first."""


def resolve(library: Path, addresses: Iterable[int]) -> Chains:
    """Places of addresses inside a shared library.

    Args:
        library: It must have line tables.
        addresses: Relative to the library's load address; each points just behind a call.

    Returns:
        An empty chain for each address when no ``addr2line`` is installed.
    """
    wanted = sorted(set(addresses))
    tool = find_tool()
    chains: Chains = dict.fromkeys(wanted, ())
    if tool is None:
        return chains
    for begin in range(0, len(wanted), _BATCH):
        batch = wanted[begin : begin + _BATCH]
        argv = [tool, "-a", "-f", "-i", "-C", "-e", str(library), *(hex(a - 1) for a in batch)]
        output = run(argv, env=settings.child_environment(), timeout=120.0).output
        for address, chain in _parse(output):
            if address + 1 in chains:
                chains[address + 1] = chain
    return chains


def find_tool() -> str | None:
    """The program that turns addresses into lines; None when none is installed."""
    search = os.pathsep.join(filter(None, (settings.get("PATH"), os.defpath)))
    return next((t for name in _TOOLS if (t := shutil.which(name, path=search))), None)


def _parse(output: str) -> list[tuple[int, tuple[Place, ...]]]:
    result: list[tuple[int, tuple[Place, ...]]] = []
    address: int | None = None
    places: list[Place] = []
    function: str | None = None
    for line in output.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            if address is not None:
                result.append((address, tuple(places)))
            address, places, function = int(line, 16), [], None
        elif function is None:
            function = line
        else:
            match = re.match(r"(.*):(\d+|\?)", line)
            name = Path(match[1]).name if match else "?"
            number = int(match[2]) if match and match[2].isdigit() else 0
            places.append(Place(file=name, line=number, function=function))
            function = None
    if address is not None:
        result.append((address, tuple(places)))
    return result
