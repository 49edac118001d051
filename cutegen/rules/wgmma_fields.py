"""Fields of other mainloops on ``tma_wgmma``."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.rules.facts import Facts
from cutegen.rules.registry import Finding, rule


@rule(
    "wgmma-unused-fields",
    "wgmma",
    reason="Layouts in shared memory and copies follow from tile and swizzle here; there is nothing that "
    "these fields could change.",
    source="the mainloop's definition, templates/tma_wgmma.cu",
)
def wgmma_unused_fields(facts: Facts) -> Iterator[Finding]:
    """Fields of other mainloops are left out."""
    given = facts.given
    stated = {
        "smem.a": given.smem.a,
        "smem.b": given.smem.b,
        **{
            f"g2s.{w}.{f}": getattr(getattr(given.g2s, w), f)
            for w in ("a", "b")
            for f in ("atom", "bits", "threads", "values")
        },
        "s2r.a": given.s2r.a,
        "s2r.b": given.s2r.b,
        "tiled_mma.permutation": given.tiled_mma.permutation,
        "fragment_buffers": given.fragment_buffers,
        "min_blocks": None if given.min_blocks == 1 else given.min_blocks,
    }
    for field, value in stated.items():
        if value is not None:
            yield Finding(
                field=field,
                got=str(value),
                need="mainloop tma_wgmma has no such choice",
                fix=f"leave {field} out, or use mainloop: multistage",
            )
