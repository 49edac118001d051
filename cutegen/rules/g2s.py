"""Copies from global to shared memory."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from cutegen.arch import ARCHS
from cutegen.atoms import COPY_G2S
from cutegen.config import LayoutSpec
from cutegen.layout.partition import consists_of_runs
from cutegen.rules.facts import OperandFacts, flat
from cutegen.rules.registry import Finding, operand_rule
from cutegen.rules.suggest import copy_yaml, default_copy, layout_yaml, other_shapes, tile_yaml
from cutegen.rules.text import either, multiples, yaml_list

_MAKE_TILED_COPY = "CUTLASS include/cute/atom/copy_atom.hpp, make_tiled_copy"
_CP_ASYNC = "PTX ISA, cp.async; CUTLASS include/cute/arch/copy_sm80.hpp"


@operand_rule(
    "g2s-atom-known",
    "g2s",
    reason="cutegen knows the widths and rules of the copy atoms in its table only.",
    source=_CP_ASYNC,
)
def g2s_atom_known(operand: OperandFacts) -> Iterator[Finding]:
    """The copy atom has a known name."""
    name = operand.copy.atom
    if not operand.facts.uses_smem or name is None or name in COPY_G2S:
        return
    close = difflib.get_close_matches(name, COPY_G2S, 1, 0.5)
    able = [a.name for a in COPY_G2S.values() if a.min_cc <= operand.facts.arch.cc]
    yield Finding(
        field=f"g2s.{operand.which}.atom",
        got=name,
        need="must be the name of a known copy atom",
        fix=(f"did you mean {close[0]}? " if close else "") + f"use g2s.{operand.which}.atom: {either(able)}",
    )


@operand_rule(
    "g2s-atom-arch",
    "g2s",
    reason="cp.async exists from sm_80 on; before, the header leaves the copy out, which nvcc compiles "
    "without a word.",
    source=_CP_ASYNC,
)
def g2s_atom_arch(operand: OperandFacts) -> Iterator[Finding]:
    """The architecture has the copy's instruction."""
    atom, facts = operand.copy_atom, operand.facts
    if atom is None or atom.min_cc <= facts.arch.cc:
        return
    able = next(a.name for a in ARCHS.values() if a.cc >= atom.min_cc)
    yield Finding(
        field=f"g2s.{operand.which}.atom",
        got=f"{atom.name} on {facts.cfg.arch}",
        need=f"cp.async needs sm_{atom.min_cc} or later",
        fix=f"use g2s.{operand.which}.atom: UniversalCopy or arch: {able}",
    )


@operand_rule(
    "g2s-width",
    "g2s",
    reason="cp.async.cg moves 16 bytes, cp.async.ca 4, 8 or 16, and a plain copy what one load can take.",
    source=f'{_CP_ASYNC}: "cp.async sizeof(TS) is not supported"',
)
def g2s_width(operand: OperandFacts) -> Iterator[Finding]:
    """The atom can move this many bytes."""
    atom, bits = operand.copy_atom, operand.copy.bits
    if not operand.facts.uses_smem or bits is None or bits < 1 or bits in operand.widths:
        return
    most = 8 * (operand.config.align or 16)
    field, element = f"g2s.{operand.which}", operand.dtype.bits
    widths = [w for w in operand.widths if w % element == 0 and w <= most]
    others = [
        a.name
        for a in COPY_G2S.values()
        if bits in a.bits and bits % element == 0 and bits <= most and a.min_cc <= operand.facts.arch.cc
    ]
    fixes = [f"{field}.bits: {w}" for w in widths] + [f"{field}.atom: {name}" for name in others]
    yield Finding(
        field=f"{field}.bits",
        got=f"{bits} ({bits / 8:g} B)" + (f" with {atom.name}" if atom else ""),
        need=f"{atom.name if atom else 'a copy'} moves {either(f'{w // 8} B' for w in operand.widths[::-1])} "
        "only",
        fix=f"use {either(fixes)}" if fixes else f"leave {field} out",
    )


@operand_rule(
    "g2s-element",
    "g2s",
    reason="A copy moves whole elements; a part of one cannot be placed in a (MN, K) tile.",
    source=_MAKE_TILED_COPY,
)
def g2s_element(operand: OperandFacts) -> Iterator[Finding]:
    """The copy's width is a multiple of the element's."""
    bits, atom = operand.copy.bits, operand.copy_atom
    if not operand.facts.uses_smem or bits is None or bits < 1 or bits % operand.dtype.bits == 0:
        return
    if bits not in operand.widths:
        return  # no width that the atom has: said already
    most = 8 * (operand.config.align or 16)
    widths = [w for w in operand.widths if w % operand.dtype.bits == 0 and w <= most]
    fixes = [f"g2s.{operand.which}.bits: {w}" for w in widths]
    if atom is not None and not fixes:
        fixes = [f"g2s.{operand.which}: {{atom: UniversalCopy, bits: {operand.dtype.bits}}}"]
    yield Finding(
        field=f"g2s.{operand.which}.bits",
        got=str(bits),
        need=f"must be a multiple of the {operand.dtype.bits} bits of {operand.dtype.name}",
        fix=f"use {either(fixes)}",
    )


@operand_rule(
    "g2s-align",
    "g2s",
    reason="A copy's addresses must be multiples of its width; the config promises no more than `align`.",
    source="PTX ISA, cp.async and ld: the address must be naturally aligned",
)
def g2s_align(operand: OperandFacts) -> Iterator[Finding]:
    """The operand's alignment carries the copy's width."""
    atom, bits, align = operand.copy_atom, operand.copy.bits, operand.config.align or 16
    if atom is None or bits is None or bits not in atom.bits or bits <= 8 * align:
        return
    fixes = [f"{operand.which}.align: {bits // 8}"]
    if default_copy(operand) is not None:
        narrower = next(
            (a.name for a in COPY_G2S.values() if 8 * align in a.bits and a.min_cc <= operand.facts.arch.cc),
            "UniversalCopy",
        )
        fixes.append(f"g2s.{operand.which}.atom: {narrower} with g2s.{operand.which}.bits: {8 * align}")
    yield Finding(
        field=f"g2s.{operand.which}.bits",
        got=f"{bits} ({bits // 8} B)",
        need=f"must be at most the {align} B to which {operand.which} is aligned",
        fix=f"use {either(fixes)}",
    )


@operand_rule(
    "g2s-bijection",
    "g2s",
    reason="Each thread index, and each value index, must stand for one place; otherwise some elements are "
    "copied twice and some never.",
    source=f"{_MAKE_TILED_COPY}: right_inverse of the raked product",
)
def g2s_bijection(operand: OperandFacts) -> Iterator[Finding]:
    """Thread and value layouts are bijections."""
    for name, layout in (("threads", operand.threads), ("values", operand.values)):
        if layout is not None and not layout.is_compact:
            extents = flat(layout.shape)
            stride = (extents[1], 1) if operand.major != "mn" else (1, extents[0])
            yield Finding(
                field=f"g2s.{operand.which}.{name}",
                got=str(layout),
                need=f"must be a bijection onto [0, {layout.size})",
                fix=f"use g2s.{operand.which}.{name}: {{shape: {yaml_list(extents)}, stride: "
                f"{yaml_list(stride)}}}",
            )


@operand_rule(
    "g2s-threads",
    "g2s",
    reason="All threads of the CTA take part in the copy, and no other: with fewer, threads without a "
    "share would write past the tile; with more, a part of the tile is never loaded.",
    source="CUTLASS examples/cute/tutorial/sgemm_sm80.cu: size(copy_a) == size(mma)",
)
def g2s_threads(operand: OperandFacts) -> Iterator[Finding]:
    """The copy has as many threads as the TiledMMA."""
    layout, threads = operand.threads, operand.facts.threads
    if layout is None or threads is None or layout.size == threads:
        return
    keep = {k: v for k, v in (("atom", operand.copy.atom), ("bits", operand.copy.bits)) if v is not None}
    fitting = default_copy(operand, **keep) or default_copy(operand)
    fix = f"leave g2s.{operand.which} out"
    if fitting is not None and fitting.threads is not None and fitting.values is not None:
        fix = f"use g2s.{operand.which}: {copy_yaml(fitting)}"
    yield Finding(
        field=f"g2s.{operand.which}.threads",
        got=f"{yaml_list(flat(layout.shape))}, {layout.size} threads",
        need=f"must have the {threads} threads of the TiledMMA",
        fix=fix,
    )


@operand_rule(
    "g2s-tile-divides",
    "g2s",
    reason="The copy covers threads x values elements and is repeated over the tile; what is left over "
    "would be written past the tile, which nvcc compiles without a word. Several rounds are fine.",
    source="CUTLASS include/cute/atom/copy_atom.hpp, TiledCopy::tidfrg_S/D (zipped_divide)",
)
def g2s_tile_divides(operand: OperandFacts) -> Iterator[Finding]:
    """Threads x values divide the tile."""
    threads, values, extents = operand.threads, operand.values, operand.extents
    if threads is None or values is None or extents is None:
        return
    across, own = flat(threads.shape), flat(values.shape)
    piece = [t * v for t, v in zip(across, own, strict=True)]
    for mode, letter in ((0, operand.mn), (1, "K")):
        if extents[mode] % piece[mode] == 0:
            continue
        keep = {k: v for k, v in (("atom", operand.copy.atom), ("bits", operand.copy.bits)) if v is not None}
        fitting = default_copy(operand, **keep) or default_copy(operand)
        fixes = []
        if fitting is not None and fitting.threads is not None and fitting.values is not None:
            fixes.append(f"g2s.{operand.which}: {copy_yaml(fitting)}")
        extent = multiples(extents[mode], piece[mode])[-1]
        fixes.append(tile_yaml(operand.facts, 2 if mode else operand.mode, extent))
        yield Finding(
            field=f"g2s.{operand.which}.threads",
            got=f"{across[mode]} threads x {own[mode]} values = {piece[mode]} along {letter}",
            need=f"threads x values along {letter} must divide BLK_{letter} {extents[mode]}",
            fix=f"use {either(fixes)}",
        )


def _value_fix(operand: OperandFacts, vector: int) -> str:
    """Values of one vector along the contiguous mode, with threads that tile the operand."""
    values = (1, vector) if operand.major == "k" else (vector, 1)
    spec = LayoutSpec(shape=values)
    keep = {"atom": operand.copy.atom, "bits": operand.copy.bits, "values": spec}
    extents, threads = operand.extents, operand.threads
    if extents is not None and threads is not None:
        piece = [t * v for t, v in zip(flat(threads.shape), values, strict=True)]
        if all(e % p == 0 for e, p in zip(extents, piece, strict=True)):
            return f"g2s.{operand.which}.values: {layout_yaml(spec)}"
    fitting = default_copy(operand, **{k: v for k, v in keep.items() if v is not None})
    if fitting is not None and fitting.threads is not None:
        return (
            f"g2s.{operand.which}.values: {layout_yaml(spec)} with g2s.{operand.which}.threads: "
            f"{layout_yaml(fitting.threads)}"
        )
    return f"g2s.{operand.which}.values: {layout_yaml(spec)}"


@operand_rule(
    "g2s-values-fill",
    "g2s",
    reason="One copy instruction takes all of its bytes from one thread's values.",
    source='CUTLASS include/cute/atom/copy_atom.hpp: "TiledCopy uses too few vals for selected CopyAtom"',
)
def g2s_values_fill(operand: OperandFacts) -> Iterator[Finding]:
    """The value layout holds whole copies."""
    values, vector = operand.values, operand.vector
    if values is None or vector is None or values.size % vector == 0:
        return
    size, bytes_ = operand.dtype.bytes, (operand.copy.bits or 0) // 8
    yield Finding(
        field=f"g2s.{operand.which}.values",
        got=yaml_list(flat(values.shape)),
        need=f"val layout gives {values.size}*{size} = {values.size * size} B, atom moves {bytes_} B",
        fix=f"use {_value_fix(operand, vector)}",
    )


@operand_rule(
    "g2s-vector-contiguous",
    "g2s",
    reason="One load takes neighbouring bytes of global memory: the values of one copy must follow one "
    "another along the operand's contiguous mode.",
    source=f"{_MAKE_TILED_COPY}; include/cute/atom/copy_traits_sm80.hpp: "
    '"src layout doesn\'t vectorize into registers"',
)
def g2s_vector_contiguous(operand: OperandFacts) -> Iterator[Finding]:
    """The values of one copy run along the contiguous mode of global memory."""
    values, vector, major = operand.values, operand.vector, operand.major
    if values is None or vector is None or vector == 1 or major is None or not values.is_compact:
        return
    mode = 1 if major == "k" else 0
    shape, stride = flat(values.shape), flat(values.stride)[mode]
    extent, other = shape[mode], shape[1 - mode]
    whole = extent % vector == 0 and (stride == 1 or extent == 1)
    if whole or (values.size % vector and extent > 1):
        return  # too few values: said already
    contiguous = operand.letter(major)
    wrong = operand.letter("mn" if major == "k" else "k")
    across = other > 1 and (extent == 1 or stride != 1)
    runs = f"runs along {wrong}" if across else f"takes {extent} of {vector} elements along {contiguous}"
    yield Finding(
        field=f"g2s.{operand.which}.values",
        got=f"values {values}" + (f", vector along {wrong}" if across else ""),
        need=f"G2S vector {runs}, contiguous mode is {contiguous}",
        fix=f"use {_value_fix(operand, vector)}",
    )


@operand_rule(
    "g2s-vector-whole",
    "g2s",
    reason="One copy writes neighbouring bytes of shared memory, at an address that is a multiple of its "
    "width.",
    source="PTX ISA, cp.async and st.shared: the address must be naturally aligned",
)
def g2s_vector_whole(operand: OperandFacts) -> Iterator[Finding]:
    """The values of one copy are contiguous and aligned in shared memory."""
    offsets, vector, major, smem = operand.offsets, operand.vector, operand.major, operand.smem
    if offsets is None or vector is None or vector == 1 or major is None or smem is None:
        return
    along, across = (offsets.k, offsets.mn) if major == "k" else (offsets.mn, offsets.k)
    if len(along) % vector:
        return  # said by g2s-tile-divides or g2s-vector-contiguous
    runs = consists_of_runs(along, vector)
    if runs and all(o % vector == 0 for o in (*along[::vector], *across)):
        return
    contiguous, size = operand.letter(major), operand.dtype.bytes
    fixes = []
    if operand.smem_major != major and operand.smem_major is not None:
        other = operand.letter(operand.smem_major)
        need = f"the vector runs along {contiguous}, shared memory is contiguous along {other}"
        compact = (smem.shape[1], 1) if major == "k" else (1, smem.shape[0])
        if smem.shape[1 if major == "k" else 0] % vector == 0:
            fixes.append(f"smem.{operand.which}.stride: {yaml_list(compact)}")
    else:
        need = (
            f"vectors of {vector} elements must be contiguous and {vector * size} B aligned in shared memory"
        )
        mode = 0 if major == "k" else 1
        stride = list(smem.stride)
        stride[mode] = -(-stride[mode] // vector) * vector
        if runs:
            fixes.append(f"smem.{operand.which}.stride: {yaml_list(stride)}")
    narrower = default_copy(operand)
    if narrower is not None:
        fixes.append(f"g2s.{operand.which}: {copy_yaml(narrower)}")
    yield Finding(
        field=f"smem.{operand.which}.stride",
        got=f"{yaml_list(smem.shape)}:{yaml_list(smem.stride)} with {operand.copy.bits}-bit copies",
        need=need,
        fix=f"use {either(fixes)}" if fixes else f"leave smem.{operand.which} out",
    )


@operand_rule(
    "swizzle-keeps-vectors",
    "g2s",
    reason="A swizzle moves pieces of 2^M elements; a copy that is wider would be torn into pieces.",
    source="CUTLASS include/cute/swizzle.hpp: the M least significant bits stay",
)
def swizzle_keeps_vectors(operand: OperandFacts) -> Iterator[Finding]:
    """The swizzle moves pieces at least as wide as a copy."""
    swizzle, vector = operand.swizzle, operand.vector
    if swizzle is None or vector is None or swizzle.b == 0 or (1 << swizzle.m) >= vector:
        return
    m, bits = (vector - 1).bit_length(), (1 << swizzle.m) * operand.dtype.bits
    copy = f"g2s.{operand.which}.bits: {bits}"
    if operand.copy_atom is not None and bits not in operand.copy_atom.bits:
        cc = operand.facts.arch.cc
        able = [a.name for a in COPY_G2S.values() if bits in a.bits and a.min_cc <= cc]
        copy = f"g2s.{operand.which}.atom: {able[0]} with {copy}" if able else ""
    ways = [
        f"smem.{operand.which}.swizzle: {yaml_list((swizzle.b, m, swizzle.s))}",
        *([copy] if copy else []),
    ]
    yield Finding(
        field=f"smem.{operand.which}.swizzle",
        got=f"{swizzle} (2^{swizzle.m} elements are {(1 << swizzle.m) * operand.dtype.bytes} B)",
        need=f"2^M elements must span at least {vector * operand.dtype.bytes} bytes, one copy",
        fix=f"use {either(ways)}",
    )


@operand_rule(
    "g2s-tiles-operand",
    "g2s",
    reason="Each thread copies the same number of equal vectors: the tile must split into them for the "
    "threads of the CTA.",
    source=_MAKE_TILED_COPY,
)
def g2s_tiles_operand(operand: OperandFacts) -> Iterator[Finding]:
    """Some copy splits the tile evenly among the threads."""
    copy, facts, extents = operand.copy, operand.facts, operand.extents
    if not facts.uses_smem or None not in (copy.atom, copy.bits, copy.threads, copy.values):
        return
    if operand.smem is None or extents is None or facts.threads is None:
        return
    if operand.blamed() or facts.blamed("tile", "tiled_mma"):
        return
    fixes = other_shapes(facts.given)
    stated = getattr(facts.given.g2s, operand.which)
    given = [name for name in type(stated).model_fields if getattr(stated, name) is not None]
    if given and default_copy(operand) is not None:
        fixes.insert(0, f"other copies (leave g2s.{operand.which} out)")
    limits = f" with the given {either(given)}" if given else ""
    yield Finding(
        field=f"g2s.{operand.which}",
        got=f"{operand.mn} x K = {extents[0]} x {extents[1]} of {operand.dtype.name} for {facts.threads} "
        f"threads{limits}",
        need="the tile must split evenly into equal vectors for all threads",
        fix=f"use {either(fixes)}" if fixes else "use a larger tile or fewer warps",
    )
