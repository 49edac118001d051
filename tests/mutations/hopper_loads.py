"""Faults of what ``tma_wgmma`` loads: tiles, slices, multicast masks, panels."""

from __future__ import annotations

from tests.mutations.hopper import LOAD, fault

__all__ = ["HOPPER_LOADS"]

_one = fault("pingpong")
_four = fault("cluster")
_mn = fault("mn-major")
_SLICE = "(slice * Operand::BOXES + i % Operand::BOXES)"
_FIRST = "first = cluster.share * all / Config::SPLIT_K;"
_GROUPED = (1200, 400, 64)

HOPPER_LOADS = (
    _one(
        "k-stays",
        "A's first k-tile is loaded again and again",
        "m_begin, k_begin, cluster.n",
        "m_begin, k_tiles.first * Config::BLK_K, cluster.n",
        "numbers",
    ),
    _one(
        "k-tiles-floor",
        "the last part of a k-tile is left out",
        "int all = tiles(p.k, Config::BLK_K);",
        "int all = p.k / Config::BLK_K;",
        "numbers",
    ),
    _one(
        "not-beyond",
        "without K a k-tile inside the matrices is loaded",
        "first = max(1, all);",
        "first = all;",
        "out-of-bounds-global",
        at=LOAD,
        shape=(128, 64, 0),
    ),
    _one("always-beyond", "loads begin one k-tile too late", _FIRST, _FIRST.replace(";", " + 1;"), "numbers"),
    _one(
        "producer-stride",
        "the producer leaves out every other tile",
        "tile < order.count; tile += step)",
        "tile < order.count; tile += 2 * step)",
        "deadlock",
        at="barriers.full",
    ),
    _one(
        "group-width",
        "the last group of tiles is as wide as the others",
        "int width = min(group, along - first);",
        "int width = group;",
        "numbers",
        "deadlock",
        "race-waw",
        shape=_GROUPED,
    ),
    _four(
        "row-mask",
        "the mask of a row is that of the first row",
        "uint16_t(mask << (TILES * share + m))",
        "uint16_t(mask)",
        "async-in-flight",
        "race-waw",
        "deadlock",
    ),
    _four(
        "column-mask",
        "the mask of a column is shifted too little",
        "<< (TILES * share + Config::CLUSTER_M * n));",
        "<< n);",
        "async-in-flight",
        "race-waw",
        "deadlock",
    ),
    _four(
        "masks-swapped",
        "A's slices go to the CTAs that share B",
        "cluster.n, cluster.row_mask()",
        "cluster.n, cluster.column_mask()",
        "async-in-flight",
        "race-waw",
    ),
    _four(
        "mask-own",
        "a slice is not multicast",
        "uint16_t(mask << (TILES * share + m));",
        "uint16_t(1u << (m + Config::CLUSTER_M * n));",
        "deadlock",
    ),
    _four(
        "first-slice",
        "every CTA loads the first slice",
        _SLICE,
        "(i % Operand::BOXES)",
        "async-in-flight",
        "race-waw",
        at=LOAD,
    ),
    _four(
        "slice-of-the-other",
        "A's slices are numbered along M",
        "cluster.n, cluster.row_mask()",
        "cluster.m, cluster.row_mask()",
        "async-in-flight",
        "race-waw",
        at=LOAD,
    ),
    _four(
        "slice-place",
        "every slice goes to the first one's place",
        "+ row * Operand::ROW_BYTES",
        "+ i % Operand::BOXES * Operand::BOX_OUTER * Operand::ROW_BYTES",
        "async-in-flight",
        "race-waw",
        at=LOAD,
    ),
    _four(
        "same-rows",
        "both CTAs of a column compute the same rows",
        "* Config::CLUSTER_M + cluster.m)",
        "* Config::CLUSTER_M)",
        "race-waw",
    ),
    _four(
        "step",
        "clusters skip tiles as if each were one CTA",
        "step = gridDim.x / Cluster::SIZE;",
        "step = gridDim.x;",
        "numbers",
    ),
    _mn(
        "first-slice",
        "every CTA loads the first slice",
        _SLICE,
        "(i % Operand::BOXES)",
        "async-in-flight",
        "race-waw",
        at=LOAD,
    ),
    _mn(
        "panels-overlap",
        "panels are too close in shared memory",
        "panel * Operand::PANEL_BYTES",
        "panel * (Operand::PANEL_BYTES / 2)",
        "async-in-flight",
        "race-waw",
        at=LOAD,
    ),
    _mn("same-panel", "every panel is the first one", " + panel * Operand::PANEL_INNER", "", "numbers"),
    _mn(
        "row-mask",
        "the mask of a row has the first CTA only",
        "mask |= 1u << (Config::CLUSTER_M * j);",
        "mask |= 1u;",
        "deadlock",
    ),
)
