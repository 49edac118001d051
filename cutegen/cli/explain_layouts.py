"""``cutegen explain``: partitions as CuTe prints them, swizzles bit by bit, instructions of a k-tile."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cutegen.cli.console import table

if TYPE_CHECKING:
    from cutegen.plan import KernelPlan

__all__ = ["instructions", "instructions_text", "partition_facts", "partition_lines", "swizzle_rows"]


def instructions(plan: KernelPlan) -> dict[str, int]:
    """What a warp issues for one k-tile: MMAs, and copies of its threads from global and shared memory."""
    m, n, k = plan.tile
    warps_m, warps_n, _ = plan.config.tiled_mma.layout or (1, 1, 1)
    atom_m, atom_n, atom_k = plan.atom.shape
    found = {
        "mma": m // (atom_m * warps_m) * (n // (atom_n * warps_n)) * (k // atom_k),
        "from_global": plan.a.copy.steps + plan.b.copy.steps,
    }
    reads = [(operand.read, operand.fragments.k_blocks) for operand in (plan.a, plan.b)]
    if plan.config.mainloop != "direct":
        found["from_shared"] = sum(read.copies * blocks for read, blocks in reads if read is not None)
    return found


def instructions_text(plan: KernelPlan) -> str:
    """The same in words."""
    found = instructions(plan)
    name = "FMA" if plan.atom.is_simt else "MMA"
    words = [f"{found['mma']} {name}s", f"{found['from_global']} copies from global memory"]
    per = ""
    if found.get("from_shared"):
        words.append(f"{found['from_shared']} reads of shared memory")
        per = f"; {found['mma'] / found['from_shared']:.3g} {name}s for each read"
    return f"{', '.join(words)} of a warp for a k-tile{per}"


def swizzle_rows(plan: KernelPlan) -> list[list[str]]:
    """Which bits of an element's offset each swizzle changes."""
    from cutegen.resources import swizzle_of

    rows = []
    for which in ("a", "b"):
        layout = getattr(plan.config.smem, which)
        if plan.config.mainloop == "direct" or layout is None:
            continue
        swizzle = swizzle_of(layout.swizzle)
        text = "none"
        if swizzle.b:
            bits = (f"bit {swizzle.m + i} ^= bit {swizzle.m + swizzle.s + i}" for i in range(swizzle.b))
            text = f"{swizzle.cxx()} of the offset in elements: {', '.join(bits)}"
        rows.append([f"swizzle {which.upper()}", text])
    return rows


def partition_facts(plan: KernelPlan, k: int | None) -> list[dict[str, str]]:
    """The tensors of thread 0, JSON-ready."""
    from cutegen.partitions import partitions

    return [asdict(found) for found in partitions(plan, k)]


def partition_lines(found: list[dict[str, Any]]) -> list[str]:
    """The same for people."""
    rows = []
    for p in found:
        same = "" if p["merged"] == p["layout"] else f"  = {p['merged']}"
        rows.append([p["name"], f"{p['layout']}{same}"])
    return [" tensors of thread 0, as CuTe prints them", *table(rows, indent=1)]
