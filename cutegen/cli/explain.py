"""``cutegen explain``: the resolved config, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.common import Outcome, attempt, conclude, configs_argument, json_option, planned, read_config
from cutegen.cli.console import bytes_text, dim, table
from cutegen.cli.explain_collective import collective_facts, collective_rows
from cutegen.cli.explain_layouts import (
    instructions,
    instructions_text,
    partition_facts,
    partition_lines,
    swizzle_rows,
)
from cutegen.cli.explain_shape import Shape, workload_rows
from cutegen.cli.explain_wgmma import wgmma_facts, wgmma_rows
from cutegen.cli.warn import access_lines, warning_lines, warnings_of

if TYPE_CHECKING:
    from cutegen.loader import LoadedConfig
    from cutegen.plan import KernelPlan, OperandPlan, Plan

__all__ = ["command", "fact_rows", "facts"]

_NOTE_COLUMN = 72


@click.command(name="explain")
@configs_argument
@click.option("--shape", type=Shape(), help="Say what the kernels make of this problem.")
@json_option
def command(configs: tuple[str, ...], shape: tuple[int, int, int] | None, as_json: bool) -> int:
    """Show configs with every 'auto' filled in, and what follows from them.

    What is printed is a config again; the comments tell which fields were filled in. With --shape, also how
    many tiles and waves a problem has, and what limits it on a data-center card of the architecture.
    """
    return conclude([attempt(path, partial(_explain, shape=shape)) for path in configs], as_json=as_json)


def _explain(outcome: Outcome, shape: tuple[int, int, int] | None) -> None:
    from cutegen.loader import to_data
    from cutegen.plan import KernelPlan

    loaded = read_config(outcome.config)
    plan = planned(loaded)
    data = to_data(plan.config)
    outcome.result = {
        "name": plan.name,
        "resolved": data,
        "auto": [".".join(p) for p in _leaves(data, ()) if not loaded.given(".".join(p))],
        "facts": facts(plan),
        "warnings": warnings_of(loaded),
        "partitions": [],
        "workload": None,
    }
    outcome.lines = [
        *_config_lines(loaded, data),
        *_fact_lines(plan),
        *access_lines(plan),
        *(dim(f"#{line}") for line in warning_lines(outcome.result["warnings"])),
    ]
    if isinstance(plan, KernelPlan):
        outcome.result["partitions"] = partition_facts(plan, shape[2] if shape else None)
        outcome.lines += ["#", *(dim(f"#{line}") for line in partition_lines(outcome.result["partitions"]))]
    if shape is not None:
        outcome.result["workload"], lines = _workload(plan, shape)
        outcome.lines += ["#", *(dim(f"#{line}") for line in lines)]


def _workload(plan: Plan, shape: tuple[int, int, int]) -> tuple[dict[str, Any] | None, list[str]]:
    from cutegen.workload import workload

    found = workload(plan, *shape)
    if found is None:
        return None, [f" no card of {plan.arch} is known here, so --shape says nothing"]
    return found.to_dict(), list(table(workload_rows(found), indent=1))


def _config_lines(loaded: LoadedConfig, data: dict[str, Any]) -> Iterator[str]:
    from cutegen.yamlwrite import block

    lines = list(block(data))
    column = min(_NOTE_COLUMN, max(len(line) for line, _ in lines) + 2)
    yield dim(f"# {loaded.document.name}")
    for line, path in lines:
        note = "" if line.endswith(":") else _note(loaded, data, path)
        yield f"{line:<{column - 1}} {dim(f'# {note}')}" if note else line


def _note(loaded: LoadedConfig, data: dict[str, Any], path: tuple[str, ...]) -> str:
    """``auto`` when the file gives nothing of a line, or which of its fields are auto."""
    value: Any = data
    for part in path:
        value = value[part]
    leaves = list(_leaves(value, path)) if isinstance(value, dict) else [path]
    auto = [leaf for leaf in leaves if not loaded.given(".".join(leaf))]
    if not auto:
        return ""
    if len(auto) == len(leaves):
        return "auto"
    return "auto: " + ", ".join(".".join(leaf[len(path) :]) for leaf in auto)


def _leaves(data: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key)


def facts(plan: Plan) -> dict[str, Any]:
    """What follows from a config, JSON-ready."""
    from cutegen.plan import CollectivePlan, WgmmaPlan

    if isinstance(plan, CollectivePlan):
        return collective_facts(plan)
    return wgmma_facts(plan) if isinstance(plan, WgmmaPlan) else _facts(plan)


def _facts(plan: KernelPlan) -> dict[str, Any]:
    from cutegen.arch import arch
    from cutegen.lint import accesses
    from cutegen.occupancy import occupancy
    from cutegen.resources import accumulator_registers

    cfg, limits = plan.config, arch(plan.arch)
    room = occupancy(limits, threads=plan.threads, registers=1, smem=plan.smem_bytes)
    blocks = cfg.min_blocks or 1
    budget = min(limits.max_registers_per_thread, limits.registers_per_sm // (blocks * plan.threads))
    return {
        "threads": plan.threads,
        "warps": -(-plan.threads // 32),
        "k_blocks": plan.a.fragments.k_blocks,
        "instructions": instructions(plan),
        "stage_bytes": plan.stage_bytes,
        "smem_bytes": plan.smem_bytes,
        "smem_limit": limits.smem_per_block,
        "accumulator_registers": accumulator_registers(cfg),
        "fragment_registers": _fragment_registers(plan),
        "register_budget": budget // 8 * 8 if budget < limits.max_registers_per_thread else budget,
        "min_blocks_per_sm": blocks,
        "max_blocks_per_sm": room.ctas,
        "double_buffered_fragments": plan.double_buffer,
        "copies": {which: _copies(plan, getattr(plan, which)) for which in ("a", "b")},
        "c_load_bytes": plan.c_vector * _bytes(cfg.c.dtype),
        "d_store_bytes": plan.d_vector * _bytes(cfg.d.dtype),
        "accesses": [access.to_dict() for access in accesses(plan)],
    }


def _fragment_registers(plan: KernelPlan) -> int:
    """32-bit registers of the fragments that are live at a time."""
    buffers = 2 if plan.double_buffer else 1
    sizes = (
        operand.fragments.size * _bytes(plan.config.operand(operand.which).dtype)
        for operand in (plan.a, plan.b)
    )
    return buffers * sum(-(-size // 4) for size in sizes)


def _bytes(name: Any) -> int:
    from cutegen.dtypes import dtype

    return dtype(name or "f32").bytes


def _copies(plan: KernelPlan, operand: OperandPlan) -> dict[str, Any]:
    size = _bytes(plan.config.operand(operand.which).dtype)
    copy, read = operand.copy, operand.read
    found: dict[str, Any] = {
        "from_global": {
            "op": copy.op,
            "per_thread": copy.steps,
            "bytes": copy.vector * size,
            "asynchronous": copy.asynchronous,
            "to": "registers" if copy.view is None else "shared memory",
        }
    }
    if read is not None:
        found["from_shared"] = {"op": read.op, "per_thread": read.copies, "bytes": read.vector * size}
    return found


def fact_rows(plan: Plan) -> list[list[str]]:
    """The same as a table of names and words; a row without a name goes on with the one before."""
    from cutegen.plan import CollectivePlan, WgmmaPlan

    if isinstance(plan, CollectivePlan):
        return collective_rows(plan)
    return wgmma_rows(plan) if isinstance(plan, WgmmaPlan) else _rows(plan)


def _fact_lines(plan: Plan) -> Iterator[str]:
    yield "#"
    for line in table(fact_rows(plan), indent=1):
        yield dim(f"#{line}")


def _rows(plan: KernelPlan) -> list[list[str]]:
    found = _facts(plan)
    limit = found["smem_limit"]
    stages = plan.config.stages or 1
    smem = "none"
    if plan.smem_bytes:
        ring = f": {stages} x {plan.stage_bytes} B" if plan.stage_bytes else ""
        share = f"{100 * plan.smem_bytes // limit} % of what a CTA may have on {plan.arch}"
        smem = f"{bytes_text(plan.smem_bytes)}{ring}; {share}"
    rows = [
        ["kernel", plan.name],
        ["threads", f"{plan.threads} ({found['warps']} warps)"],
        ["k-blocks", f"{found['k_blocks']} of each k-tile{_buffered(plan)}"],
        ["instructions", instructions_text(plan)],
        ["shared memory", smem],
        [
            "registers",
            f"{found['accumulator_registers']} accumulators + {found['fragment_registers']} fragments, "
            f"at most {found['register_budget']} of a thread",
        ],
        ["CTAs per SM", _resident(found)],
    ]
    rows += swizzle_rows(plan)
    for which, copies in found["copies"].items():
        first, second = copies["from_global"], copies.get("from_shared")
        kind = "asynchronous" if first["asynchronous"] else "through registers"
        if first["to"] == "registers":
            kind = "straight to fragments"
        rows.append([f"load {which.upper()}", f"{_times(first)} a thread and k-tile, {kind}"])
        if second:
            rows.append(["", f"{_times(second)} a thread and k-block from shared memory"])
    rows.append(["store D", f"{found['d_store_bytes']} B at a time, {plan.config.epilogue.store}"])
    return rows


def _resident(found: dict[str, Any]) -> str:
    sure, most = found["min_blocks_per_sm"], found["max_blocks_per_sm"]
    return f"registers are capped so that {sure} fit (min_blocks); shared memory and threads allow {most}"


def _buffered(plan: KernelPlan) -> str:
    return ", fragments double-buffered" if plan.double_buffer else ""


def _times(copy: dict[str, Any]) -> str:
    return f"{copy['per_thread']} x {copy['bytes']} B ({copy['op']})"
