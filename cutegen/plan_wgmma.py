"""Everything derived from a ``tma_wgmma`` config: what its templates see."""

from __future__ import annotations

from dataclasses import dataclass

from cutegen.arch import ArchName
from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName, dtype
from cutegen.layout.algebra import Layout
from cutegen.naming import kernel_name
from cutegen.operands.model import OutputPlan
from cutegen.operands.wgmma import (
    TensorMap,
    Warpgroups,
    WgmmaOperand,
    derive_wgmma_operand,
    derive_wgmma_output,
    fragment_layout,
    warpgroups,
)
from cutegen.resources_wgmma import SharedMemory, live_registers, register_split, shared_memory
from cutegen.vectors import scale_type
from cutegen.wgmma_atoms import WARPGROUP, WGMMA_M, WgmmaAtom, wgmma_atom

__all__ = ["WgmmaPlan", "plan_wgmma"]

_WARP_ROWS = 16


@dataclass(frozen=True, kw_only=True)
class WgmmaPlan:
    """A legal ``tma_wgmma`` config with every derived value.

    Attributes:
        config: The resolved config.
        name: A C identifier that tells kernels apart.
        atom: The warpgroup MMA operation.
        groups: The consumers.
        threads: Threads of one CTA: the consumers and one warpgroup more, which loads.
        registers: Registers of a producer's and of a consumer's thread.
        shared: Where everything lies in shared memory.
        a: Operand A.
        b: Operand B.
        output: The output tile.
        fragment_c: (value, operation along M) to register.
        scale: Type in which alpha and beta are applied.
        c_vector: Elements of one load of C into fragments.
        d_vector: Elements of one store of D from fragments.
        maps: Of A, of B, and of D for each width of chunks.
    """

    config: GemmConfig
    name: str
    atom: WgmmaAtom
    groups: Warpgroups
    threads: int
    registers: tuple[int, int]
    shared: SharedMemory
    a: WgmmaOperand
    b: WgmmaOperand
    output: OutputPlan
    fragment_c: Layout
    scale: DTypeName
    c_vector: int
    d_vector: int
    maps: tuple[TensorMap, ...]

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
        """Dynamic shared memory of one CTA."""
        return self.shared.bytes


def _output_maps(cfg: GemmConfig, shared: SharedMemory) -> tuple[TensorMap, ...]:
    name = cfg.d.dtype or "f32"
    if cfg.d.major == "m":
        columns = shared.chunk_columns
        return (
            TensorMap(
                matrix="d", dtype=name, mn_inner=True, box_inner=WGMMA_M, box_outer=columns, swizzle=128
            ),
        )
    return tuple(
        TensorMap(
            matrix="d",
            dtype=name,
            mn_inner=False,
            box_inner=width // dtype(name).bytes,
            box_outer=_WARP_ROWS,
            swizzle=width,
        )
        for width in dict.fromkeys(shared.chunks)
    )


def plan_wgmma(cfg: GemmConfig) -> WgmmaPlan:
    """Derive everything from a resolved config that the rules accept."""
    atom = wgmma_atom(cfg.tiled_mma.atom or "")
    groups = warpgroups(cfg)
    shared = shared_memory(cfg)
    a, b = derive_wgmma_operand(cfg, "a"), derive_wgmma_operand(cfg, "b")
    output = derive_wgmma_output(cfg)
    c_limit = max(1, (cfg.c.align or 1) // dtype(cfg.c.dtype or "f32").bytes)
    d_limit = max(1, (cfg.d.align or 1) // dtype(cfg.d.dtype or "f32").bytes)
    return WgmmaPlan(
        config=cfg,
        name=kernel_name(cfg),
        atom=atom,
        groups=groups,
        threads=WARPGROUP * (groups.count + 1),
        registers=register_split(groups.count, live_registers(cfg)),
        shared=shared,
        a=a,
        b=b,
        output=output,
        fragment_c=fragment_layout(atom, groups.atoms_m),
        scale=scale_type(cfg),
        c_vector=min(output.vector, c_limit) if cfg.c.major == cfg.d.major else 1,
        d_vector=min(output.vector, d_limit),
        maps=(a.map, b.map, *(_output_maps(cfg, shared) if cfg.epilogue.store == "tma" else ())),
    )
