"""What rules know of a config: the resolved values, each None while it is not well-formed.

A rule that needs a value which is None yields nothing: another rule says what is wrong with the value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Literal

from cutegen.arch import Arch, arch
from cutegen.atoms import COPY_G2S, COPY_S2R, MMA_ATOMS, CopyAtomG2S, CopyAtomS2R, MmaAtom
from cutegen.config import CopyG2S, GemmConfig, LayoutSpec, Operand, SmemLayout
from cutegen.dtypes import DType, dtype
from cutegen.errors import Violation
from cutegen.layout.algebra import IntTuple, Layout
from cutegen.layout.partition import TileOffsets, atom_is_ordered, tile_offsets
from cutegen.layout.swizzle import Swizzle
from cutegen.operands import PlanFault, derive_direct, derive_g2s, derive_output, derive_s2r
from cutegen.operands.swap import product
from cutegen.resolve.bounds import EXTENT_LIMIT, rank_is_sane, swizzle_is_sane
from cutegen.resolve.smem import smem_major
from cutegen.resources import swizzle_of

__all__ = ["Facts", "OperandFacts", "flat"]

Which = Literal["a", "b"]
Mode = Literal["k", "mn"]


def flat(value: IntTuple) -> tuple[int, ...]:
    """Shape or stride of a layout that is not nested, as a config's are."""
    return (value,) if isinstance(value, int) else tuple(v for v in value if isinstance(v, int))


def _in_range(values: tuple[int, ...], low: int = 1) -> bool:
    return all(low <= v <= EXTENT_LIMIT for v in values)


def _layout(spec: LayoutSpec | None, modes: int | None) -> Layout | None:
    if spec is None or not rank_is_sane(spec, modes) or not _in_range(spec.shape):
        return None
    if spec.stride is not None and not _in_range(spec.stride, 0):
        return None
    return Layout.make(spec.shape, spec.stride)


def _entry(entry: int | LayoutSpec | None) -> Layout | None:
    return _layout(LayoutSpec(shape=(entry,)) if isinstance(entry, int) else entry, None)


class OperandFacts:
    """What rules know of A or B."""

    def __init__(self, facts: Facts, which: Which) -> None:
        self.facts = facts
        self.which = which
        self.mode: Literal[0, 1] = 0 if which == "a" else 1
        self.name = which.upper()
        self.mn = "M" if which == "a" else "N"

    @property
    def config(self) -> Operand:
        """The operand in global memory."""
        return self.facts.cfg.operand(self.which)

    @property
    def dtype(self) -> DType:
        """Its element type."""
        return dtype(self.config.dtype)

    @property
    def major(self) -> Mode | None:
        """The mode that is contiguous in global memory."""
        if self.config.major == "k":
            return "k"
        return "mn" if self.config.major == self.mn.lower() else None

    def letter(self, mode: Mode) -> str:
        """M, N or K."""
        return "K" if mode == "k" else self.mn

    @property
    def extents(self) -> tuple[int, int] | None:
        """(MN, K) extents of the CTA tile."""
        tile = self.facts.tile
        return None if tile is None else (tile[self.mode], tile[2])

    @property
    def smem(self) -> SmemLayout | None:
        """The layout atom, when its integers can be extents and strides, and shared memory is used."""
        layout: SmemLayout | None = getattr(self.facts.cfg.smem, self.which)
        if layout is None or not self.facts.uses_smem or not swizzle_is_sane(layout):
            return None
        return layout if _in_range(layout.shape) and _in_range(layout.stride, 0) else None

    @property
    def swizzle(self) -> Swizzle | None:
        """The swizzle of the layout atom."""
        return None if self.smem is None else swizzle_of(self.smem.swizzle)

    @property
    def smem_major(self) -> Mode | None:
        """The mode that is contiguous in shared memory."""
        return None if self.smem is None else smem_major(self.smem)

    @cached_property
    def offsets(self) -> TileOffsets | None:
        """Offsets of the tile in shared memory, when the layout atom tiles it and could fit."""
        smem, extents = self.smem, self.extents
        if smem is None or extents is None or not atom_is_ordered(smem.shape, smem.stride):
            return None
        if any(t % s for t, s in zip(extents, smem.shape, strict=True)):
            return None
        if extents[0] * extents[1] * self.dtype.bytes > self.facts.arch.smem_per_block:
            return None
        return tile_offsets(smem.shape, smem.stride, extents)

    @property
    def role(self) -> Which:
        """What it is in the product that warpgroups compute: the other one with ``swap_ab``."""
        other: Which = "b" if self.which == "a" else "a"
        return other if self.facts.cfg.swap_ab else self.which

    @property
    def copy(self) -> CopyG2S:
        """The copy from global to shared memory as the config says it."""
        copy: CopyG2S = getattr(self.facts.cfg.g2s, self.which)
        return copy

    @property
    def copy_atom(self) -> CopyAtomG2S | None:
        """Its atom, when known and used."""
        return COPY_G2S.get(self.copy.atom or "") if self.facts.uses_smem else None

    @property
    def vector(self) -> int | None:
        """Elements of one copy, when a whole number that some copy can move."""
        bits = self.copy.bits
        if not self.facts.uses_smem or bits is None or bits not in self.widths or bits % self.dtype.bits:
            return None
        return bits // self.dtype.bits

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths in bits that the copy's atom, or any atom while there is none, can move."""
        known = [self.copy_atom] if self.copy_atom is not None else list(COPY_G2S.values())
        return tuple(sorted({bits for atom in known for bits in atom.bits}, reverse=True))

    @property
    def threads(self) -> Layout | None:
        """(MN, K) to thread of the copy."""
        return _layout(self.copy.threads, 2) if self.facts.uses_smem else None

    @property
    def values(self) -> Layout | None:
        """(MN, K) to value of the copy."""
        return _layout(self.copy.values, 2) if self.facts.uses_smem else None

    @property
    def s2r(self) -> CopyAtomS2R | None:
        """The copy atom from shared memory to registers, when known and used."""
        return COPY_S2R.get(getattr(self.facts.cfg.s2r, self.which) or "") if self.facts.uses_smem else None

    def blamed(self) -> bool:
        """Whether a rule already found fault with this operand."""
        fields = [f"{part}.{self.which}" for part in ("smem", "g2s", "s2r")] + [self.which]
        return any(v.field == f or v.field.startswith(f"{f}.") for v in self.facts.found for f in fields)


class Facts:
    """What rules know of a config.

    Args:
        given: The config as the user wrote it.
        resolved: The same with every ``auto`` filled where that was possible.
    """

    def __init__(self, given: GemmConfig, resolved: GemmConfig) -> None:
        self.given = given
        self.cfg = resolved
        self.found: list[Violation] = []
        self.a = OperandFacts(self, "a")
        self.b = OperandFacts(self, "b")
        self.operands = (self.a, self.b)

    @property
    def arch(self) -> Arch:
        """The architecture."""
        return arch(self.cfg.arch)

    @property
    def uses_smem(self) -> bool:
        """Whether the mainloop goes through shared memory."""
        return self.cfg.mainloop != "direct"

    @property
    def atom(self) -> MmaAtom | None:
        """The MMA atom, when there is one of that name."""
        return MMA_ATOMS.get(self.cfg.tiled_mma.atom or "")

    @property
    def tile(self) -> tuple[int, int, int] | None:
        """The CTA tile."""
        tile = self.cfg.tile
        return tile if tile is not None and _in_range(tile) else None

    @cached_property
    def product(self) -> GemmConfig:
        """What the warpgroups of ``tma_wgmma`` compute."""
        return product(self.cfg)

    @property
    def wgmma_modes(self) -> tuple[str, str]:
        """The modes that lie along wgmma's M and N."""
        return ("N", "M") if self.cfg.swap_ab else ("M", "N")

    def unswapped(self, extents: tuple[int, int, int]) -> tuple[int, int, int]:
        """Extents of the product's modes, as the config says them."""
        m, n, k = extents
        return (n, m, k) if self.cfg.swap_ab else extents

    @property
    def layout(self) -> tuple[int, int, int] | None:
        """Atoms side by side along M, N and K."""
        layout = self.cfg.tiled_mma.layout
        return layout if layout is not None and _in_range(layout) else None

    @property
    def threads(self) -> int | None:
        """Threads of one CTA."""
        if self.atom is None or self.layout is None:
            return None
        m, n, k = self.layout
        return self.atom.threads * m * n * k

    @cached_property
    def permutation(self) -> tuple[Layout | None, Layout | None, Layout | None]:
        """The permutation of each mode, where it is a layout with positive extents."""
        m, n, k = self.cfg.tiled_mma.permutation or (None, None, None)
        return (_entry(m), _entry(n), _entry(k))

    def blamed(self, *fields: str) -> bool:
        """Whether a rule already found fault with one of these fields, or with a part of them."""
        return any(v.field == f or v.field.startswith(f"{f}.") for v in self.found for f in fields)

    @cached_property
    def faults(self) -> list[Violation]:
        """What cannot be derived from a config that all earlier rules accept; ask only after them."""
        if self.blamed("tile", "tiled_mma", "accumulator", "mainloop", "arch"):
            return []
        if None in (self.atom, self.tile, self.layout, *self.permutation):
            return []
        derive: list[Callable[[], object]] = [partial(derive_output, self.cfg)]
        for operand in self.operands:
            if operand.blamed() or (self.uses_smem and operand.offsets is None):
                continue
            steps = (derive_g2s, derive_s2r) if self.uses_smem else (derive_direct,)
            derive += [partial(step, self.cfg, operand.which) for step in steps]
        faults: list[Violation] = []
        for step in derive:
            try:
                step()
            except PlanFault as fault:
                if fault.violation not in faults:
                    faults.append(fault.violation)
        return faults
