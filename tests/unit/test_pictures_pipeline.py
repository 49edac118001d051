"""Pictures of pipelines: nothing is read before it is there, and no slot is filled while it is read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

import cutegen
from cutegen.fuzz.generate import legal_config
from cutegen.pictures import draw
from cutegen.pictures.model import Bar, Timeline
from cutegen.plan import KernelPlan, Plan, WgmmaPlan, plan

EXAMPLES = Path(__file__).parents[2] / "examples"


def planned(name: str) -> Plan:
    return plan(cutegen.load(EXAMPLES / f"{name}.yaml"))


def timeline(found: Plan) -> Timeline:
    (shown,) = draw(found, "pipeline").timelines
    return shown


def lane(shown: Timeline, name: str) -> list[Bar]:
    """The bars of a lane, in the order of time."""
    (index,) = [i for i, each in enumerate(shown.lanes) if each.name.startswith(name)]
    return sorted((bar for bar in shown.bars if bar.lane == index), key=lambda bar: bar.start)


def slots(shown: Timeline) -> list[list[Bar]]:
    return [lane(shown, each.name) for each in shown.lanes if each.name.startswith("slot")]


def check_ring(shown: Timeline, stages: int) -> None:
    ring = slots(shown)
    assert len(ring) == stages
    for number, bars in enumerate(ring):
        assert all(first.end <= second.start + 1e-9 for first, second in pairwise(bars)), f"slot {number}"
        assert all(bar.group == number and bar.k_tile % stages == number for bar in bars)
        uses = [bar for bar in bars if bar.kind == "use"]
        fills = [bar for bar in bars if bar.kind == "fill"]
        assert [bar.k_tile for bar in uses] == [bar.k_tile for bar in fills]
        assert all(fill.end <= use.start + 1e-9 for fill, use in zip(fills, uses, strict=True))
    used = sorted(bar.k_tile for bars in ring for bar in bars if bar.kind == "use")
    assert used == list(range(len(used)))
    assert all(bar.end > bar.start >= 0 for bar in shown.bars)


def kernels() -> list[KernelPlan]:
    names = ("ampere_bf16", "sm80_bf16", "sm75_f16", "sm80_f32", "sm80_bf16_nt", "smem", "gemm_device")
    found = [planned(name) for name in names]
    found += [plan(legal_config(Random(seed), mainloops=("simt", "multistage"))) for seed in range(20)]
    return [each for each in found if isinstance(each, KernelPlan)]


def test_the_ring_of_kernels_that_load_and_multiply_in_turns() -> None:
    variants = set()
    for found in kernels():
        stages, shown = found.config.stages or 1, timeline(found)
        variants.add((min(stages, 3), found.double_buffer, found.a.copy.asynchronous))
        check_ring(shown, stages)
        uses = {bar.k_tile: bar for bars in slots(shown) for bar in bars if bar.kind == "use"}
        fetches, products = lane(shown, "S2R"), lane(shown, "MMA")
        blocks = found.a.fragments.k_blocks
        in_order = [f"{k_tile}.{block}" for k_tile in sorted(uses) for block in range(blocks)]
        assert [bar.label for bar in fetches] == [bar.label for bar in products] == in_order
        for fetch, product in zip(fetches, products, strict=True):
            assert uses[fetch.k_tile].start <= fetch.start < fetch.end <= uses[fetch.k_tile].end + 1e-9
            assert fetch.end <= product.start + 1e-9
        loads = lane(shown, "G2S")
        assert [bar.k_tile for bar in loads] == sorted(uses)
        # In a ring, STAGES - 1 k-tiles are under way before the first is multiplied.
        before = [bar for bar in loads if bar.end <= products[0].start]
        assert len(before) == max(1, stages - 1)
        waits = [mark.at for mark in shown.marks if mark.label != "sync" or not found.a.copy.asynchronous]
        assert {bar.start for bar in uses.values()} <= set(waits)
        assert any(each.name == "registers" for each in shown.lanes) == (
            not (found.a.copy.asynchronous and found.b.copy.asynchronous)
        )
    assert {stages for stages, _, _ in variants} == {1, 2, 3}
    assert (
        {double for _, double, _ in variants}
        == {asynchronous for *_, asynchronous in variants}
        == {True, False}
    )


def test_phases_are_prologue_steady_state_and_drain() -> None:
    shown = timeline(planned("ampere_bf16"))
    assert [phase.label for phase in shown.phases] == ["prologue", "steady state", "drain"]
    prologue, steady, drain = shown.phases
    assert (prologue.end, steady.end) == (steady.start, drain.start)
    loads = lane(shown, "G2S")
    assert [bar.k_tile for bar in loads if bar.start < prologue.end] == [0, 1]
    assert not [bar for bar in loads if bar.start >= drain.start]
    assert {mark.label for mark in shown.marks} == {"wait<1>"}


def test_direct_has_no_ring() -> None:
    shown = timeline(planned("simple"))
    assert slots(shown) == []
    loads, products = lane(shown, "G2R"), lane(shown, "MMA")
    assert [bar.label for bar in loads] == [bar.label for bar in products]
    assert all(a.end <= b.start for a, b in zip(loads, products, strict=True))


@pytest.mark.parametrize(
    "name",
    ["pingpong", "cooperative", "multicast", "single", "split_k", "stream_k", "swap_ab", "fp8_promoted"],
)
def test_the_ring_of_producer_and_consumers(name: str) -> None:
    found = planned(f"hopper/{name}")
    assert isinstance(found, WgmmaPlan)
    stages, shown = found.config.stages or 1, timeline(found)
    check_ring(shown, stages)
    uses = {bar.k_tile: bar for bars in slots(shown) for bar in bars if bar.kind == "use"}
    loads = [bar for bar in lane(shown, "producer") if bar.kind == "use"]
    assert [bar.k_tile for bar in loads] == sorted(uses)
    for load in loads:
        before = uses.get(load.k_tile - stages)
        assert before is None or before.end <= load.start + 1e-9, "loaded before the slot was empty"
    consumers = [lane(shown, f"consumer {group}") for group in range(found.groups.count)]
    for bars in consumers:
        assert all(first.end <= second.start + 1e-9 for first, second in pairwise(bars))
        for bar in bars:
            if bar.kind == "use":
                assert uses[bar.k_tile].start <= bar.start + 1e-9
                assert bar.end <= uses[bar.k_tile].end + 1e-9
    turns = [[bar.k_tile for bar in bars if bar.kind == "use"] for bars in consumers]
    if not found.groups.pingpong:
        assert all(turn == sorted(uses) for turn in turns)
        return
    assert sorted(turns[0] + turns[1]) == sorted(uses)
    assert turns[0] == [0, 1, 2, 3, 8, 9, 10, 11]
    products = sorted((bar for bars in consumers for bar in bars if bar.kind == "use"), key=lambda b: b.start)
    assert all(first.end <= second.start + 1e-9 for first, second in pairwise(products)), "both at once"
    stores = [bar for bars in consumers for bar in bars if bar.kind == "other"]
    hidden = [s for s in stores if any(s.start < p.end and p.start < s.end for p in products)]
    assert len(hidden) == len(stores) - 1, "a store that no mainloop hides"
