"""Shared-memory layouts and swizzles."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

from cutegen.config import SmemLayout
from cutegen.layout.partition import atom_is_ordered, fills_gaps, gap_places
from cutegen.resolve.bounds import SWIZZLE_BITS, swizzle_is_sane
from cutegen.rules.facts import OperandFacts, flat
from cutegen.rules.registry import Finding, operand_rule
from cutegen.rules.suggest import default_smem, smem_yaml, tile_yaml
from cutegen.rules.text import either, multiples, swizzle_text, yaml_list

_SWIZZLE = "CUTLASS include/cute/swizzle.hpp"
_TILE_TO_SHAPE = "CUTLASS include/cute/layout.hpp, tile_to_shape"


def _stated(operand: OperandFacts) -> SmemLayout | None:
    layout: SmemLayout | None = getattr(operand.facts.cfg.smem, operand.which)
    return layout if operand.facts.uses_smem else None


@operand_rule(
    "swizzle-bits",
    "smem",
    reason="A swizzle xors B bits of an offset into others: counts of bits are not negative, and offsets "
    "in shared memory have fewer than 20 of them.",
    source=f'{_SWIZZLE}: "BBits must be positive", "MBase must be positive"',
)
def swizzle_bits(operand: OperandFacts) -> Iterator[Finding]:
    """B and M are not negative, and the bits exist."""
    layout = _stated(operand)
    if layout is None or layout.swizzle == "none" or swizzle_is_sane(layout):
        return
    b, m, s = layout.swizzle
    vector = max(0, (16 // operand.dtype.bytes).bit_length() - 1)
    need = "B and M must be >= 0" if min(b, m) < 0 else f"B + M + abs(S) must be at most {SWIZZLE_BITS}"
    yield Finding(
        field=f"smem.{operand.which}.swizzle",
        got=yaml_list((b, m, s)),
        need=need,
        fix=f"use smem.{operand.which}.swizzle: {yaml_list((2, vector, 3))} or none",
    )


@operand_rule(
    "swizzle-shift",
    "smem",
    reason="The bits that are read and those that are changed must not overlap, or two offsets become one. "
    "S may be negative, which reads the lower bits and changes the higher ones.",
    source=f'{_SWIZZLE}: "abs(SShift) must be more than BBits." (it asserts >=)',
)
def swizzle_shift(operand: OperandFacts) -> Iterator[Finding]:
    """The shift is at least as long as the swizzled bits."""
    layout = _stated(operand)
    if layout is None or layout.swizzle == "none":
        return
    b, m, s = layout.swizzle
    if abs(s) < b:
        yield Finding(
            field=f"smem.{operand.which}.swizzle",
            got=swizzle_text(layout.swizzle),
            need="abs(S) must be >= B",
            fix=f"use {swizzle_text((b, m, b))}, smem.{operand.which}.swizzle: {yaml_list((b, m, b))}",
        )


@operand_rule(
    "smem-injective",
    "smem",
    reason="Two coordinates that share an offset overwrite each other. CuTe repeats a layout atom only "
    "when its larger stride steps over the whole other mode.",
    source='CUTLASS include/cute/layout.hpp, complement: "Non-injective Layout detected in complement."',
)
def smem_injective(operand: OperandFacts) -> Iterator[Finding]:
    """No two coordinates of the layout atom share an offset."""
    smem = operand.smem
    if smem is None or atom_is_ordered(smem.shape, smem.stride):
        return
    k_major = operand.major != "mn"
    stride = (smem.shape[1], 1) if k_major else (1, smem.shape[0])
    yield Finding(
        field=f"smem.{operand.which}.stride",
        got=f"{yaml_list(smem.shape)}:{yaml_list(smem.stride)}",
        need="no two coordinates may share an offset: the larger stride must be at least the other mode's "
        "extent times its stride",
        fix=f"use smem.{operand.which}.stride: {yaml_list(stride)}",
    )


@operand_rule(
    "smem-atom-divides",
    "smem",
    reason="The layout atom is repeated over the operand's tile; a part of an atom has no layout.",
    source=f'{_TILE_TO_SHAPE}: "block shape does not divide the target shape"',
)
def smem_atom_divides(operand: OperandFacts) -> Iterator[Finding]:
    """The layout atom divides the tile."""
    smem, extents, facts = operand.smem, operand.extents, operand.facts
    if smem is None or extents is None:
        return
    for mode, letter in ((0, operand.mn), (1, "K")):
        extent = smem.shape[mode]
        if extents[mode] % extent == 0:
            continue
        fixes = []
        default = default_smem(operand)
        if default is not None:
            swizzle = "" if default.swizzle == "none" else f"+{swizzle_text(default.swizzle)}"
            fixes.append(f"({default.shape[0]},{default.shape[1]}){swizzle}")
        index = 2 if mode else operand.mode
        span = facts.atom.shape[index] * (facts.layout or (1, 1, 1))[index] if facts.atom else 1
        pieces = [extent, span]  # what else must divide the tile: permutation, copy
        if (permutation := facts.permutation[index]) is not None:
            pieces.append(permutation.size)
        if operand.threads is not None and operand.values is not None:
            pieces.append(flat(operand.threads.shape)[mode] * flat(operand.values.shape)[mode])
        larger = multiples(extents[mode], lcm(*pieces))[-1]
        fixes.append(f"B{letter}={larger}")
        written = [f"smem.{operand.which}: {smem_yaml(default)}"] if default is not None else []
        written.append(tile_yaml(facts, index, larger))
        yield Finding(
            field=f"smem.{operand.which}.shape",
            got=yaml_list(smem.shape),
            need=f"smem atom {letter} {extent} does not divide B{letter} {extents[mode]}",
            fix=f"use {either(fixes)}: {either(written)}",
        )


@operand_rule(
    "smem-gap-tiles",
    "smem",
    reason="A layout atom with gaps as long as itself gets other atoms put into its gaps, as tile_to_shape "
    "does it; when they neither fill the gaps evenly nor all fit in, the last ones overlap others.",
    source=f"{_TILE_TO_SHAPE}: composition of the atom's complement with the repetitions",
)
def smem_gap_tiles(operand: OperandFacts) -> Iterator[Finding]:
    """Atoms that are put into the gaps of another divide evenly."""
    smem, extents = operand.smem, operand.extents
    if smem is None or extents is None or not atom_is_ordered(smem.shape, smem.stride):
        return
    if any(e % s for e, s in zip(extents, smem.shape, strict=True)):
        return
    gaps = gap_places(smem.shape, smem.stride)
    if not fills_gaps(smem.shape, smem.stride, extents):
        run = 1 if smem.stride[1] < smem.stride[0] else 0
        row, pad = smem.shape[run], max(1, 16 // operand.dtype.bytes)
        stride = [1, 1]
        stride[1 - run] = row + (pad if pad < row else 0)
        reps = [e // s for e, s in zip(extents, smem.shape, strict=True)]
        yield Finding(
            field=f"smem.{operand.which}.stride",
            got=f"{yaml_list(smem.stride)} with gaps for {' x '.join(str(g) for g in gaps)} atoms",
            need=f"the {reps[0]} x {reps[1]} atoms of the tile must fill the gaps evenly",
            fix=f"use smem.{operand.which}.stride: {yaml_list(stride)}, whose gap no atom fits in",
        )
