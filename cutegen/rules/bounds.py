"""Integers that can be extents, strides and counts at all."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.resolve.bounds import EXTENT_LIMIT, integers, rank_is_sane, ranks
from cutegen.rules.facts import Facts
from cutegen.rules.registry import Finding, rule
from cutegen.rules.text import yaml_list


def _grouped(facts: Facts) -> dict[tuple[str, int], list[int]]:
    fields: dict[tuple[str, int], list[int]] = {}
    for field, value, low in integers(facts.given):
        fields.setdefault((field, low), []).append(value)
    return fields


def _fix(field: str, values: list[int]) -> str:
    whole = field.removesuffix(".shape").removesuffix(".stride")
    single = field in ("stages", "scheduler.split_k") or field.endswith(".bits")
    written = str(values[0]) if single else yaml_list(values)
    return f"leave {whole} out" + (f", or use {field}: {written}" if whole == field else "")


@rule(
    "extent-positive",
    "bounds",
    reason="A mode without elements, a negative stride or a count of nothing describes no data; nvcc takes "
    "some of them without a word.",
    source="CUTLASS media/docs/cpp/cute/01_layout.md, Shape and Stride; this schema leaves negative "
    "strides out",
)
def extent_positive(facts: Facts) -> Iterator[Finding]:
    """Extents and counts are at least 1, strides at least 0."""
    for (field, low), values in _grouped(facts).items():
        if min(values) < low:
            yield Finding(
                field=field,
                got=yaml_list(values),
                need=f"each number must be at least {low}",
                fix=_fix(field, [max(low, v) for v in values]),
            )


@rule(
    "extent-limit",
    "bounds",
    reason="No CTA holds as much: its shared memory has fewer than 2^18 bytes, its register file 2^16 words.",
    source="CUDA C++ Programming Guide, table Technical Specifications per Compute Capability",
)
def extent_limit(facts: Facts) -> Iterator[Finding]:
    """Extents, strides and counts stay below what any CTA could hold."""
    for (field, _), values in _grouped(facts).items():
        if max(values) > EXTENT_LIMIT:
            yield Finding(
                field=field,
                got=yaml_list(values),
                need=f"each number must be at most {EXTENT_LIMIT}",
                fix=_fix(field, [min(128, v) for v in values]),
            )


@rule(
    "layout-rank",
    "bounds",
    reason="A stride without its extent, or an extent without its stride, means nothing; a copy's threads "
    "and values lie in two modes, (MN, K).",
    source="CUTLASS include/cute/layout.hpp: shape and stride must be congruent; "
    "include/cute/atom/copy_atom.hpp, make_tiled_copy",
)
def layout_rank(facts: Facts) -> Iterator[Finding]:
    """Shape and stride have the same number of modes, two for copies."""
    for field, layout, modes in ranks(facts.given):
        if rank_is_sane(layout, modes):
            continue
        rank = len(layout.shape)
        stride = "" if layout.stride is None else f", stride {yaml_list(layout.stride)}"
        wanted = f"{modes} modes, (MN, K)" if modes else "as many strides as extents, at least one"
        fixed = [*layout.shape, 1, 1][: modes or max(1, rank)]
        yield Finding(
            field=field,
            got=f"shape {yaml_list(layout.shape)}{stride}",
            need=f"the layout must have {wanted}",
            fix=f"use {field}: {{shape: {yaml_list(fixed)}}}, or leave {field} out"
            if modes
            else f"leave {field} out",
        )
