"""Stores of ``tma_wgmma`` beside the products of the next tile."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.dtypes import dtype
from cutegen.operands.wgmma import bulk_store_obstacle
from cutegen.resources_wgmma import cluster_shares, sums_in_global_memory
from cutegen.rules.facts import Facts
from cutegen.rules.registry import Finding, rule


@rule(
    "overlap",
    "wgmma",
    reason="The result of a tile waits in registers, two elements each, and leaves in chunks by bulk "
    "stores while the same warpgroups multiply the next tile. With pingpong the other warpgroup multiplies "
    "meanwhile; with split K, stream-K and promotion the loop over k-tiles is another one.",
    source="templates/parts/wgmma_pending.cu, templates/parts/wgmma_consumer.cu",
)
def overlap(facts: Facts) -> Iterator[Finding]:
    """What is stored beside the next tile's products is of a kernel that can do so."""
    cfg = facts.cfg
    if not cfg.epilogue.overlap:
        return
    out = f"{cfg.d.dtype}, {cfg.d.major}-major"
    major = "m" if cfg.swap_ab else "n"
    fits = dtype(cfg.d.dtype or "f32").bits == 16 and cfg.d.major == major
    split = cluster_shares(cfg) > 1 or sums_in_global_memory(cfg)
    kind = cfg.scheduler.kind
    direct = cfg.epilogue.store == "direct"
    narrow = direct and bulk_store_obstacle(facts.product) == "align"
    align = "d.align: 16, or " if facts.given.epilogue.store is None else ""
    obstacles = (
        (cfg.schedule == "pingpong", "schedule", "pingpong", "schedule: cooperative"),
        (kind == "static", "scheduler.kind", "static", "scheduler.kind: persistent"),
        (split, "scheduler", "k-tiles that CTAs share", "epilogue.overlap: false"),
        (cfg.promote is not None, "promote", str(cfg.promote), "epilogue.overlap: false"),
        (narrow, "d.align", str(cfg.d.align), f"{align}epilogue.overlap: false"),
        (direct and not narrow and fits, "epilogue.store", "direct", "epilogue.store: tma"),
        (not fits, "d", out, f"d: {{dtype: bf16, major: {major}}}, or epilogue.overlap: false"),
    )
    for found, field, got, fix in obstacles:
        if found:
            yield Finding(
                field="epilogue.overlap",
                got=f"true with {field}: {got}",
                need="cooperative persistent warpgroups, whole sums, and bulk stores of an "
                f"{major.upper()}-major D of 16 bits",
                fix=f"use {fix}",
            )
