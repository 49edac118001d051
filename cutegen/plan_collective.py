"""Everything derived from a ``collective`` config: what its template sees."""

from __future__ import annotations

from dataclasses import dataclass

from cutegen.arch import ArchName, arch
from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName
from cutegen.naming import kernel_name
from cutegen.resources_collective import CollectiveMemory, collective_memory, collective_threads

__all__ = ["CollectivePlan", "plan_collective"]

#: Threads of the kernels that the builders make for other GPUs than Hopper; the driver takes no fewer.
_THREADS = {"sm_100a": 256, "sm_120a": 384}


@dataclass(frozen=True, kw_only=True)
class CollectivePlan:
    """A legal ``collective`` config with every derived value.

    Attributes:
        config: The resolved config.
        name: A C identifier that tells kernels apart.
        threads: Threads of one CTA.
        shared: Shared memory on sm_90a; None where only CUTLASS counts it.
        scale: Type in which alpha and beta are applied.
    """

    config: GemmConfig
    name: str
    threads: int
    shared: CollectiveMemory | None
    scale: DTypeName

    @property
    def arch(self) -> ArchName:
        """Feature level of the kernel."""
        return self.config.arch

    @property
    def tile(self) -> tuple[int, int, int]:
        """The CTA tile (BLK_M, BLK_N, BLK_K)."""
        return self.config.tile or (0, 0, 0)

    @property
    def cluster(self) -> tuple[int, int]:
        """CTAs of a cluster along M and N."""
        m, n, _ = self.config.cluster or (1, 1, 1)
        return m, n

    @property
    def smem_bytes(self) -> int:
        """Dynamic shared memory of one CTA: as counted, or all that a CTA may have."""
        return self.shared.bytes if self.shared else arch(self.arch).smem_per_block


def plan_collective(cfg: GemmConfig, scale: DTypeName) -> CollectivePlan:
    """Derive everything from a resolved config that the rules accept."""
    hopper = cfg.arch == "sm_90a"
    return CollectivePlan(
        config=cfg,
        name=kernel_name(cfg),
        threads=collective_threads(cfg) if hopper else _THREADS[cfg.arch],
        shared=collective_memory(cfg) if hopper else None,
        scale=scale,
    )
