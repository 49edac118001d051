"""Ways out of a collective that breaks several rules: each holds alone, and none stands against another."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest

from cutegen.config import GemmConfig
from cutegen.errors import Violation
from cutegen.loader import dump
from cutegen.rules import check, judge
from cutegen.rules.ways import Way, patched, ways_out
from tests.support.rule_cases_collective import COLLECTIVE_CASES, collective

S8: dict[str, Any] = {"a.dtype": "s8", "b.dtype": "s8"}
S8_OUT: dict[str, Any] = S8 | {"d.dtype": "s8"}
E4M3: dict[str, Any] = {"a.dtype": "e4m3", "b.dtype": "e4m3"}
SLOW: dict[str, Any] = {"fast_accumulation": False, "schedule": "pingpong"}
STREAMED: dict[str, Any] = {"scheduler.kind": "stream_k"}
STATIC: dict[str, Any] = {"scheduler.kind": "static"}

CASES: dict[str, GemmConfig] = {
    "rows_and_cluster": collective(tile=[100, 128, 64], cluster=[4, 4, 1]),
    "rows_and_columns": collective(tile=[96, 100, 64]),
    "all_three_extents": collective(tile=[96, 100, 24]),
    "three_of_cooperative": collective(tile=[64, 100, 24], schedule="cooperative"),
    "all_three_and_cluster": collective(tile=[96, 100, 24], cluster=[16, 1, 1], schedule="pingpong"),
    "columns_beyond_registers": collective(tile=[128, 264, 64], schedule="pingpong"),
    "stages_and_registers": collective(tile=[256, 256, 64], schedule="pingpong", stages=5),
    "schedule_rows_and_columns": collective(STREAMED, schedule="pingpong", tile=[64, 100, 64]),
    "scheduler_and_rows": collective(STATIC, schedule="cooperative", tile=[64, 128, 64]),
    "scheduler_and_registers": collective(
        {"scheduler.kind": "persistent"}, schedule="warp_specialized", tile=[128, 256, 64]
    ),
    "registers_of_two_sums": collective(E4M3, tile=[128, 256, 128], **SLOW),
    "stages_and_two_sums": collective(E4M3, tile=[128, 256, 128], stages=9, **SLOW),
    "depth_then_store": collective(S8_OUT, tile=[64, 8, 48]),
    "swizzle": collective(tile=[64, 40, 80]),
    "depth_then_slices": collective(tile=[128, 48, 24], cluster=[5, 1, 1]),
    "slices_and_registers": collective(tile=[128, 256, 64], cluster=[5, 1, 1], schedule="pingpong"),
    "two_stores": collective(S8_OUT | {"c.dtype": "s8"}, tile=[64, 24, 128]),
    "scheduler_raster_and_columns": collective(
        STATIC | {"scheduler.group": 3, "scheduler.raster": "n"}, schedule="pingpong", tile=[64, 100, 64]
    ),
    "one_stage_and_columns": collective(tile=[64, 100, 64], stages=1),
    "far_too_large": collective(tile=[512, 512, 64]),
    "stages_beside_registers": collective(tile=[512, 256, 256], stages=1, schedule="warp_specialized"),
    "stages_then_smem": collective(tile=[128, 100, 256], cluster=[3, 1, 1], schedule="pingpong", stages=1),
    "store_then_smem": collective(
        {"epilogue.store": "smem"}, tile=[128, 100, 256], schedule="pingpong", stages=9
    ),
    "too_large_for_smem": collective(tile=[256, 256, 256], schedule="pingpong"),
    "sm_100a": collective(arch="sm_100a", tile=[256, 100, 64]),
    "sm_100a_and_cluster": collective(arch="sm_100a", tile=[192, 100, 64], cluster=[4, 4, 1]),
    "sm_120a": collective(E4M3, arch="sm_120a", tile=[256, 100, 64], cluster=[2, 1, 1]),
}


def keys(violations: list[Violation]) -> set[tuple[str, str]]:
    return {(v.rule, v.field) for v in violations}


def text(cfg: GemmConfig, found: list[Violation], *ways: Way) -> str:
    return "\n".join([dump(cfg), *(f"{v.got}: {v.fix}" for v in found), *map(str, ways)])


def contradictions(cfg: GemmConfig) -> list[str]:
    """Ways that do not remove their violation, break something else, or do so beside another way."""
    found = check(cfg)
    known = keys(found)

    def removes(way: Way, *gone: Violation) -> bool:
        return keys(judge(patched(cfg, way))) <= known - keys(list(gone))

    pairs = [(v, way) for v in found for way in ways_out(v.fix)]
    wrong = [text(cfg, found, way) for v, way in pairs if not removes(way, v)]
    for (v, one), (w, other) in combinations(pairs, 2):
        if v is not w and not (removes(one | other, v, w) and removes(other | one, v, w)):
            wrong.append(text(cfg, found, one, other))
    return wrong


def mended(cfg: GemmConfig) -> list[Violation]:
    """What is left after the first way out of each violation."""
    way: Way = {}
    for violation in check(cfg):
        way |= ways_out(violation.fix)[0]
    return check(patched(cfg, way))


@pytest.mark.parametrize("name", CASES)
def test_ways_out_agree(name: str) -> None:
    cfg = CASES[name]
    assert check(cfg), "it is legal"
    assert contradictions(cfg) == []
    assert mended(cfg) == []


@pytest.mark.parametrize("case", COLLECTIVE_CASES, ids=str)
def test_ways_out_of_the_rules_cases_agree(case: Any) -> None:
    assert contradictions(case.broken) == []
    assert mended(case.broken) == []


def test_all_extents_of_a_tile_are_mended_at_once() -> None:
    found = check(CASES["all_three_extents"])
    assert [v.fix for v in found] == [
        "use tile: [128, 96, 16]",
        "use tile: [128, 96, 16] or [128, 104, 16]",
        "use tile: [128, 96, 16] or [128, 96, 32]",
    ]


def test_a_value_that_another_way_out_forbids_is_not_named() -> None:
    """One CTA for each tile has no cooperative warpgroups, which alone would make room in registers."""
    scheduler, registers = check(CASES["scheduler_and_registers"])
    assert scheduler.fix == "use scheduler.kind: static, schedule: pingpong or schedule: cooperative"
    assert registers.fix == "use tile: [128, 128, 64]"


def test_the_nearest_tile_is_named_where_a_rule_knows_none() -> None:
    fixes = {name: check(CASES[name])[0].fix for name in ("columns_beyond_registers", "depth_then_slices")}
    assert fixes == {
        "columns_beyond_registers": "use tile: [128, 192, 64]",
        "depth_then_slices": "use tile: [128, 48, 32] with cluster: [1, 1, 1]",
    }


def test_one_way_is_named_for_all_where_their_own_do_not_agree() -> None:
    fixes = {v.fix for v in check(CASES["stages_then_smem"])}
    assert len(fixes) == 1
    assert " with " in fixes.pop()


def random_collective(rng: Random) -> GemmConfig:
    """A config with some fields far from any that work."""
    patches: dict[str, Any] = dict(rng.choice([{}, {}, S8, S8_OUT, E4M3]))
    if rng.random() < 0.3:
        patches["scheduler.kind"] = rng.choice(["static", "persistent", "stream_k"])
    if rng.random() < 0.2:
        patches["scheduler.group"] = rng.choice([1, 3, 4])
    if rng.random() < 0.2:
        patches["epilogue.store"] = rng.choice(["tma", "direct", "smem"])
    if rng.random() < 0.1:
        patches["d.align"] = rng.choice([4, 8])
    top: dict[str, Any] = {
        "tile": [
            rng.choice([64, 96, 128, 192, 256, 512]),
            rng.choice([8, 24, 40, 100, 128, 256, 264]),
            rng.choice([24, 32, 48, 64, 80, 128, 256]),
        ]
    }
    if rng.random() < 0.5:
        top["cluster"] = rng.choice([[1, 2, 1], [3, 1, 1], [5, 1, 1], [4, 4, 1], [2, 2, 2]])
    if rng.random() < 0.3:
        top["stages"] = rng.choice([1, 2, 4, 9])
    if rng.random() < 0.6:
        top["schedule"] = rng.choice(["warp_specialized", "pingpong", "cooperative"])
    return collective(patches, **top)


@pytest.mark.parametrize("seed", range(4))
def test_ways_out_of_random_collectives_agree(seed: int) -> None:
    for number in range(25):
        cfg = random_collective(Random(100 * seed + number))
        assert contradictions(cfg) == []
        assert mended(cfg) == [], text(cfg, check(cfg))
