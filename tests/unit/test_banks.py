"""The bank model, against what an H200 counted and against cases from bug reports.

``tests/data/ncu_sample.json`` holds 300 access patterns with the wavefronts that ncu measured for each
(``l1tex__data_pipe_lsu_wavefronts_mem_shared``); -1 is an inactive lane.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cutegen.layout import NO_SWIZZLE, Swizzle
from cutegen.layout.banks import cp_async_ca_wavefronts, ideal_wavefronts, wavefronts

MEASURED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "ncu_sample.json").read_text()
)
#: Lanes whose addresses count, by what the kind's name starts with.
SUPPLIERS = {"ldsm_x1": 8, "ldsm_x2": 16, "ldsm_x4": 32, "stsm_x1": 8, "stsm_x2": 16, "stsm_x4": 32}


def active(offsets: list[int]) -> list[int | None]:
    return [None if o < 0 else o for o in offsets]


def model(sample: dict[str, Any]) -> int:
    kind, width, lanes = sample["kind"], sample["access_bytes"], active(sample["lane_offsets"])
    if kind.startswith("cp"):
        return cp_async_ca_wavefronts(lanes, active(sample["src_offsets"]), width)
    supplier = SUPPLIERS.get(kind[:7])
    if supplier is not None:
        return wavefronts(lanes[:supplier], 16, "ldmatrix")
    return wavefronts(lanes, width, "store" if kind.startswith("st") else "load")


def name(sample: dict[str, Any]) -> str:
    return f"{sample['kind']}-{sample['pitch']}-{sample['swizzle']}-{sample['pattern']}"


COUNTED = [s for s in MEASURED if s["wavefronts_per_instruction"] is not None]


def test_the_sample_is_whole() -> None:
    assert len(MEASURED) == 300
    assert {s["kind"] for s in MEASURED if s["wavefronts_per_instruction"] is None} == {"cp16_cg"}
    assert len(COUNTED) == 275


@pytest.mark.parametrize("sample", COUNTED, ids=name)
def test_model_counts_what_the_hardware_counts(sample: dict[str, Any]) -> None:
    assert model(sample) == sample["wavefronts_per_instruction"]


def test_cp_async_cg_has_no_model() -> None:
    kinds = {s["kind"] for s in MEASURED if s["kind"].startswith("cp")}
    assert kinds == {"cp4_ca", "cp8_ca", "cp16_ca", "cp16_cg"}


def ways(offsets: list[int | None], width: int, kind: Any) -> float:
    """Wavefronts over those of an access without conflicts."""
    return wavefronts(offsets, width, kind) / ideal_wavefronts(len(offsets), width)


def ldmatrix_ways(pitch: int, swizzle: Swizzle, size: int = 2) -> float:
    """Eight rows of 16 bytes, one below the other."""
    return ways([size * swizzle(row * pitch) for row in range(8)], 16, "ldmatrix")


@pytest.mark.parametrize(
    ("swizzle", "expected"),
    [(NO_SWIZZLE, 8), (Swizzle(1, 3, 3), 4), (Swizzle(2, 3, 3), 2), (Swizzle(3, 3, 3), 1)],
    ids=str,
)
def test_b01_k_major_f16_64(swizzle: Swizzle, expected: int) -> None:
    assert ldmatrix_ways(64, swizzle) == expected


@pytest.mark.parametrize(
    ("pitch", "swizzle", "expected"),
    [
        (32, NO_SWIZZLE, 4),
        (32, Swizzle(1, 3, 3), 2),
        (32, Swizzle(2, 3, 3), 1),
        (32, Swizzle(3, 3, 3), 1),
        (16, NO_SWIZZLE, 2),
        (16, Swizzle(1, 3, 3), 1),
    ],
    ids=str,
)
def test_b02_narrow_rows(pitch: int, swizzle: Swizzle, expected: int) -> None:
    assert ldmatrix_ways(pitch, swizzle) == expected


#: Rows of the table in SHARED_MEMORY.md: pitch, then ways for none, <1,3,3>, <2,3,3>, <3,3,3>, <3,3,4>.
TABLE = [
    (16, 2, 1, 1, 1, 2),
    (32, 4, 2, 1, 1, 2),
    (64, 8, 4, 2, 1, 2),
    (128, 8, 8, 4, 2, 1),
    (40, 1, None, None, None, None),
    (72, 1, None, None, None, None),
    (136, 1, None, None, None, None),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda r: str(r[0]))
def test_table_of_ldmatrix_ways(row: tuple[int | None, ...]) -> None:
    swizzles = (NO_SWIZZLE, Swizzle(1, 3, 3), Swizzle(2, 3, 3), Swizzle(3, 3, 3), Swizzle(3, 3, 4))
    for swizzle, expected in zip(swizzles, row[1:], strict=True):
        if expected is not None:
            assert ldmatrix_ways(row[0] or 0, swizzle) == expected, str(swizzle)


def fragment_store(pitch: int, swizzle: Swizzle, size: int, lanes: range) -> list[int | None]:
    """Pairs of a 16x8 fragment: lane l holds columns 2 * (l % 4) and the next of row l / 4."""
    return [size * swizzle(lane // 4 * pitch + 2 * (lane % 4)) for lane in lanes]


@pytest.mark.parametrize(
    ("pitch", "swizzle", "expected"),
    [
        (128, NO_SWIZZLE, 8),
        (128, Swizzle(3, 3, 3), 2),
        (128, Swizzle(3, 3, 4), 1),
        (64, NO_SWIZZLE, 8),
        (64, Swizzle(3, 3, 3), 1),
        (32, NO_SWIZZLE, 4),
        (32, Swizzle(2, 3, 3), 1),
        (136, NO_SWIZZLE, 1),
        (72, NO_SWIZZLE, 1),
    ],
    ids=str,
)
def test_b08_half2_stores(pitch: int, swizzle: Swizzle, expected: int) -> None:
    assert ways(fragment_store(pitch, swizzle, 2, range(32)), 4, "store") == expected


@pytest.mark.parametrize(("pitch", "expected"), [(128, 4), (132, 2), (136, 1)])
def test_b08_float2_stores(pitch: int, expected: int) -> None:
    assert ways(fragment_store(pitch, NO_SWIZZLE, 4, range(16)), 8, "store") == expected


@pytest.mark.parametrize(
    ("pitch", "swizzle", "expected"),
    [(128, NO_SWIZZLE, 8), (128, Swizzle(3, 4, 3), 1), (64, NO_SWIZZLE, 4), (64, Swizzle(2, 4, 3), 1)],
    ids=str,
)
def test_b10_int8(pitch: int, swizzle: Swizzle, expected: int) -> None:
    assert ldmatrix_ways(pitch, swizzle, size=1) == expected


@pytest.mark.parametrize(("swizzle", "expected"), [(NO_SWIZZLE, 8), (Swizzle(3, 3, 3), 1)], ids=str)
def test_b11_wide_stores_down_rows(swizzle: Swizzle, expected: int) -> None:
    assert ways([2 * swizzle(row * 64) for row in range(32)], 16, "store") == expected


def test_inactive_lanes_cost_nothing() -> None:
    assert wavefronts([None] * 32, 4, "load") == 0
    assert wavefronts([0, *[None] * 31], 4, "load") == 1
    assert cp_async_ca_wavefronts([None] * 32, [None] * 32, 16) == 0


def test_cp_async_pays_for_each_line_that_it_reads() -> None:
    offsets: list[int | None] = [16 * lane for lane in range(32)]
    whole: list[int | None] = [16 * lane for lane in range(32)]
    halves: list[int | None] = [4096 * (lane // 4) + 16 * (lane % 4) for lane in range(32)]
    down: list[int | None] = [4096 * lane for lane in range(32)]
    assert cp_async_ca_wavefronts(offsets, whole, 16) == 4
    assert cp_async_ca_wavefronts(offsets, halves, 16) == 8
    assert cp_async_ca_wavefronts(offsets, down, 16) == 32
    assert cp_async_ca_wavefronts([0] * 8, whole[:8], 16) == 8  # equal destinations do not merge


def test_equal_words_merge_and_words_of_one_bank_do_not() -> None:
    assert wavefronts([0] * 32, 4, "load") == 1
    assert wavefronts([128 * lane for lane in range(32)], 4, "load") == 32
    assert wavefronts([0] * 16 + [128] * 16, 4, "store") == 2
