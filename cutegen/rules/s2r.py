"""Copies from shared memory to registers."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from cutegen.atoms import COPY_S2R, MMA_ATOMS
from cutegen.rules.facts import OperandFacts
from cutegen.rules.registry import Finding, operand_rule
from cutegen.rules.suggest import default_smem, permutation_yaml, smem_yaml
from cutegen.rules.text import either, yaml_list

_LDMATRIX = "PTX ISA, ldmatrix; CUTLASS include/cute/arch/copy_sm75.hpp"
_ROW = 16  # bytes of one row of an 8x8 matrix


def _field(operand: OperandFacts) -> str:
    return f"s2r.{operand.which}"


def _ldsm(matrices: int, transposed: bool) -> str:
    return f"SM75_U16x{2 * matrices}_LDSM_T" if transposed else f"SM75_U32x{matrices}_LDSM_N"


@operand_rule(
    "s2r-atom-known",
    "s2r",
    reason="cutegen knows the thread-value layouts of the copy atoms in its table only.",
    source="CUTLASS include/cute/atom/copy_traits_sm75.hpp",
)
def s2r_atom_known(operand: OperandFacts) -> Iterator[Finding]:
    """The copy atom has a known name."""
    name = getattr(operand.facts.cfg.s2r, operand.which)
    if not operand.facts.uses_smem or name is None or name in COPY_S2R:
        return
    close = difflib.get_close_matches(name, COPY_S2R, 1, 0.5)
    yield Finding(
        field=_field(operand),
        got=name,
        need="must be the name of a known copy atom",
        fix=(f"did you mean {close[0]}? " if close else "") + f"use {_field(operand)}: {either(COPY_S2R)}",
    )


@operand_rule(
    "s2r-warp",
    "s2r",
    reason="ldmatrix spreads rows over the 32 threads of a warp in the pattern of tensor-core fragments; "
    "threads that work alone each need their own elements.",
    source=_LDMATRIX,
)
def s2r_warp(operand: OperandFacts) -> Iterator[Finding]:
    """Ldmatrix feeds tensor cores only."""
    copy, atom = operand.s2r, operand.facts.atom
    if copy is not None and atom is not None and copy.kind == "ldmatrix" and atom.is_simt:
        yield Finding(
            field=_field(operand),
            got=f"{copy.name} with {atom.name}",
            need="ldmatrix needs a tensor-core atom",
            fix=f"use {_field(operand)}: UniversalCopy",
        )


@operand_rule(
    "s2r-element",
    "s2r",
    reason="ldmatrix hands out 4-byte pieces of a row: a 64-bit element would be torn in two.",
    source=_LDMATRIX,
)
def s2r_element(operand: OperandFacts) -> Iterator[Finding]:
    """Elements are no wider than the pieces of ldmatrix."""
    copy = operand.s2r
    if copy is not None and copy.kind == "ldmatrix" and operand.dtype.bits > 32:
        yield Finding(
            field=_field(operand),
            got=f"{copy.name} with {operand.dtype.name}",
            need=f"ldmatrix moves elements of at most 32 bits, {operand.dtype.name} has {operand.dtype.bits}",
            fix=f"use {_field(operand)}: UniversalCopy",
        )


@operand_rule(
    "s2r-transposes-16-bit",
    "s2r",
    reason="ldmatrix.trans transposes 16-bit elements; narrower ones come out in pairs, wider ones in "
    "halves.",
    source=f"{_LDMATRIX}: .trans with .b16",
)
def s2r_transposes_16_bit(operand: OperandFacts) -> Iterator[Finding]:
    """LDSM_T is for 16-bit elements."""
    copy = operand.s2r
    if copy is None or not copy.transposed or operand.dtype.bits == 16 or operand.dtype.bits > 32:
        return
    other = _ldsm(copy.matrices, False) if operand.smem_major == "k" else "UniversalCopy"
    yield Finding(
        field=_field(operand),
        got=f"{copy.name} with {operand.dtype.name}",
        need=f"LDSM_T transposes 16-bit elements only, {operand.dtype.name} has {operand.dtype.bits} bits",
        fix=f"use {_field(operand)}: {other}",
    )


@operand_rule(
    "s2r-major",
    "s2r",
    reason="A row of ldmatrix is 16 contiguous bytes. LDSM_N needs them along K; LDSM_T, which transposes, "
    "along M or N.",
    source=f'{_LDMATRIX}; include/cute/atom/copy_traits.hpp: "failed to vectorize into registers"',
)
def s2r_major(operand: OperandFacts) -> Iterator[Finding]:
    """LDSM_N reads K-major shared memory, LDSM_T MN-major."""
    copy, major = operand.s2r, operand.smem_major
    if copy is None or copy.kind != "ldmatrix" or major is None or operand.dtype.bits > 32:
        return
    if copy.transposed == (major == "mn"):
        return
    if copy.transposed:
        fix = f"use LDSM_N: {_field(operand)}: {_ldsm(copy.matrices, False)}"
    elif operand.dtype.bits == 16:
        fix = f"use LDSM_T: {_field(operand)}: {_ldsm(copy.matrices, True)}"
    else:
        fix = f"use {_field(operand)}: UniversalCopy (LDSM_T transposes 16-bit elements only)"
    yield Finding(
        field=_field(operand),
        got=f"{copy.name} on {operand.letter(major)}-major shared memory",
        need=f"{'LDSM_T' if copy.transposed else 'LDSM_N'} reads rows along "
        f"{operand.mn if copy.transposed else 'K'}",
        fix=fix,
    )


@operand_rule(
    "s2r-values-fill-atom",
    "s2r",
    reason="One ldmatrix fills one register of a thread for each matrix, all of them with this operand's "
    "values of one permuted tile.",
    source='CUTLASS include/cute/atom/copy_atom.hpp: "TiledCopy uses too few vals for selected CopyAtom"',
)
def s2r_values_fill_atom(operand: OperandFacts) -> Iterator[Finding]:
    """A thread's values of one permuted tile fill whole ldmatrix operations."""
    facts, copy, atom = operand.facts, operand.s2r, operand.facts.atom
    perms = (facts.permutation[operand.mode], facts.permutation[2])
    if copy is None or copy.kind != "ldmatrix" or atom is None or atom.is_simt or facts.layout is None:
        return
    if perms[0] is None or perms[1] is None or operand.dtype.bits > 32:
        return
    spans = (atom.shape[operand.mode] * facts.layout[operand.mode], atom.shape[2])
    if any(p.size % s for p, s in zip(perms, spans, strict=True) if p is not None):
        return
    atoms = perms[0].size // spans[0] * (perms[1].size // spans[1])
    held = (atom.a_values if operand.which == "a" else atom.b_values) * operand.dtype.bytes
    registers = atoms * held // 4
    if registers % copy.matrices == 0:
        return
    fitting = [_ldsm(n, copy.transposed) for n in (2, 1) if registers % n == 0 and n < copy.matrices]
    fixes = [f"{_field(operand)}: {either(fitting)}"] if fitting else []
    wider = _wider_atom(operand)
    if wider:
        fixes.append(f"tiled_mma.atom: {wider} with {permutation_yaml(facts, 2, MMA_ATOMS[wider].shape[2])}")
    extent = perms[0].size * copy.matrices // registers
    if facts.tile is not None and facts.tile[operand.mode] % extent == 0:
        fixes.append(permutation_yaml(facts, operand.mode, extent))
    yield Finding(
        field=_field(operand),
        got=f"{copy.name}, {atoms * held} bytes/thread of {operand.name} = {registers} regs",
        need=f"{operand.name} must fill the atom's {copy.matrices} registers ({4 * copy.matrices} "
        "bytes/thread)",
        fix=f"use {either(fixes)}",
    )


def _wider_atom(operand: OperandFacts) -> str | None:
    """An atom of the same types and M, N whose K is larger, when the tile holds it."""
    facts, atom = operand.facts, operand.facts.atom
    if atom is None or facts.tile is None:
        return None
    for other in MMA_ATOMS.values():
        same = (other.a, other.b, other.acc, other.shape[:2]) == (atom.a, atom.b, atom.acc, atom.shape[:2])
        if same and other.shape[2] > atom.shape[2] and other.min_cc <= facts.arch.cc:
            return other.name if facts.tile[2] % other.shape[2] == 0 else None
    return None


@operand_rule(
    "swizzle-keeps-rows",
    "s2r",
    reason="A swizzle moves pieces of 2^M elements. ldmatrix reads rows of 16 bytes: smaller pieces would "
    "tear them.",
    source="CUTLASS include/cute/swizzle.hpp: the M least significant bits stay; PTX ISA, ldmatrix: rows "
    "of 16 bytes",
)
def swizzle_keeps_rows(operand: OperandFacts) -> Iterator[Finding]:
    """The swizzle moves pieces at least as wide as a row of ldmatrix."""
    copy, swizzle, size = operand.s2r, operand.swizzle, operand.dtype.bytes
    if copy is None or copy.kind != "ldmatrix" or swizzle is None or swizzle.b == 0:
        return
    if (size << swizzle.m) >= _ROW:
        return
    m = (_ROW // size).bit_length() - 1
    yield Finding(
        field=f"smem.{operand.which}.swizzle",
        got=f"{swizzle} with {operand.dtype.name} (2^{swizzle.m} elements are {size << swizzle.m} bytes)",
        need=f"2^M elements must span at least {_ROW} bytes, a row of ldmatrix",
        fix=f"use smem.{operand.which}.swizzle: {yaml_list((swizzle.b, m, swizzle.s))}, or "
        f"{_field(operand)}: UniversalCopy and copies of at most {size << swizzle.m} bytes",
    )


@operand_rule(
    "s2r-row-contiguous",
    "s2r",
    reason="Each row of ldmatrix is 16 contiguous bytes at a multiple of 16.",
    source=f"{_LDMATRIX}: rows of 16 bytes, naturally aligned",
)
def s2r_row_contiguous(operand: OperandFacts) -> Iterator[Finding]:
    """Rows of 16 bytes are contiguous and aligned in shared memory."""
    copy, offsets, smem, major = operand.s2r, operand.offsets, operand.smem, operand.smem_major
    if copy is None or copy.kind != "ldmatrix" or offsets is None or smem is None or major is None:
        return
    row = _ROW // operand.dtype.bytes
    if operand.dtype.bits > 32 or copy.transposed != (major == "mn"):
        return
    along, across = (offsets.k, offsets.mn) if major == "k" else (offsets.mn, offsets.k)
    whole = len(along) % row == 0 and all(
        along[i] % row == 0 and along[i + j] == along[i] + j
        for i in range(0, len(along), row)
        for j in range(1, row)
    )
    if whole and all(o % row == 0 for o in across):
        return
    step = 0 if major == "k" else 1
    fixes = []
    if whole:
        stride = list(smem.stride)
        stride[step] = -(-stride[step] // row) * row
        fixes.append(f"smem.{operand.which}.stride: {yaml_list(stride)}")
    elif (default := default_smem(operand)) is not None:
        fixes.append(f"smem.{operand.which}: {smem_yaml(default)}")
    fixes.append(f"{_field(operand)}: UniversalCopy")
    yield Finding(
        field=_field(operand),
        got=f"{copy.name} on {yaml_list(smem.shape)}:{yaml_list(smem.stride)}",
        need=f"rows of {row} elements must be contiguous and {_ROW}-byte aligned",
        fix=f"use {either(fixes)}",
    )
