"""Scale, convert, store, and the order of CTAs."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.rules.facts import Facts
from cutegen.rules.registry import Finding, rule

_MOST_GROUP = 2**31 - 1


@rule(
    "raster-group",
    "epilogue",
    reason="A grid has fewer than 2^31 CTAs, and the kernel counts them and their groups in 32 bits.",
    source="CUDA C++ Programming Guide, table Technical Specifications per Compute Capability: maximum "
    "x-dimension of a grid, 2^31-1",
)
def raster_group(facts: Facts) -> Iterator[Finding]:
    """The raster group is a 32-bit count."""
    group = facts.cfg.scheduler.group
    if group is not None and group > _MOST_GROUP:
        yield Finding(
            field="scheduler.group",
            got=str(group),
            need=f"must be at most {_MOST_GROUP}",
            fix="use scheduler.group: 8",
        )
