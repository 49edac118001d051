"""What the template of ``collective`` sees."""

from __future__ import annotations

from typing import Any

from cutegen.config import Operand, Output
from cutegen.dtypes import dtype
from cutegen.loader import dump
from cutegen.plan_collective import CollectivePlan
from cutegen.vectors import VectorName, formula, vectors_of
from cutegen.version import __version__

__all__ = ["collective_context"]

_HEADERS = (
    "cute/tensor.hpp",
    "cutlass/cutlass.h",
    "cutlass/epilogue/collective/collective_builder.hpp",
    "cutlass/gemm/collective/collective_builder.hpp",
    "cutlass/gemm/dispatch_policy.hpp",
    "cutlass/gemm/kernel/gemm_universal.hpp",
)
_ARCH_TAGS = {"sm_90a": "Sm90", "sm_100a": "Sm100", "sm_120a": "Sm120"}
_SCHEDULES = {"warp_specialized": "", "pingpong": "Pingpong", "cooperative": "Cooperative"}
_SCHEDULERS = {
    "persistent": "PersistentScheduler",
    "stream_k": "StreamKScheduler",
    "static": "PersistentScheduler",
}
_KINDS = {"tensor": "OneForAll", "row": "OneForEachRow", "column": "OneForEachColumn"}
_NODES: dict[VectorName, str] = {"scale_a": "ScaleA", "scale_b": "ScaleB", "bias": "Bias"}
_ROW_MAJOR = {"a": "k", "b": "n", "c": "n", "d": "n"}  # the major that CUTLASS calls row-major


def _matrix(name: str, operand: Operand | Output) -> dict[str, Any]:
    element = dtype(operand.dtype or "f32")
    row_major = operand.major == _ROW_MAJOR[name]
    modes = {"a": "M,K", "b": "N,K"}.get(name, "M,N")
    return {
        "name": name.upper(),
        "element": element.cxx,
        "layout": "RowMajor" if row_major else "ColumnMajor",
        "comment": f"({modes}), {(operand.major or '').upper()}-major",
        "align": max(1, (operand.align or 16) // element.bytes),
    }


def _kernel_schedule(plan: CollectivePlan) -> str:
    cfg = plan.config
    if cfg.schedule is None:
        return "collective::KernelScheduleAuto"
    fast = "FP8FastAccum" if cfg.fast_accumulation else ""
    return f"KernelTmaWarpSpecialized{_SCHEDULES[cfg.schedule]}{fast}"


def _epilogue_schedule(plan: CollectivePlan) -> str:
    cfg = plan.config
    if cfg.epilogue.store == "direct":
        return "NoSmemWarpSpecialized"
    if cfg.schedule is None:
        return "collective::EpilogueScheduleAuto"
    return "TmaWarpSpecializedCooperative" if cfg.schedule == "cooperative" else "TmaWarpSpecialized"


def _step(name: str, variable: str, operation: str, left: tuple[str, str], right: tuple[str, str]) -> Any:
    return {
        "name": name,
        "variable": variable,
        "operation": operation,
        "left": left[0],
        "left_variable": left[1],
        "right": right[0],
        "right_variable": right[1],
    }


def _steps(given: dict[VectorName, str]) -> list[dict[str, Any]]:
    """How inputs are put together, the factors of whole rows first, as in the other mainloops."""
    last, steps = ("Alpha", "alpha"), []

    def add(name: str, variable: str, operation: str, right: tuple[str, str]) -> None:
        nonlocal last
        steps.append(_step(name, variable, operation, last, right))
        last = (name, variable)

    factors: list[VectorName] = [name for name in ("scale_a", "scale_b") if given.get(name) == "tensor"]
    if given.get("scale_a") == "row":
        factors.append("scale_a")
    for name in factors:
        add(last[0] + name[-1].upper(), f"{last[1]}_{name[-1]}", "Times", (_NODES[name], name))
    add("Product", "product", "Times", ("fusion::Sm90AccFetch", "{}"))
    if given.get("scale_b") == "column":
        add("ProductB", "product_b", "Times", ("ScaleB", "scale_b"))
    if "bias" in given:
        add("Biased", "biased", "Plus", ("Bias", "bias"))
    return steps


def _rounds(plan: CollectivePlan) -> bool:
    """Whether D's integers must be rounded before CUTLASS converts them."""
    return plan.scale == "f64" and plan.config.d.dtype == "s32"


def _tree(plan: CollectivePlan) -> dict[str, Any] | None:
    """The nodes of an epilogue that CUTLASS has not by itself; None where its own is right."""
    cfg = plan.config
    vectors = vectors_of(cfg)
    if not vectors and (cfg.epilogue.store == "direct" or not _rounds(plan)):
        return None
    steps = _steps({vector.name: vector.kind for vector in vectors})
    return {
        "leaves": [
            {
                "name": _NODES[vector.name],
                "variable": vector.name,
                "kind": _KINDS[vector.kind],
                "element": vector.element.cxx,
            }
            for vector in vectors
        ],
        "steps": steps,
        "last": steps[-1],
        "rounds": _rounds(plan),
        "own_registers": cfg.accumulator != plan.scale,
    }


def collective_context(plan: CollectivePlan) -> dict[str, Any]:
    """Every variable that the template uses."""
    cfg = plan.config
    blk_m, blk_n, blk_k = plan.tile
    kind = cfg.scheduler.kind or "persistent"
    tree = _tree(plan)
    return {
        "title": f"{plan.name}: {formula(cfg)}",
        "version": __version__,
        "style": "resolved",
        "config_lines": dump(cfg).rstrip().splitlines(),
        "headers": _HEADERS,
        "vectors": vectors_of(cfg),
        "tree": tree,
        "combination": tree is None and _rounds(plan),
        "name": plan.name,
        "kernel": f"{plan.name}_kernel",
        "arch_tag": _ARCH_TAGS[plan.arch],
        "matrices": [_matrix(name, getattr(cfg, name)) for name in "abcd"],
        "accumulator": dtype(cfg.accumulator or "f32").cxx,
        "scale": dtype(plan.scale).cxx,
        "blk_m": blk_m,
        "blk_n": blk_n,
        "blk_k": blk_k,
        "cluster_m": plan.cluster[0],
        "cluster_n": plan.cluster[1],
        "stages": cfg.stages,
        "kernel_schedule": _kernel_schedule(plan),
        "epilogue_schedule": _epilogue_schedule(plan),
        "tile_scheduler": _SCHEDULERS[kind],
        "ordered": kind != "static",
        "stream_k": kind == "stream_k",
        "raster_along_m": cfg.scheduler.raster == "m",
        "raster_group": cfg.scheduler.group,
        "smem_bytes": plan.smem_bytes,
        "threads": plan.threads,
    }
