"""Atoms side by side, and the permutation."""

from __future__ import annotations

from collections.abc import Iterator

from cutegen.layout.algebra import Layout
from cutegen.rules.facts import Facts
from cutegen.rules.registry import Finding, rule
from cutegen.rules.suggest import permutation_yaml, tile_yaml
from cutegen.rules.text import either, multiples, yaml_list


@rule(
    "mma-layout-k",
    "tiled_mma",
    reason="With several atoms along K each warp would sum its own part of K, and a TiledMMA never adds "
    "the partial accumulators of different warps: the result would miss terms.",
    source="CUTLASS include/cute/atom/mma_atom.hpp, TiledMMA::thrfrg_C (the K mode of the thread layout is "
    "dropped)",
)
def mma_layout_k(facts: Facts) -> Iterator[Finding]:
    """No two warps share an output element."""
    layout = facts.layout
    if layout is not None and layout[2] != 1:
        m, n, k = layout
        yield Finding(
            field="tiled_mma.layout",
            got=yaml_list(layout),
            need="the K entry must be 1: a TiledMMA never sums partial accumulators across warps",
            fix=f"use tiled_mma.layout: {yaml_list((m, n, 1))}, or {yaml_list((m * k, n, 1))} for as many "
            "warps",
        )


def _halved(count: int) -> int:
    """The largest divisor that is at most half."""
    return next(d for d in range(count // 2, 0, -1) if count % d == 0)


@rule(
    "cta-threads",
    "tiled_mma",
    reason="A CTA has at most 1024 threads; a launch with more fails.",
    source="CUDA C++ Programming Guide, table Technical Specifications per Compute Capability",
)
def cta_threads(facts: Facts) -> Iterator[Finding]:
    """The TiledMMA has no more threads than a CTA."""
    atom, threads, limit = facts.atom, facts.threads, facts.arch.max_threads_per_block
    if atom is None or threads is None or facts.layout is None or threads <= limit:
        return
    most = limit // atom.threads
    m, n, _ = facts.layout
    while m * n > most:
        m, n = (_halved(m), n) if m >= n else (m, _halved(n))
    yield Finding(
        field="tiled_mma.layout",
        got=f"{yaml_list(facts.layout)} of {atom.threads}-thread atoms, {threads} threads",
        need=f"a CTA has at most {limit} threads: at most {most} atoms side by side",
        fix=f"use tiled_mma.layout: {yaml_list((m, n, 1))}",
    )


def _entries(facts: Facts) -> Iterator[tuple[int, str, Layout]]:
    for mode, layout in enumerate(facts.permutation):
        if layout is not None:
            yield mode, "MNK"[mode], layout


@rule(
    "permutation-bijection",
    "tiled_mma",
    reason="A permutation that maps two places of a tile to one computes an element twice and another "
    "never; nvcc takes it without a word.",
    source="CUTLASS include/cute/atom/mma_atom.hpp, TiledMMA: PermutationMNK is applied by logical_divide",
)
def permutation_bijection(facts: Facts) -> Iterator[Finding]:
    """Each entry is a bijection onto [0, size)."""
    for mode, letter, layout in _entries(facts):
        if not layout.is_compact:
            yield Finding(
                field="tiled_mma.permutation",
                got=f"{letter} {layout}",
                need=f"the entry must be a bijection onto [0, {layout.size})",
                fix=f"use compact strides, or the extent: {permutation_yaml(facts, mode, layout.size)}",
            )


def _span(facts: Facts, mode: int) -> int | None:
    if facts.atom is None or facts.layout is None:
        return None
    return facts.atom.shape[mode] * (facts.layout[mode] if mode < 2 else 1)


@rule(
    "permutation-multiple",
    "tiled_mma",
    reason="The permutation says which elements the atoms side by side cover together; a part of an atom "
    "cannot be placed.",
    source="CUTLASS include/cute/atom/mma_atom.hpp, TiledMMA::thrfrg_A/B/C and tile_size_mnk",
)
def permutation_multiple(facts: Facts) -> Iterator[Finding]:
    """Each entry covers whole atoms of all warps."""
    for mode, letter, layout in _entries(facts):
        if facts.atom is None or facts.layout is None:
            return
        own, beside = facts.atom.shape[mode], facts.layout[mode] if mode < 2 else 1  # K: see mma-layout-k
        span = own * beside
        if layout.size % span == 0:
            continue
        extent = multiples(layout.size, span)[-1]
        if facts.tile is not None and facts.tile[mode] % extent:
            extent = span
        yield Finding(
            field="tiled_mma.permutation",
            got=f"{letter} {layout.size}",
            need=f"{letter} must be a multiple of {span} (atom {letter} {own} x {beside} side by side)",
            fix=f"use {permutation_yaml(facts, mode, extent)}",
        )


@rule(
    "permutation-divides-tile",
    "tiled_mma",
    reason="The permuted piece is repeated over the tile; what does not hold a whole number of pieces is "
    "cut.",
    source="CUTLASS include/cute/atom/mma_atom.hpp, TiledMMA::thrfrg_A/B/C (logical_divide)",
)
def permutation_divides_tile(facts: Facts) -> Iterator[Finding]:
    """Each entry divides the tile."""
    if facts.tile is None:
        return
    for mode, letter, layout in _entries(facts):
        extent = facts.tile[mode]
        span = _span(facts, mode) or layout.size
        if extent % layout.size == 0 or extent % span or layout.size % span:
            continue  # what the atoms do not divide: see tile-divides-mma, permutation-multiple
        fixes = [
            permutation_yaml(facts, mode, span),
            tile_yaml(facts, mode, multiples(extent, layout.size)[-1]),
        ]
        yield Finding(
            field="tiled_mma.permutation",
            got=f"{letter} {layout.size}",
            need=f"{letter} must divide BLK_{letter} {extent}",
            fix=f"use {either(fixes)}",
        )
