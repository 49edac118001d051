"""Faults of stores beside the products of the next tile."""

from __future__ import annotations

from tests.mutations.hopper import fault

__all__ = ["HOPPER_OVERLAP"]

_o = fault("overlap")
_STAGED = "STSM"
_BESIDE = "             [&](int k) { pending.store_beside(maps, ring, k); });\n"
_FIRST = "        if (index == 0) {\n          tma_store_wait<0>();\n        } else {\n"
_WAIT = "          tma_store_wait<Output::SLOTS - 1>();\n"

HOPPER_OVERLAP = (
    _o(
        "no-wait",
        "results are converted while products are in flight",
        "  warpgroup_wait<0>();\n  fence_accumulators(tCrC);\n  int last",
        "  int last",
        "async-in-flight",
    ),
    _o(
        "chunk-left-out",
        "no chunk leaves with the first k-tile",
        _BESIDE,
        _BESIDE.replace("ring, k)", "ring, k > 0 ? k : Pending::CHUNKS)"),
        "numbers",
    ),
    _o(
        "chunk-late",
        "each chunk leaves one k-tile later, the last of them never",
        _BESIDE,
        _BESIDE.replace("ring, k)", "ring, k - 1)"),
        "numbers",
    ),
    _o(
        "rest-twice",
        "chunks that have left are stored again from the next tile's place",
        "  pending.store_rest(maps, ring, 0);\n}",
        "}",
        "numbers",
    ),
    _o(
        "taken-too-early",
        "a tile's place is taken over before its chunks have left",
        "    turn.wait();\n",
        "    turn.wait();\n    pending.m = m_begin;\n",
        "numbers",
        "race-waw",
    ),
    _o(
        "no-store-wait",
        "no wait before a staging buffer is used again",
        _WAIT,
        "",
        "async-in-flight",
        at=_STAGED,
    ),
    _o(
        "no-first-store-wait",
        "no wait for the last tile's bulk stores",
        _FIRST,
        _FIRST.replace("tma_store_wait<0>();", ""),
        "async-in-flight",
        at=_STAGED,
    ),
)
