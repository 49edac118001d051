"""The CTA tile against the MMA."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.rules.facts import Facts
from cutegen.rules.registry import Finding, rule
from cutegen.rules.text import either, multiples, yaml_list


@rule(
    "tile-divides-mma",
    "tile",
    reason="Warps compute whole MMA atoms; CuTe's partition of a tile that they do not divide drops or "
    "repeats elements, or stops in an unnamed static_assert.",
    source="CUTLASS include/cute/atom/mma_atom.hpp, TiledMMA::thrfrg_A/B/C (zipped_divide)",
)
def tile_divides_mma(facts: Facts) -> Iterator[Finding]:
    """Each extent of the tile is a multiple of the atoms side by side."""
    atom, tile = facts.atom, facts.tile
    if atom is None or tile is None:
        return
    m, n, _ = facts.layout or (1, 1, 1)
    layout = (m, n, 1)  # several atoms along K: see mma-layout-k
    spans = [size * count for size, count in zip(atom.shape, layout, strict=True)]
    whole = [
        multiples(extent, span)[0] if extent % span else extent
        for extent, span in zip(tile, spans, strict=True)
    ]
    for mode, letter in enumerate("MNK"):
        span = spans[mode]
        if tile[mode] % span == 0:
            continue
        beside = f" x {layout[mode]} side by side" if layout[mode] > 1 else ""
        fixes = [
            f"tile: {yaml_list([*whole[:mode], extent, *whole[mode + 1 :]])}"
            for extent in multiples(tile[mode], span)
        ]
        yield Finding(
            field="tile",
            got=f"BLK_{letter} {tile[mode]}",
            need=f"BLK_{letter} must be a multiple of {span} (atom {letter} {atom.shape[mode]}{beside})",
            fix=f"use {either(fixes)}",
        )
