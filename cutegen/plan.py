"""Everything derived from a config: the only thing that a template sees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Literal

from cutegen.arch import ArchName
from cutegen.atoms import MmaAtom, mma_atom
from cutegen.config import GemmConfig, as_config
from cutegen.dtypes import DTypeName, dtype
from cutegen.errors import ConfigError
from cutegen.layout.algebra import Layout
from cutegen.naming import kernel_name
from cutegen.operands import (
    Fragments,
    GlobalCopy,
    OutputPlan,
    SharedRead,
    derive_direct,
    derive_fragments,
    derive_g2s,
    derive_output,
    derive_s2r,
)
from cutegen.plan_collective import CollectivePlan, plan_collective
from cutegen.plan_wgmma import WgmmaPlan, plan_wgmma
from cutegen.resolve import resolve
from cutegen.resources import epilogue_pitch, operand_stage_bytes, smem_alignment, smem_bytes, stage_bytes
from cutegen.rules import check
from cutegen.vectors import scale_type

__all__ = ["CollectivePlan", "KernelPlan", "OperandPlan", "Plan", "WgmmaPlan", "derive", "plan"]


@dataclass(frozen=True, kw_only=True)
class OperandPlan:
    """One operand's copies and fragments.

    Attributes:
        which: ``a`` or ``b``.
        copy: From global memory, to shared memory or (direct) to fragments.
        read: From shared memory to fragments; None for direct.
        fragments: Registers of one k-block.
        smem_offset: Bytes from the start of a stage.
    """

    which: Literal["a", "b"]
    copy: GlobalCopy
    read: SharedRead | None
    fragments: Fragments
    smem_offset: int


@dataclass(frozen=True, kw_only=True)
class KernelPlan:
    """A legal config with every derived value.

    Attributes:
        config: The resolved config.
        name: A C identifier that tells kernels apart.
        atom: The MMA atom.
        threads: Threads of one CTA.
        smem_bytes: Dynamic shared memory of one CTA.
        smem_alignment: Bytes to which it and each operand's buffer are aligned.
        stage_bytes: Bytes of one stage.
        a: Operand A.
        b: Operand B.
        output: The output tile.
        fragment_c: (MMA, MMA_M, MMA_N) to register.
        scale: Type in which alpha and beta are applied.
        double_buffer: Whether fragments of two k-blocks are live.
        pitch: Elements between rows of the epilogue's staging buffer.
        c_staged: Whether C passes through the epilogue's staging buffer in D's rows.
        c_vector: Elements of one load of C into fragments.
        d_vector: Elements of one store of D.
    """

    config: GemmConfig
    name: str
    atom: MmaAtom
    threads: int
    smem_bytes: int
    smem_alignment: int
    stage_bytes: int
    a: OperandPlan
    b: OperandPlan
    output: OutputPlan
    fragment_c: Layout
    scale: DTypeName
    double_buffer: bool
    pitch: int
    c_staged: bool
    c_vector: int
    d_vector: int

    @property
    def arch(self) -> ArchName:
        """Feature level of the kernel."""
        return self.config.arch

    @property
    def tile(self) -> tuple[int, int, int]:
        """The CTA tile (BLK_M, BLK_N, BLK_K)."""
        return self.config.tile or (0, 0, 0)


#: What :func:`plan` derives: the second for mainloop ``tma_wgmma``, the third for ``collective``.
Plan = KernelPlan | WgmmaPlan | CollectivePlan


def _operand(cfg: GemmConfig, which: Literal["a", "b"]) -> OperandPlan:
    direct = cfg.mainloop == "direct"
    return OperandPlan(
        which=which,
        copy=derive_direct(cfg, which) if direct else derive_g2s(cfg, which),
        read=None if direct else derive_s2r(cfg, which),
        fragments=derive_fragments(cfg, which),
        smem_offset=0 if which == "a" else operand_stage_bytes(cfg, "a"),
    )


def _d_vector(cfg: GemmConfig, output: OutputPlan) -> int:
    """Elements of one store of D: what its alignment allows and its tile or fragments hold."""
    blk_m, blk_n, _ = cfg.tile or (0, 0, 0)
    limit = max(1, (cfg.d.align or 16) // dtype(cfg.d.dtype or "f32").bytes)
    if cfg.epilogue.store != "smem":
        return min(limit, output.vector)
    return gcd(limit, blk_n if cfg.d.major == "n" else blk_m)


def _c_staged(cfg: GemmConfig) -> bool:
    """C takes D's way back when it looks like D and its rows may be read as widely."""
    return (
        cfg.epilogue.store == "smem"
        and (cfg.c.dtype, cfg.c.major) == (cfg.d.dtype, cfg.d.major)
        and (cfg.c.align or 1) >= (cfg.d.align or 16)
    )


def plan(cfg: GemmConfig) -> Plan:
    """Resolve, check and derive.

    Raises:
        ConfigError: With every violation, when the config cannot work.
    """
    return _plan(as_config(cfg))


@lru_cache(maxsize=1024)
def _plan(cfg: GemmConfig) -> Plan:
    violations = check(cfg)
    if violations:
        count = len(violations)
        raise ConfigError(f"this config cannot work ({count} violation{'s' * (count > 1)}):", violations)
    return derive(resolve(cfg))


def derive(cfg: GemmConfig) -> Plan:
    """The plan of a resolved config that nobody has checked.

    For a config that breaks a rule this raises whatever the derivation stumbles over, or gives a plan that
    cannot work; fuzzing shows with it that refused configs are refused for a reason.
    """
    if cfg.mainloop == "tma_wgmma":
        return plan_wgmma(cfg)
    if cfg.mainloop == "collective":
        return plan_collective(cfg, scale_type(cfg))
    atom = mma_atom(cfg.tiled_mma.atom or "")
    output = derive_output(cfg)
    a, b = _operand(cfg, "a"), _operand(cfg, "b")
    layout = cfg.tiled_mma.layout or (1, 1, 1)
    c_limit = max(1, (cfg.c.align or 1) // dtype(cfg.c.dtype or "f32").bytes)
    return KernelPlan(
        config=cfg,
        name=kernel_name(cfg),
        atom=atom,
        threads=atom.threads * layout[0] * layout[1] * layout[2],
        smem_bytes=smem_bytes(cfg),
        smem_alignment=smem_alignment(cfg),
        stage_bytes=stage_bytes(cfg),
        a=a,
        b=b,
        output=output,
        fragment_c=Layout.make((atom.c_values, output.atoms_m, output.atoms_n)),
        scale=scale_type(cfg),
        double_buffer=cfg.fragment_buffers == 2,
        pitch=epilogue_pitch(cfg),
        c_staged=_c_staged(cfg),
        c_vector=min(output.vector, c_limit) if cfg.c.major == cfg.d.major else 1,
        d_vector=_d_vector(cfg, output),
    )
