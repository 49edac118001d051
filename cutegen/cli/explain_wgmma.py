"""What ``cutegen explain`` says of a ``tma_wgmma`` kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutegen.cli.console import bytes_text

if TYPE_CHECKING:
    from cutegen.plan import WgmmaPlan

__all__ = ["wgmma_facts", "wgmma_rows"]


def wgmma_facts(plan: WgmmaPlan) -> dict[str, Any]:
    """What follows from a config, JSON-ready."""
    from cutegen.arch import arch
    from cutegen.lint import accesses
    from cutegen.occupancy import occupancy
    from cutegen.operands.wgmma_registers import fragment_a_registers
    from cutegen.resources_wgmma import slot_bytes, sum_sets, sums_in_global_memory

    limits, shared = arch(plan.arch), plan.shared
    accumulators = plan.atom.registers * plan.groups.atoms_m
    return {
        "threads": plan.threads,
        "warps": plan.threads // 32,
        "consumer_warpgroups": plan.groups.count,
        "pingpong": plan.groups.pingpong,
        "cluster": list(plan.cluster),
        "swap_ab": bool(plan.config.swap_ab),
        "split_k": plan.config.scheduler.split_k or 1,
        "stream_k": plan.stream_k,
        "workspace_slot_bytes": slot_bytes(plan.product) if sums_in_global_memory(plan.config) else 0,
        "producer_threads": plan.producers,
        "k_blocks": plan.tile[2] // plan.atom.shape[2],
        "stage_bytes": plan.a.stage_bytes + plan.b.stage_bytes,
        "smem_bytes": plan.smem_bytes,
        "smem_limit": limits.smem_per_block,
        "staging_buffers_per_warp": shared.slots,
        "accumulator_registers": accumulators,
        "fragment_registers": fragment_a_registers(plan.product, plan.groups.atoms_m),
        "register_budget": plan.registers[1],
        "producer_registers": plan.registers[0],
        "min_blocks_per_sm": 1,
        "max_blocks_per_sm": occupancy(limits, threads=plan.threads, registers=1, smem=plan.smem_bytes).ctas,
        "copies": {
            operand.map.matrix: {
                "from_global": {
                    "op": "SM90_TMA_LOAD_2D" if operand.sharers == 1 else "SM90_TMA_LOAD_MULTICAST_2D",
                    "per_stage": operand.panels * operand.boxes,
                    "box": [operand.map.box_inner, operand.map.box_outer],
                    "swizzle_bytes": operand.row_bytes,
                    "to": "shared memory",
                }
            }
            for operand in sorted((plan.a, plan.b), key=lambda o: o.map.matrix)
        },
        "d_chunk_bytes": list(shared.chunks),
        "sum_sets": sum_sets(plan.config),
        "accesses": [access.to_dict() for access in accesses(plan)],
    }


def wgmma_rows(plan: WgmmaPlan) -> list[list[str]]:
    """The same as a table."""
    found = wgmma_facts(plan)
    stages, limit, groups = plan.config.stages or 1, found["smem_limit"], plan.groups
    who = f"share a tile, {groups.m} x {groups.n}"
    if groups.pingpong:
        who = "take turns, each with a tile of its own"
    memory = f"{bytes_text(plan.smem_bytes)}: {stages} x {found['stage_bytes']} B"
    if plan.split_k > 1:
        memory += f" + {plan.split_k - 1} x {plan.shared.partial_bytes} B of partial sums"
    if plan.shared.slots:
        memory += f" + {groups.count * 4} x {found['staging_buffers_per_warp']} x 2048 B"
    rows = [
        ["kernel", plan.name],
        ["threads", f"{plan.threads}: {groups.count} consumer warpgroups that {who}, and one that loads"],
        ["k-blocks", f"{found['k_blocks']} of each k-tile"],
        [
            "shared memory",
            f"{memory}; {100 * plan.smem_bytes // limit} % of what a CTA may have on {plan.arch}",
        ],
        [
            "registers",
            f"{found['accumulator_registers']} accumulators of a consumer's {found['register_budget']}; "
            f"{found['producer_registers']} for the producer",
        ],
        ["cluster", f"{plan.cluster[0]} x {plan.cluster[1]} CTAs, {plan.config.scheduler.kind} scheduler"],
    ]
    if plan.config.swap_ab:
        rows.append(["operands", "swapped: wgmma's M lies along N"])
    if plan.split_k > 1:
        rows.append(
            ["split K", f"{plan.split_k} CTAs of a cluster share each tile; the first sums and stores"]
        )
    slot = f"sums of {bytes_text(found['workspace_slot_bytes'])} of each CTA in global memory"
    if plan.shares > 1:
        rows.append(
            ["split K", f"{plan.shares} CTAs share each tile; the last stores. {slot}, kept for the stream"]
        )
    if plan.stream_k:
        rows.append(
            [
                "stream-K",
                f"whole tiles, and of the last one to two waves an equal share of k-tiles; {slot}, kept for "
                "the stream",
            ]
        )
    if plan.config.pdl:
        operands = (("A", plan.config.a), ("B", plan.config.b))
        ahead = [name for name, operand in operands if operand.constant]
        early = f"{' and '.join(ahead)} ahead of" if ahead else "nothing before"
        rows.append(["launch", f"dependent: loads {early} the end of the kernel before"])
    for which, copies in found["copies"].items():
        load = copies["from_global"]
        inner, outer = load["box"]
        rows.append(
            [
                f"load {which.upper()}",
                f"{load['per_stage']} x {inner} x {outer} elements a stage ({load['op']}), swizzle of "
                f"{load['swizzle_bytes']} B",
            ]
        )
    if plan.a.registers is not None:
        held = f"{found['fragment_registers']} registers, of {plan.a.registers.sets} k-blocks"
        rows.append([f"read {plan.a.map.matrix.upper()}", f"to {held}, from which wgmma takes it"])
    chunks = ", ".join(map(str, plan.shared.chunks))
    store = f"bulk stores of 16 rows by {chunks} B" if chunks else "from registers"
    if plan.shared.chunk_columns:
        lines, along = ("rows", "N") if plan.config.swap_ab else ("columns", "M")
        store = f"bulk stores of {plan.shared.chunk_columns} {lines} by 128 B along {along}, transposed"
    if plan.config.epilogue.overlap:
        store += ", beside the products of the next tile"
    rows.append(["store D", store])
    if found["sum_sets"]:
        sums = f"{found['sum_sets']} x {found['accumulator_registers']} registers of sums"
        rows.append(["promotion", f"after each stage, {sums}"])
    return rows
