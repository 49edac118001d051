"""What ``cutegen explain`` says of a ``collective`` kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutegen.cli.console import bytes_text

if TYPE_CHECKING:
    from cutegen.plan import CollectivePlan

__all__ = ["collective_facts", "collective_rows"]


def collective_facts(plan: CollectivePlan) -> dict[str, Any]:
    """What follows from a config, JSON-ready; None where only CUTLASS decides."""
    from cutegen.arch import arch
    from cutegen.resources_collective import collective_accumulators, consumers

    cfg, shared = plan.config, plan.shared
    hopper = shared is not None
    return {
        "threads": plan.threads,
        "warps": plan.threads // 32,
        "consumer_warpgroups": consumers(cfg) if hopper else None,
        "cluster": list(plan.cluster),
        "stages": shared.stages if shared else cfg.stages,
        "stage_bytes": shared.stage_bytes if shared else None,
        "epilogue_bytes": shared.epilogue_bytes if shared else None,
        "smem_bytes": plan.smem_bytes,
        "smem_limit": arch(plan.arch).smem_per_block,
        "accumulator_registers": collective_accumulators(cfg) if hopper else None,
        "workspace": cfg.scheduler.kind == "stream_k",
    }


def collective_rows(plan: CollectivePlan) -> list[list[str]]:
    """The same as a table."""
    from cutegen.vectors import vectors_of

    found = collective_facts(plan)
    cfg, shared, limit = plan.config, plan.shared, found["smem_limit"]
    rows = [["kernel", plan.name]]
    if shared is None:
        rows.append(["threads", f"{plan.threads}, scheduled as CUTLASS chooses"])
        rows.append(["shared memory", f"up to {bytes_text(limit)}, as CUTLASS fills it"])
    else:
        who = {
            "warp_specialized": "1 consumer warpgroup",
            "pingpong": "2 consumer warpgroups that take turns, each with a tile of its own",
            "cooperative": "2 consumer warpgroups that share a tile, 2 x 1",
        }[cfg.schedule or ""]
        counted = "" if cfg.stages else " (as many as fit)"
        along_n = any(vector.extent == "n" for vector in vectors_of(cfg))
        buffers = "C, D and vectors along N" if along_n else "C and D"
        rows.append(["threads", f"{plan.threads}: {who}, and one that loads"])
        rows.append(
            [
                "shared memory",
                f"{bytes_text(plan.smem_bytes)}: {shared.stages} x {shared.stage_bytes} B{counted} + "
                f"{shared.epilogue_bytes} B for {buffers}; {100 * plan.smem_bytes // limit} % of what a CTA "
                f"may have on {plan.arch}",
            ]
        )
        rows.append(["registers", f"{found['accumulator_registers']} accumulators of a consumer's thread"])
    rows.append(["cluster", f"{plan.cluster[0]} x {plan.cluster[1]} CTAs, {cfg.scheduler.kind} scheduler"])
    if found["workspace"]:
        rows.append(
            ["workspace", "global memory for sums of shared tiles, allocated by each launch on its stream"]
        )
    return rows
