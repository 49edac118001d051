"""Stream-K and split K through global memory: what is derived, said, and left to others."""

from __future__ import annotations

import pytest

import cutegen
from cutegen.cli.explain_wgmma import wgmma_facts, wgmma_rows
from cutegen.plan import WgmmaPlan, plan
from cutegen.render import LaunchSpec, render
from tests.support.rule_cases_wgmma import hopper

pytestmark = pytest.mark.unit

STREAM_K = {"scheduler.kind": "stream_k"}
SHARED = {"scheduler.split_k": 12, "scheduler.reduction": "semaphore"}


def planned(patches: dict[str, object], **top: object) -> WgmmaPlan:
    found = plan(hopper(patches, **top))
    assert isinstance(found, WgmmaPlan)
    return found


def launch(patches: dict[str, object], **top: object) -> LaunchSpec:
    return render(planned(patches, **top)).launch


def test_explain_tells_of_the_workspace() -> None:
    streamed = planned(STREAM_K, tile=[128, 128, 64])
    rows = dict(map(tuple, wgmma_rows(streamed)))
    assert "65536 B (64 KiB) of each CTA in global memory" in rows["stream-K"]
    facts = wgmma_facts(streamed)
    assert (facts["stream_k"], facts["split_k"], facts["workspace_slot_bytes"]) == (True, 1, 65536)
    shared = planned(SHARED, tile=[64, 64, 64])
    assert dict(map(tuple, wgmma_rows(shared)))["split K"].startswith(
        "12 CTAs share each tile; the last stores"
    )
    assert wgmma_facts(shared)["split_k"] == 12
    assert wgmma_facts(planned({}))["workspace_slot_bytes"] == 0


def test_shares_in_global_memory_take_no_shared_memory_and_no_cluster() -> None:
    tile = [64, 64, 64]
    whole, shared = planned({"stages": 6}, tile=tile), planned(SHARED | {"stages": 6}, tile=tile)
    assert (shared.smem_bytes, shared.split_k, shared.shares) == (whole.smem_bytes, 1, 12)
    assert launch(SHARED, tile=tile).cluster_size == 1
    assert "__cluster_dims__" not in render(shared).text


def test_one_share_needs_no_workspace() -> None:
    one = launch({"scheduler.split_k": 1, "scheduler.reduction": "semaphore"}, tile=[64, 64, 64])
    assert (one.sums, one.workspace, one.slots(64, 64, 4096, most=132)) == (None, False, 0)


def test_slots_are_for_what_is_shared() -> None:
    streamed = launch(STREAM_K, tile=[128, 256, 64], cluster=[2, 1, 1])
    assert streamed.sums is not None
    assert (streamed.sums.slot_bytes, streamed.sums.slot_flags) == (128 * 256 * 4, 8)
    assert streamed.slots(256 * 66, 256, 4096, most=66) == 0  # a whole wave
    assert streamed.slots(256 * 67, 256, 4096, most=66) == 132
    assert streamed.slots(256, 256, 128, most=66) == 4  # two clusters for two k-tiles
    assert streamed.slots(0, 256, 128, most=66) == 0
    shared = launch(SHARED, tile=[64, 64, 64], schedule="pingpong")
    assert shared.sums is not None
    assert (shared.sums.slot_bytes, shared.sums.slot_flags) == (64 * 64 * 4, 4)
    assert shared.slots(64 * 3, 64, 64 * 20, most=132) == 3 * 11
    assert shared.slots(64 * 3, 64, 64 * 5, most=132) == 3 * 4  # no more shares than k-tiles
    assert shared.slots(64 * 3, 64, 0, most=132) == 0


def test_stream_k_without_a_mainloop_is_that_of_cutlass() -> None:
    config = hopper(STREAM_K).replace(mainloop=None)
    assert cutegen.resolve(config).mainloop == "collective"
    split = hopper(SHARED, tile=[64, 64, 64]).replace(mainloop=None)
    assert cutegen.resolve(split).mainloop == "tma_wgmma"


def test_consumers_are_cooperative_unless_said_otherwise() -> None:
    assert cutegen.resolve(hopper(STREAM_K)).schedule == "cooperative"
    assert cutegen.resolve(hopper(STREAM_K, schedule="pingpong")).schedule == "pingpong"
