"""Element types, majors, MMA atom, arch and mainloop against each other."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from cutegen.arch import ARCHS
from cutegen.atoms import MMA_ATOMS, MmaAtom
from cutegen.config import GemmConfig, LayoutSpec
from cutegen.dtypes import dtype
from cutegen.resolve.mma import fitting_atoms
from cutegen.rules.facts import Facts, OperandFacts
from cutegen.rules.registry import Finding, operand_rule, rule
from cutegen.rules.suggest import layout_yaml, smem_yaml
from cutegen.rules.text import either

_PTX_MMA = (
    "PTX ISA, mma: table of shapes and types; CUTLASS include/cute/arch/mma_sm75.hpp, mma_sm80.hpp, "
    "mma_sm89.hpp"
)
_MOST_LISTED = 4


@operand_rule(
    "operand-major",
    "types",
    reason="A is (M,K) and B is (N,K): only a mode that the operand has can have stride 1.",
    source="the problem's definition, D(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n)",
)
def operand_major(operand: OperandFacts) -> Iterator[Finding]:
    """A is k- or m-major, B is k- or n-major."""
    if operand.major is None:
        own = operand.mn.lower()
        yield Finding(
            field=f"{operand.which}.major",
            got=str(operand.config.major),
            need=f"{operand.name} is ({operand.mn},K): its major mode must be {own} or k",
            fix=f"use {operand.which}.major: {own} or {operand.which}.major: k",
        )


@rule(
    "align-element",
    "types",
    reason="A GPU loads an element only from an address that is a multiple of its size.",
    source="CUDA C++ Programming Guide, Device Memory Accesses: size and alignment requirement",
)
def align_element(facts: Facts) -> Iterator[Finding]:
    """The promised alignment covers whole elements."""
    cfg = facts.cfg
    for name, operand in (("a", cfg.a), ("b", cfg.b), ("c", cfg.c), ("d", cfg.d)):
        if operand.dtype is None or operand.align is None:
            continue
        size = dtype(operand.dtype).bytes
        if operand.align % size:
            yield Finding(
                field=f"{name}.align",
                got=f"{operand.align} bytes for {operand.dtype}",
                need=f"alignment must be a multiple of the element's {size} bytes",
                fix=f"use {name}.align: {either(a for a in (1, 2, 4, 8, 16) if a % size == 0)}",
            )


def _changes(cfg: GemmConfig, atom: MmaAtom) -> dict[str, str]:
    """The fields that would have to change for an atom to fit, with their new values."""
    changes: dict[str, str] = {}
    if atom.acc != cfg.accumulator:
        changes["accumulator"] = atom.acc
    if atom.is_simt != (cfg.mainloop == "simt"):
        changes["mainloop"] = "simt" if atom.is_simt else "multistage"
    if atom.min_cc > ARCHS[cfg.arch].cc:
        changes["arch"] = next(a.name for a in ARCHS.values() if a.cc >= atom.min_cc)
    if atom.b != cfg.b.dtype:
        changes["b.dtype"] = atom.b
    if atom.a != cfg.a.dtype:
        changes["a.dtype"] = atom.a
    return changes


_COST = {"accumulator": 2, "mainloop": 3, "arch": 3, "b.dtype": 4, "a.dtype": 4}


@rule(
    "atom-exists",
    "types",
    reason="Tensor cores multiply certain pairs of types into certain accumulators, each from some "
    "architecture on; CUDA cores (mainloop simt) multiply f32, f64, and f16 into f32.",
    source=_PTX_MMA,
)
def atom_exists(facts: Facts) -> Iterator[Finding]:
    """Some MMA operation has these types, on this arch, for this mainloop."""
    cfg = facts.cfg
    if cfg.tiled_mma.atom is not None:
        return
    ways = sorted(
        (_changes(cfg, atom) for atom in MMA_ATOMS.values()), key=lambda c: sum(_COST[f] for f in c)
    )
    least = sum(_COST[f] for f in ways[0])
    best = [w for w in ways if sum(_COST[f] for f in w) == least][:_MOST_LISTED]
    texts = [" with ".join(f"{field}: {value}" for field, value in way.items()) for way in best]
    yield Finding(
        field=next(iter(best[0])),
        got=f"{cfg.a.dtype} x {cfg.b.dtype} -> {cfg.accumulator}, mainloop {cfg.mainloop}, {cfg.arch}",
        need="an MMA operation must exist for operand types, accumulator, mainloop and arch",
        fix=f"use {either(texts)}",
    )


def _fitting(facts: Facts) -> list[str]:
    return [atom.name for atom in fitting_atoms(facts.cfg)]


@rule(
    "atom-known",
    "types",
    reason="cutegen knows the thread-value layouts of the atoms in its table only.",
    source="CUTLASS include/cute/atom/mma_traits_sm75.hpp, mma_traits_sm80.hpp, mma_traits_sm89.hpp",
)
def atom_known(facts: Facts) -> Iterator[Finding]:
    """The MMA atom has a known name."""
    name = facts.cfg.tiled_mma.atom
    if name is None or name in MMA_ATOMS:
        return
    fitting = _fitting(facts)
    close = difflib.get_close_matches(name, fitting, 1, 0.6) or difflib.get_close_matches(
        name, MMA_ATOMS, 1, 0.8
    )
    parts = [f"did you mean {close[0]}?"] if close else []
    parts.append(f"use tiled_mma.atom: {either(fitting)}" if fitting else "leave tiled_mma.atom out")
    yield Finding(
        field="tiled_mma.atom", got=name, need="must be the name of a known MMA atom", fix=" ".join(parts)
    )


@rule(
    "atom-mainloop",
    "types",
    reason="The simt mainloop gives each thread a rectangle of multiply-adds; the others feed the "
    "fragments of a warp-wide tensor-core operation.",
    source="CUTLASS include/cute/arch/mma.hpp (UniversalFMA is one thread), include/cute/arch/mma_sm80.hpp "
    "(32 threads)",
)
def atom_mainloop(facts: Facts) -> Iterator[Finding]:
    """CUDA-core atoms go with simt, tensor-core atoms with the other mainloops."""
    atom, cfg = facts.atom, facts.cfg
    if atom is None or atom.is_simt == (cfg.mainloop == "simt"):
        return
    other = "simt" if atom.is_simt else "multistage"
    fitting = _fitting(facts)
    yield Finding(
        field="tiled_mma.atom",
        got=f"{atom.name} with mainloop {cfg.mainloop}",
        need=f"{'a CUDA-core' if cfg.mainloop == 'simt' else 'a tensor-core'} atom",
        fix=f"use {either([f'mainloop: {other}', *(f'tiled_mma.atom: {a}' for a in fitting[:1])])}",
    )


@rule(
    "atom-types",
    "types",
    reason="An MMA instruction reads registers as the types that it is defined for; anything else is "
    "misread bits.",
    source=_PTX_MMA,
)
def atom_types(facts: Facts) -> Iterator[Finding]:
    """Operands and accumulator have the atom's types."""
    atom, cfg = facts.atom, facts.cfg
    if atom is None:
        return
    fitting = _fitting(facts)
    for field, has, wants in (
        ("a.dtype", cfg.a.dtype, atom.a),
        ("b.dtype", cfg.b.dtype, atom.b),
        ("accumulator", cfg.accumulator, atom.acc),
    ):
        if has != wants:
            yield Finding(
                field=field,
                got=str(has),
                need=f"{atom.name} needs {wants}",
                fix=f"use {either([f'{field}: {wants}', *(f'tiled_mma.atom: {a}' for a in fitting[:1])])}",
            )


@rule(
    "atom-arch",
    "types",
    reason="Older GPUs do not have the instruction; the header turns it into a trap, which nvcc compiles "
    "without a word.",
    source=_PTX_MMA + " (CUTE_INVALID_CONTROL_PATH)",
)
def atom_arch(facts: Facts) -> Iterator[Finding]:
    """The architecture has the atom's instruction."""
    atom = facts.atom
    if atom is None or atom.min_cc <= facts.arch.cc:
        return
    able = [a.name for a in ARCHS.values() if a.cc >= atom.min_cc]
    fitting = _fitting(facts)
    yield Finding(
        field="tiled_mma.atom",
        got=f"{atom.name} on {facts.cfg.arch}",
        need=f"the atom needs sm_{atom.min_cc} or later",
        fix=f"use {either([f'arch: {able[0]}', *(f'tiled_mma.atom: {a}' for a in fitting[:1])])}",
    )


@rule(
    "direct-has-no-smem",
    "types",
    reason="The direct mainloop loads fragments straight from global memory: it has no ring buffer, no "
    "shared-memory layout and no copies whose fields could be honoured.",
    source="the mainloop's definition, templates/parts/mainloop_direct.cu",
)
def direct_has_no_smem(facts: Facts) -> Iterator[Finding]:
    """A direct mainloop leaves the fields of shared memory out."""
    if facts.uses_smem:
        return
    given = facts.given
    stated: dict[str, str] = {}
    for which in ("a", "b"):
        smem, copy, read = getattr(given.smem, which), getattr(given.g2s, which), getattr(given.s2r, which)
        if smem is not None:
            stated[f"smem.{which}"] = smem_yaml(smem)
        for name in type(copy).model_fields:
            value = getattr(copy, name)
            if value is not None:
                written = layout_yaml(value) if isinstance(value, LayoutSpec) else str(value)
                stated[f"g2s.{which}.{name}"] = written
        if read is not None:
            stated[f"s2r.{which}"] = read
    if given.stages not in (None, 1):
        stated["stages"] = str(given.stages)
    for field, got in stated.items():
        yield Finding(
            field=field,
            got=got,
            need="the direct mainloop has no shared memory for A and B",
            fix=f"leave {field} out, or use mainloop: multistage",
        )
