"""How many CTAs one SM holds at a time, and which resource ends there.

The rules are those of the toolkit's ``cuda_occupancy.h``: registers are given to warps in units of 256, and
each quarter of an SM has a quarter of them; shared memory is given to CTAs in units of 128 bytes (256 before
sm_80), with what the system takes of each. The launcher asks for the largest share of shared memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cutegen.arch import Arch

__all__ = ["Occupancy", "occupancy", "registers_of_warp", "smem_of_cta"]

_WARP = 32
_PARTITIONS = 4  # of an SM
_REGISTER_UNIT = 256  # registers of a warp


@dataclass(frozen=True, kw_only=True)
class Occupancy:
    """CTAs of one kernel on one SM.

    Attributes:
        by_threads: CTAs that the threads of an SM allow.
        by_registers: CTAs that its registers allow.
        by_smem: CTAs that its shared memory allows; None for a kernel without.
        by_slots: CTAs that an SM holds at most.
        warps: Warps of one CTA.
        max_warps: Warps of one SM at most.
    """

    by_threads: int
    by_registers: int
    by_smem: int | None
    by_slots: int
    warps: int
    max_warps: int

    @property
    def limits(self) -> dict[str, int]:
        """CTAs by what limits them."""
        found = {"registers": self.by_registers, "threads": self.by_threads, "CTA slots": self.by_slots}
        return found if self.by_smem is None else {"shared memory": self.by_smem, **found}

    @property
    def ctas(self) -> int:
        """CTAs that one SM holds at a time; 0: the kernel cannot be launched."""
        return min(self.limits.values())

    @property
    def limited_by(self) -> tuple[str, ...]:
        """What allows no more: ``shared memory``, ``registers``, ``threads`` or ``CTA slots``."""
        return tuple(name for name, count in self.limits.items() if count == self.ctas)

    @property
    def share(self) -> float:
        """Warps that are resident, of those that could be."""
        return self.ctas * self.warps / self.max_warps

    def to_dict(self) -> dict[str, Any]:
        """The figures as a JSON-ready dictionary."""
        return {
            "ctas_per_sm": self.ctas,
            "limited_by": list(self.limited_by),
            "by": dict(self.limits),
            "warps": self.ctas * self.warps,
            "max_warps": self.max_warps,
        }


def occupancy(arch: Arch, *, threads: int, registers: int, smem: int) -> Occupancy:
    """CTAs of a kernel that one SM of an architecture holds.

    Args:
        arch: The architecture.
        threads: Threads of a CTA.
        registers: Registers of a thread, as the compiler gives them.
        smem: Shared memory of a CTA in bytes, static and dynamic.
    """
    warps, max_warps = -(-threads // _WARP), arch.max_threads_per_sm // _WARP
    of_warp = registers_of_warp(registers)
    by_registers = arch.registers_per_sm // _PARTITIONS // of_warp * _PARTITIONS // warps
    if of_warp * _up(warps, _PARTITIONS) > arch.registers_per_sm or registers > arch.max_registers_per_thread:
        by_registers = 0
    of_cta = smem_of_cta(arch, smem)
    by_smem = arch.smem_per_sm // of_cta if of_cta else None
    if smem > arch.smem_per_block:
        by_smem = 0
    return Occupancy(
        by_threads=max_warps // warps if threads <= arch.max_threads_per_block else 0,
        by_registers=by_registers,
        by_smem=by_smem,
        by_slots=arch.max_blocks_per_sm,
        warps=warps,
        max_warps=max_warps,
    )


def registers_of_warp(registers: int) -> int:
    """Registers that an SM gives a warp whose threads have so many."""
    return _up(registers * _WARP, _REGISTER_UNIT)


def smem_of_cta(arch: Arch, smem: int) -> int:
    """Bytes of shared memory that an SM gives a CTA, with those that the driver keeps in each."""
    return _up(smem + arch.reserved_smem_per_block, arch.smem_unit)


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
