"""Each thread's share as a CuTe layout: what only deriving the partitions shows.

The facts come from :mod:`cutegen.operands`, which derives everything that the kernel will do; here
stand their reasons. They are asked last, for operands with which no other rule finds fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cutegen.config import LayoutSpec
from cutegen.errors import Violation
from cutegen.layout.algebra import product
from cutegen.rules.facts import Facts
from cutegen.rules.registry import Finding, rule
from cutegen.rules.suggest import default_smem, smem_yaml
from cutegen.rules.text import yaml_list

__all__ = ["derived_faults"]

_THRFRG = "CUTLASS include/cute/atom/mma_atom.hpp, TiledMMA::thrfrg_A/B/C"

_DERIVED: dict[str, tuple[str, str]] = {
    "permutation-keeps-atom": (
        "An MMA atom reads its elements at fixed distances from the thread's first one; a permutation that "
        "tears them apart differently for different threads has no CuTe layout.",
        _THRFRG,
    ),
    "smem-atom-keeps-partition": (
        "A thread reaches its elements by adding a step to its start; a layout atom that ends in the "
        "middle of a run makes the step depend on the thread.",
        "CUTLASS include/cute/layout.hpp, composition: shapes and strides must divide one another",
    ),
    "partition-is-layout": (
        "What a thread does is written into the kernel as a CuTe layout; an order of places that no shape "
        "and stride describe cannot be written.",
        "CUTLASS media/docs/cpp/cute/02_layout_algebra.md, composition",
    ),
}


def derived_faults(facts: Facts) -> Iterator[Violation]:
    """What cannot be derived, with ways out that fit this config."""
    for fault in facts.faults:
        yield replace(fault, fix=" or ".join(_ways_out(facts, fault)) or fault.fix)


def _ways_out(facts: Facts, fault: Violation) -> list[str]:
    """Rows are whole for the rules before: a permutation tears them, or a layout atom ends inside a step."""
    ways = []
    entries = facts.cfg.tiled_mma.permutation or ()
    if any(isinstance(entry, LayoutSpec) for entry in entries):
        if fault.rule == "s2r-row-contiguous":
            ways.append(f"use {fault.field}: UniversalCopy")
        sizes = [entry if isinstance(entry, int) else product(entry.shape) for entry in entries]
        ways.append(f"use tiled_mma.permutation: {yaml_list(sizes)}")
    operand = next((o for o in facts.operands if f".{o.which}" in fault.field), None)
    if operand is not None:
        default = default_smem(operand)
        if default is not None and default != operand.smem:
            ways.append(f"use smem.{operand.which}: {smem_yaml(default)}")
    return ways


def _derived(id: str) -> None:
    reason, source = _DERIVED[id]

    @rule(id, "partition", reason=reason, source=source)
    def find(facts: Facts) -> Iterator[Finding]:
        for fault in derived_faults(facts):
            if fault.rule == id:
                yield Finding(field=fault.field, got=fault.got, need=fault.need, fix=fault.fix)


for _id in _DERIVED:
    _derived(_id)


@rule(
    "field-resolved",
    "partition",
    reason="A kernel cannot be written while one of its values is open.",
    source="cutegen.resolve",
)
def field_resolved(facts: Facts) -> Iterator[Finding]:
    """Every field that the kernel needs has a value, if no other rule says why it has none."""
    if facts.found:
        return
    cfg = facts.cfg
    needed: dict[str, object] = {
        "tiled_mma.atom": cfg.tiled_mma.atom,
        "tile": cfg.tile,
        "tiled_mma.layout": cfg.tiled_mma.layout,
        "tiled_mma.permutation": cfg.tiled_mma.permutation,
        "stages": cfg.stages,
        "min_blocks": cfg.min_blocks,
        "fragment_buffers": cfg.fragment_buffers,
        "epilogue.store": cfg.epilogue.store,
        "scheduler.group": cfg.scheduler.group,
    }
    if facts.uses_smem:
        for operand in facts.operands:
            copy, which = operand.copy, operand.which
            needed[f"smem.{which}"] = operand.smem
            needed[f"g2s.{which}"] = None not in (copy.atom, copy.bits, copy.threads, copy.values) or None
            needed[f"s2r.{which}"] = operand.s2r
    for field, value in needed.items():
        if value is None:
            yield Finding(
                field=field,
                got="auto",
                need="no value could be chosen for this field",
                fix=f"give {field} a value, or leave the fields around it out",
            )
