"""Limits of each GPU architecture, each with its source.

``smem_per_block`` is the opt-in limit of one CTA and ``smem_per_sm`` what an SM has, both in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ARCHS", "Arch", "ArchName", "arch"]

ArchName = Literal["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"]


@dataclass(frozen=True, kw_only=True)
class Arch:
    """One architecture: the features and limits that a kernel may count on.

    Attributes:
        name: The feature level as a config says it, for example ``sm_80``.
        cc: Compute capability times ten.
        smem_per_block: Most dynamic shared memory that one CTA may opt in to, in bytes.
        smem_per_sm: Shared memory of one SM, in bytes.
        max_threads_per_sm: Resident threads of one SM.
        max_blocks_per_sm: Resident CTAs of one SM.
        source: Where the figures come from.
    """

    name: ArchName
    cc: int
    smem_per_block: int
    smem_per_sm: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    source: str
    registers_per_sm: int = 65536
    max_registers_per_thread: int = 255
    max_threads_per_block: int = 1024
    reserved_smem_per_block: int = 1024

    @property
    def virtual(self) -> str:
        """The PTX target, ``compute_80`` for ``sm_80``."""
        return self.name.replace("sm_", "compute_")

    @property
    def has_cp_async(self) -> bool:
        """Whether ``cp.async`` exists (PTX ISA: sm_80 or later)."""
        return self.cc >= 80

    @property
    def smem_unit(self) -> int:
        """Bytes in which an SM gives out shared memory (``cuda_occupancy.h``)."""
        return 128 if self.cc >= 80 else 256

    def describe_smem(self) -> str:
        """The CTA limit in words, for messages."""
        return f"{self.smem_per_block} B ({self.smem_per_block // 1024} KiB) per CTA on {self.name}"


_GUIDE = "CUDA C++ Programming Guide, table Technical Specifications per Compute Capability"


def _a(name: ArchName, cc: int, block_kib: int, sm_kib: int, threads: int, blocks: int) -> Arch:
    return Arch(
        name=name,
        cc=cc,
        smem_per_block=block_kib * 1024,
        smem_per_sm=sm_kib * 1024,
        max_threads_per_sm=threads,
        max_blocks_per_sm=blocks,
        source=_GUIDE,
        reserved_smem_per_block=0 if cc < 80 else 1024,
    )


ARCHS: dict[ArchName, Arch] = {
    a.name: a
    for a in (
        _a("sm_75", 75, 64, 64, 1024, 16),
        _a("sm_80", 80, 163, 164, 2048, 32),
        _a("sm_86", 86, 99, 100, 1536, 16),
        _a("sm_89", 89, 99, 100, 1536, 24),
        _a("sm_90a", 90, 227, 228, 2048, 32),
        _a("sm_100a", 100, 227, 228, 2048, 32),
        _a("sm_120a", 120, 99, 100, 1536, 24),
    )
}


def arch(name: ArchName) -> Arch:
    """The architecture called ``name``."""
    return ARCHS[name]
