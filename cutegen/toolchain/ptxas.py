"""Read what ``ptxas -v`` says of a kernel."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

__all__ = ["Resources", "parse_resources"]

_USED = re.compile(r"Used (\d+) registers(.*)")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_SMEM = re.compile(r"(\d+)(?:\+\d+)? bytes smem")


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What one kernel uses.

    Attributes:
        registers: Registers of a thread.
        spill_stores: Bytes of registers that a thread stores to local memory.
        spill_loads: Bytes that it loads back.
        static_smem: Shared memory of a CTA that the compiler laid out, in bytes.
        dynamic_smem: Shared memory of a CTA that the launch asks for, in bytes.
        stack: Local memory of a thread, in bytes; spills are a part of it.
    """

    registers: int
    spill_stores: int
    spill_loads: int
    static_smem: int
    dynamic_smem: int
    stack: int

    def to_dict(self) -> dict[str, int]:
        """The figures as a JSON-ready dictionary."""
        return asdict(self)


def parse_resources(log: str, kernel: str, dynamic_smem: int) -> Resources | None:
    """The figures of one entry function, or None when the log does not name it.

    Args:
        log: Output of nvcc with ``-Xptxas -v``.
        kernel: Name of the entry function.
        dynamic_smem: What its launch asks for, which the compiler does not know.
    """
    _, found, rest = log.partition(f"Compiling entry function '{kernel}'")
    if not found:
        return None
    rest = rest.partition("Compiling entry function")[0]
    used = _USED.search(rest)
    if used is None:
        return None
    _, _, properties = rest.partition(f"Function properties for {kernel}")
    frame = _FRAME.search(properties)
    stack, stores, loads = (int(value) for value in frame.groups()) if frame else (0, 0, 0)
    smem = _SMEM.search(used[2])
    return Resources(
        registers=int(used[1]),
        spill_stores=stores,
        spill_loads=loads,
        static_smem=int(smem[1]) if smem else 0,
        dynamic_smem=dynamic_smem,
        stack=stack,
    )
