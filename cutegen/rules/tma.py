"""Bulk copies and clusters of ``tma_wgmma``, and its fields on other mainloops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.operands.wgmma import TMA_ALIGN, box_extents, bulk_store_obstacle, warpgroups
from cutegen.resources_wgmma import cluster_shares, workspace_shares
from cutegen.rules.facts import Facts, OperandFacts
from cutegen.rules.registry import Finding, operand_rule, rule
from cutegen.rules.text import yaml_list

_MAP = "CUDA Driver API, cuTensorMapEncodeTiled"
_PORTABLE_CLUSTER = 8


@rule(
    "tma-align",
    "tma",
    reason="A bulk copy needs a base address and row strides that are multiples of 16 bytes.",
    source=f"{_MAP}: globalAddress and globalStrides must be multiples of 16",
)
def tma_align(facts: Facts) -> Iterator[Finding]:
    """Operands are aligned as bulk copies need it."""
    for name, operand in (("a", facts.cfg.a), ("b", facts.cfg.b)):
        align = operand.align
        if align is not None and align < TMA_ALIGN:
            yield Finding(
                field=f"{name}.align",
                got=f"{align} bytes",
                need="a bulk copy needs a base and rows at multiples of 16 bytes",
                fix=f"use {name}.align: {TMA_ALIGN}, or mainloop: multistage, "
                f"which copies {align} bytes at a time",
            )


@rule(
    "tma-store",
    "tma",
    reason="A bulk store writes rows of D from shared memory, in boxes that are multiples of 16 bytes wide, "
    "to aligned rows. An M-major D, N-major with swap_ab, is transposed on the way there, which stmatrix "
    "does for 16 bits.",
    source=f"{_MAP}: boxDim and globalStrides; templates/parts/wgmma_store_tma.cu",
)
def tma_store(facts: Facts) -> Iterator[Finding]:
    """What is stored in bulk has rows that a bulk store can write."""
    cfg = facts.cfg
    if cfg.epilogue.store == "smem":
        yield Finding(
            field="epilogue.store",
            got="smem",
            need="tma_wgmma stores by bulk copies (tma) or from registers (direct)",
            fix="use epilogue.store: tma or epilogue.store: direct",
        )
    if cfg.epilogue.store != "tma" or facts.tile is None or facts.blamed("tile"):
        return
    obstacle = bulk_store_obstacle(facts.product)
    if obstacle is None:
        return
    row = warpgroups(facts.product).columns * dtype(cfg.d.dtype or "f32").bytes
    major = "an N-major D of swap_ab" if cfg.swap_ab else "an M-major D"
    part = "rows" if cfg.swap_ab else "columns"
    got, need = {
        "transpose": (f"d.dtype: {cfg.d.dtype}", f"{major} must have elements of 2 bytes"),
        "align": (f"d.align: {cfg.d.align}", "rows of D must start at multiples of 16 bytes"),
        "row": (f"rows of {row} bytes", f"a warpgroup's {part} must be a multiple of 16 bytes"),
        "size": (f"d.dtype: {cfg.d.dtype}", "D must have elements of at most 4 bytes"),
    }[obstacle]
    ways = (
        "use d.align: 16 or epilogue.store: direct" if obstacle == "align" else "use epilogue.store: direct"
    )
    yield Finding(field="epilogue.store", got=got, need=need, fix=ways)


@rule(
    "cluster-size",
    "tma",
    reason="A cluster of up to 8 CTAs can be scheduled on every Hopper GPU; larger ones are not portable.",
    source="CUDA C++ Programming Guide, Thread Block Clusters: portable cluster size",
)
def cluster_size(facts: Facts) -> Iterator[Finding]:
    """Clusters have at most 8 CTAs, in M and N."""
    cluster = facts.cfg.cluster
    if cluster is None:
        return
    m, n, k = cluster
    if min(cluster) >= 1 and k == 1 and m * n <= _PORTABLE_CLUSTER:
        return
    yield Finding(
        field="cluster",
        got=yaml_list(cluster),
        need=f"1 to {_PORTABLE_CLUSTER} CTAs along M and N together, 1 along K",
        fix="use cluster: [2, 1, 1]",
    )


@rule(
    "split-k",
    "tma",
    reason="The CTAs that share the k-tiles of an output tile sum in the shared memory of one of them, so "
    "they are in one cluster, together with those that share loads. In global memory any number of them can "
    "sum.",
    source="templates/parts/wgmma_split.cu; PTX ISA, st.async: shared::cluster; the limit of cluster-size",
)
def split_k(facts: Facts) -> Iterator[Finding]:
    """A cluster with all shares of K has at most 8 CTAs."""
    cluster, split = facts.cfg.cluster, cluster_shares(facts.cfg)
    if cluster is None or facts.blamed("cluster") or split < 1:
        return
    tiles = cluster[0] * cluster[1]
    if tiles * split > _PORTABLE_CLUSTER:
        yield Finding(
            field="scheduler.split_k",
            got=f"{split} with cluster: {yaml_list(cluster)}",
            need=f"a cluster of {tiles} x {split} CTAs must have at most {_PORTABLE_CLUSTER}",
            fix=f"use scheduler.split_k: {_PORTABLE_CLUSTER // tiles}, or scheduler.reduction: semaphore",
        )


@rule(
    "semaphore",
    "tma",
    reason="The CTA that stores an output tile waits for the sums of others. All CTAs of the grid are on the "
    "GPU at once, as persistent ones are, so that each comes to send its own.",
    source="templates/parts/wgmma_units.cu, wgmma_sums.cu",
)
def semaphore(facts: Facts) -> Iterator[Finding]:
    """Sums meet in global memory in one way, of CTAs that are there at once."""
    scheduler = facts.cfg.scheduler
    if scheduler.kind == "static" and workspace_shares(facts.cfg) > 1:
        yield Finding(
            field="scheduler.kind",
            got="static with reduction: semaphore",
            need="CTAs that wait for each other must be on the GPU at once",
            fix="use scheduler.kind: persistent, or scheduler.reduction: cluster",
        )
    if scheduler.kind != "stream_k":
        return
    given = facts.given.scheduler
    stated = {"split_k": given.split_k if given.split_k != 1 else None, "reduction": given.reduction}
    for field, value in stated.items():
        if value is not None:
            yield Finding(
                field=f"scheduler.{field}",
                got=f"{value} with kind: stream_k",
                need="stream_k divides the k-tiles itself, and sums in global memory",
                fix=f"leave scheduler.{field} out, or use scheduler.kind: persistent",
            )


@operand_rule(
    "cluster-slices",
    "tma",
    reason="CTAs that share an operand load a slice each; a slice consists of whole groups of 8 rows, after "
    "which a swizzle repeats.",
    source="templates/parts/wgmma_producer.cu; PTX ISA, Tensor swizzling modes",
)
def cluster_slices(operand: OperandFacts) -> Iterator[Finding]:
    """Each CTA of a cluster loads whole swizzle groups."""
    facts = operand.facts
    cluster = facts.cfg.cluster
    if facts.tile is None or cluster is None or facts.blamed("cluster") or facts.blamed("tile"):
        return
    sharers = cluster[1 - operand.mode]
    outer = facts.tile[2] if operand.major == "mn" else facts.tile[operand.mode]
    if outer % (8 * sharers):
        rows = f"BLK_{'K' if operand.major == 'mn' else operand.mn}"
        yield Finding(
            field="cluster",
            got=f"{yaml_list(cluster)} with {rows} {outer}",
            need=f"{rows} must be a multiple of {8 * sharers}, as {sharers} CTAs share {operand.name}",
            fix="use cluster: [1, 1, 1]",
        )


@operand_rule(
    "tma-box",
    "tma",
    reason="A bulk copy moves a box of at most 256 elements along each mode; a tile is a row of such boxes.",
    source=f"{_MAP}: boxDim must be at most 256",
)
def tma_box(operand: OperandFacts) -> Iterator[Finding]:
    """The tile can be cut into boxes."""
    facts = operand.facts
    if facts.tile is None or facts.blamed("tile") or facts.blamed("cluster") or facts.blamed("tiled_mma"):
        return
    if box_extents(facts.product, operand.role) is None:
        yield Finding(
            field="tile",
            got=yaml_list(facts.tile),
            need=f"{operand.name}'s tile must divide into boxes of at most 256 and multiples of 8",
            fix="use tile: [128, 256, 64]",
        )


@rule(
    "tma-wgmma-choices",
    "tma",
    reason="tma_wgmma has two or three warpgroups that multiply, and sums of 8-bit floats as the tensor core "
    "keeps them.",
    source="templates/tma_wgmma.cu",
)
def tma_wgmma_choices(facts: Facts) -> Iterator[Finding]:
    """Choices that only a collective has are left out."""
    given = facts.given
    stated = {
        "schedule": given.schedule if given.schedule == "warp_specialized" else None,
        "fast_accumulation": None if given.fast_accumulation is None else _flag(given.fast_accumulation),
    }
    if given.fast_accumulation and facts.cfg.a.dtype in ("e4m3", "e5m2"):
        stated["fast_accumulation"] = None  # it has this one
    for field, value in stated.items():
        if value is not None:
            yield Finding(
                field=field,
                got=value,
                need="mainloop tma_wgmma has no such choice",
                fix=f"leave {field} out, or use mainloop: collective",
            )


def _flag(value: bool) -> str:
    return str(value).lower()


def wgmma_fields(given: GemmConfig) -> dict[str, Any]:
    """What is given of the fields that ``tma_wgmma`` alone has; None where it is what others do too."""
    operands = {
        f"{name}.{field}": value if value not in ("normal", False) else None
        for name, operand in (("a", given.a), ("b", given.b))
        for field, value in (("cache", operand.cache), ("constant", operand.constant))
    }
    return {
        "promote": given.promote,
        "swap_ab": "true" if given.swap_ab else None,
        "pdl": "true" if given.pdl else None,
        "epilogue.overlap": "true" if given.epilogue.overlap else None,
        "scheduler.split_k": None if given.scheduler.split_k in (None, 1) else given.scheduler.split_k,
        "scheduler.reduction": given.scheduler.reduction,
        **operands,
    }


@rule(
    "tma-wgmma-only",
    "types",
    reason="Clusters, warpgroup schedules, swapped operands, split K, hints to L2, dependent launches, "
    "persistent CTAs, bulk stores and sums of 8-bit floats in fewer bits belong to the Hopper mainloops.",
    source="templates/tma_wgmma.cu, templates/collective.cu",
)
def tma_wgmma_only(facts: Facts) -> Iterator[Finding]:
    """Other mainloops leave the fields of tma_wgmma out."""
    given, cfg = facts.given, facts.cfg
    own = wgmma_fields(given)
    stated = {
        "cluster": None if given.cluster in (None, (1, 1, 1)) else yaml_list(given.cluster),
        "schedule": given.schedule,
        **own,
        "scheduler.kind": None if given.scheduler.kind == "static" else given.scheduler.kind,
        "epilogue.store": "tma" if given.epilogue.store == "tma" else None,
        "fast_accumulation": None if given.fast_accumulation is None else _flag(given.fast_accumulation),
    }
    for field, value in stated.items():
        if value is not None:
            owners = "tma_wgmma" if field in own else _owners(str(value))
            yield Finding(
                field=field,
                got=str(value),
                need=f"only mainloop {owners} has it, mainloop {cfg.mainloop} has none",
                fix=f"leave {field} out, or use mainloop: {owners.split()[0]} with arch: sm_90a",
            )


def _owners(value: str) -> str:
    """The mainloops that have a choice."""
    return "collective" if value in ("warp_specialized", "false") else "tma_wgmma or collective"
