"""What the page's pictures are drawn from: the plan's layouts, as few numbers as will do.

A map is a list of numbers, written as the layout that gives them, ``{"shape": [8, 4], "stride": [1, 16]}``,
or as they are, ``{"table": [...]}``, where no layout does. The page evaluates it as CuTe does, and derives
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutegen.dtypes import DTypeName, dtype
from cutegen.layout.algebra import Layout, fit
from cutegen.layout.partition import tile_offsets
from cutegen.operands import operand_coords
from cutegen.operands.model import Which
from cutegen.pictures.tile import product_operand
from cutegen.plan import KernelPlan, OperandPlan, Plan, WgmmaPlan
from cutegen.resources import operand_stage_bytes, swizzle_of
from cutegen.wgmma_atoms import A_REGISTERS

__all__ = ["kernel_data"]


def kernel_data(plan: Plan) -> dict[str, Any] | None:
    """The tensors of a kernel, JSON-ready; None where only CUTLASS knows them."""
    if not isinstance(plan, (KernelPlan, WgmmaPlan)):
        return None
    tensors: dict[str, Any] = {}
    for which in _OPERANDS:
        found = _kernel_operand(plan, which) if isinstance(plan, KernelPlan) else _bulk_operand(plan, which)
        tensors[which] = {**_tensor(plan, which), **found}
    tensors["d"] = {**_tensor(plan, "d"), "smem": None, "copied": None, "held": _accumulators(plan)}
    ring = isinstance(plan, WgmmaPlan) or plan.config.mainloop != "direct"
    return {
        "mainloop": plan.config.mainloop,
        "threads": plan.output.thread_m.size,
        "who": "consumer thread" if isinstance(plan, WgmmaPlan) else "thread",
        "alone": not (isinstance(plan, WgmmaPlan) and plan.groups.pingpong),
        "stages": (plan.config.stages or 1) if ring else 0,
        "tensors": tensors,
    }


_OPERANDS: tuple[Which, ...] = ("a", "b")


def _map(table: Sequence[int]) -> dict[str, Any]:
    layout = fit(table)
    return {"table": list(table)} if layout is None else _layout(layout)


def _layout(layout: Layout) -> dict[str, Any]:
    return {"shape": [s for s, _ in layout.modes], "stride": [d for _, d in layout.modes]}


def _tensor(plan: KernelPlan | WgmmaPlan, name: str) -> dict[str, Any]:
    """Extents and type of A, B or the output tile."""
    m, n, k = plan.tile
    modes, extents = {"a": ("mk", (m, k)), "b": ("nk", (n, k)), "d": ("mn", (m, n))}[name]
    kind = plan.config.d.dtype if name == "d" else plan.config.operand("a" if name == "a" else "b").dtype
    return {"modes": list(modes), "extents": list(extents), "type": kind, "bytes": dtype(kind or "f32").bytes}


def _held(
    threads: tuple[dict[str, Any], dict[str, Any]],
    values: tuple[dict[str, Any], dict[str, Any]],
    block: int,
    kind: DTypeName,
) -> dict[str, Any]:
    """Thread and value to coordinates; a k-block has ``block`` values of ``bits`` bits."""
    return {"thread": list(threads), "value": list(values), "block": block, "bits": dtype(kind).bits}


def _accumulators(plan: KernelPlan | WgmmaPlan) -> dict[str, Any]:
    output = plan.output
    return _held(
        (_layout(output.thread_m), _layout(output.thread_n)),
        (_layout(output.register_m), _layout(output.register_n)),
        output.registers,
        plan.config.accumulator or "f32",
    )


def _kernel_operand(plan: KernelPlan, which: Which) -> dict[str, Any]:
    operand: OperandPlan = plan.a if which == "a" else plan.b
    coords = operand_coords(plan.config, which)
    kind = plan.config.operand(which).dtype
    return {
        "smem": _smem(plan, operand) if operand.read is not None else None,
        "copied": _copied(plan, operand) if operand.copy.view is not None else None,
        "held": _held(
            (_map(coords.threads(0)), _map(coords.threads(1))),
            (_map(coords.steps(0)), _map(coords.steps(1))),
            operand.fragments.size,
            kind or "f32",
        ),
    }


def _smem(plan: KernelPlan, operand: OperandPlan) -> dict[str, Any] | None:
    """Byte of an element: ``base + stage * pitch + unit * swizzle(mn(i) + k(j))``."""
    cfg, which = plan.config, operand.which
    layout = cfg.smem.a if which == "a" else cfg.smem.b
    if layout is None or layout.shape is None or layout.stride is None:
        return None
    offsets = tile_offsets(layout.shape, layout.stride, (plan.tile[0 if which == "a" else 1], plan.tile[2]))
    swizzle = swizzle_of(layout.swizzle)
    return {
        "mn": _map(offsets.mn),
        "k": _map(offsets.k),
        "swizzle": [swizzle.b, swizzle.m, swizzle.s],
        "unit": dtype(cfg.operand(which).dtype).bytes,
        "base": operand.smem_offset,
        "pitch": plan.stage_bytes,
        "bytes": operand_stage_bytes(cfg, which),
    }


def _copied(plan: KernelPlan, operand: OperandPlan) -> dict[str, Any]:
    """Thread and step to the coordinates of a vector's first element; it runs along mode ``along``."""
    copy = operand.copy
    return {
        "thread": [_layout(copy.thread_mn), _layout(copy.thread_k)],
        "step": [_layout(copy.step_mn), _layout(copy.step_k)],
        "vector": copy.vector,
        "along": 1 if plan.config.operand(operand.which).major == "k" else 0,
    }


def _bulk_operand(plan: WgmmaPlan, which: Which) -> dict[str, Any]:
    """An operand that bulk copies write, panel by panel; threads hold it if wgmma cannot read it there."""
    operand = product_operand(plan, which)
    size = operand.map.bytes
    m, n, k = plan.tile
    extents = (m if which == "a" else n, k)
    along, across = (extents[1], extents[0]) if operand.k_major else extents
    inner = [
        i // operand.panel_inner * operand.panel_bytes + i % operand.panel_inner * size for i in range(along)
    ]
    outer = [i * operand.row_bytes for i in range(across)]
    mn, by_k = (outer, inner) if operand.k_major else (inner, outer)
    base = plan.shared.a if operand is plan.a else plan.shared.b
    return {
        "smem": {
            "mn": _map(mn),
            "k": _map(by_k),
            "swizzle": [{128: 3, 64: 2, 32: 1}.get(operand.row_bytes, 0), 4, 3],
            "unit": 1,
            "base": base,
            "pitch": operand.stage_bytes,
            "bytes": operand.stage_bytes,
        },
        "copied": None,
        "held": _registers(plan) if operand.registers is not None else None,
    }


def _registers(plan: WgmmaPlan) -> dict[str, Any] | None:
    at = plan.held_a
    if at is None:
        return None
    return _held(
        (_layout(at.thread_m), _layout(at.thread_k)),
        (_layout(at.value_m), _layout(at.value_k)),
        A_REGISTERS * plan.groups.atoms_m,
        plan.product.a.dtype or "tf32",
    )
