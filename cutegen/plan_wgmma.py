"""Everything derived from a ``tma_wgmma`` config: what its templates see."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cutegen.arch import ArchName
from cutegen.config import GemmConfig
from cutegen.dtypes import DTypeName, dtype
from cutegen.layout.algebra import Layout
from cutegen.naming import kernel_name
from cutegen.operands.model import OutputPlan
from cutegen.operands.swap import product
from cutegen.operands.wgmma import (
    TensorMap,
    Warpgroups,
    WgmmaOperand,
    derive_wgmma_operand,
    derive_wgmma_output,
    fragment_layout,
    warpgroups,
)
from cutegen.operands.wgmma_registers import Held, fragment_a_layout, held_a
from cutegen.resources_wgmma import (
    SharedMemory,
    cluster_shares,
    register_budget,
    shared_memory,
    workspace_shares,
)
from cutegen.vectors import scale_type
from cutegen.wgmma_atoms import WARPGROUP, WGMMA_M, WgmmaAtom, wgmma_atom

__all__ = ["WgmmaPlan", "plan_wgmma"]

_WARP_ROWS = 16


@dataclass(frozen=True, kw_only=True)
class WgmmaPlan:
    """A legal ``tma_wgmma`` config with every derived value.

    Attributes:
        config: The resolved config.
        product: What the warpgroups compute: the same, or with ``swap_ab`` the config of D^T = B * A^T.
            Operands, groups, fragments and shared memory are its; ``output`` and ``maps`` are the config's.
        name: A C identifier that tells kernels apart.
        atom: The warpgroup MMA operation.
        groups: The consumers.
        threads: Threads of one CTA: the consumers and one warpgroup more, which loads.
        registers: Registers of a producer's and of a consumer's thread.
        shared: Where everything lies in shared memory.
        a: The product's operand A, B with ``swap_ab``.
        b: Likewise B.
        output: The output tile.
        fragment_c: (value, operation along M) to register.
        fragment_a: (value, operation along M, set) to register, where A is in registers.
        scale: Type in which alpha and beta are applied.
        c_vector: Elements of one load of C into fragments.
        d_vector: Elements of one store of D from fragments.
        maps: Of the product's A and B, and of D for each width of chunks.
    """

    config: GemmConfig
    product: GemmConfig
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
    fragment_a: Layout | None
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
    def split_k(self) -> int:
        """CTAs of a cluster that share the k-tiles of an output tile."""
        return cluster_shares(self.config)

    @property
    def shares(self) -> int:
        """CTAs, or clusters of them, that share the k-tiles of an output tile and sum in global memory."""
        return workspace_shares(self.config)

    @property
    def stream_k(self) -> bool:
        """Whether the k-tiles of some output tiles are divided evenly among all CTAs."""
        return self.config.scheduler.kind == "stream_k"

    @property
    def producers(self) -> int:
        """Threads that load: two if just one operand may be loaded before the kernel before has ended."""
        constant = {bool(operand.constant) for operand in (self.config.a, self.config.b)}
        return 2 if self.config.pdl and len(constant) == 2 else 1

    @property
    def held_a(self) -> Held | None:
        """Which elements of the product's A consumers hold in registers; None where they hold none."""
        if self.a.registers is None:
            return None
        groups = self.groups
        beside, rows = ((2, 1), 0) if groups.pingpong else ((groups.m, groups.n), groups.rows)
        return held_a(beside, rows, groups.atoms_m, self.tile[2] // self.atom.shape[2])

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


def _swapped(seen: TensorMap) -> TensorMap:
    """The map of a matrix of D^T = B * A^T by the matrix's own name and modes."""
    if seen.matrix == "d":
        return replace(seen, mn_inner=not seen.mn_inner)
    return replace(seen, matrix="b" if seen.matrix == "a" else "a")


def plan_wgmma(cfg: GemmConfig) -> WgmmaPlan:
    """Derive everything from a resolved config that the rules accept."""
    config, cfg = cfg, product(cfg)
    atom = wgmma_atom(cfg.tiled_mma.atom or "")
    groups = warpgroups(cfg)
    shared = shared_memory(cfg)
    a, b = derive_wgmma_operand(cfg, "a"), derive_wgmma_operand(cfg, "b")
    output = derive_wgmma_output(cfg)
    d_maps = _output_maps(cfg, shared) if cfg.epilogue.store == "tma" else ()
    if config.swap_ab:
        a, b = (replace(operand, map=_swapped(operand.map)) for operand in (a, b))
        d_maps = tuple(map(_swapped, d_maps))
    c_limit = max(1, (cfg.c.align or 1) // dtype(cfg.c.dtype or "f32").bytes)
    d_limit = max(1, (cfg.d.align or 1) // dtype(cfg.d.dtype or "f32").bytes)
    return WgmmaPlan(
        config=config,
        product=cfg,
        name=kernel_name(config),
        atom=atom,
        groups=groups,
        threads=WARPGROUP * (groups.count + 1),
        registers=register_budget(cfg),
        shared=shared,
        a=a,
        b=b,
        output=output.transposed() if config.swap_ab else output,
        fragment_c=fragment_layout(atom, groups.atoms_m),
        fragment_a=fragment_a_layout(groups.atoms_m, a.registers.sets) if a.registers else None,
        scale=scale_type(cfg),
        c_vector=min(output.vector, c_limit) if cfg.c.major == cfg.d.major else 1,
        d_vector=min(output.vector, d_limit),
        maps=(a.map, b.map, *d_maps),
    )
