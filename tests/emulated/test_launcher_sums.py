"""The launcher of kernels whose CTAs sum in global memory: grids and workspaces, against the fake driver."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cutegen.config import GemmConfig
from cutegen.render import LaunchSpec
from tests.emulated.test_launcher_tma import Rig, cuda, launch, only
from tests.support.rule_cases_wgmma import hopper

__all__ = ["cuda"]  # a fixture

RESIDENT = 21  # CTAs that the fake device holds
SLOT, FLAGS = 128 * 128 * 4, 8  # of a CTA tile with two consumers
STREAM_K = hopper({"scheduler.kind": "stream_k"}, tile=[128, 128, 64])
SHARED = {"scheduler.split_k": 12, "scheduler.reduction": "semaphore"}


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory, cuda: Path) -> Rig:
    return Rig(tmp_path_factory.mktemp("stream_k"), cuda, STREAM_K)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, cuda: Path) -> Rig:
    return Rig(tmp_path_factory.mktemp("semaphore"), cuda, hopper(SHARED, tile=[128, 128, 64]))


def verbs(calls: list[str]) -> list[str]:
    wanted = ("pool", "allocate", "fill", "launch", "attribute", "free")
    return [verb for verb in (call.split()[0] for call in calls) if verb in wanted]


def grids(calls: list[str]) -> list[int]:
    return [int(call.split()[3]) for call in only(calls, "launch")]


def agrees(spec: LaunchSpec, most: int, *shapes: tuple[int, int, int]) -> list[tuple[int, int]]:
    """What the emulator takes: CTAs and slots."""
    return [(spec.clusters(*s, most=most) * spec.cluster_size, spec.slots(*s, most=most)) for s in shapes]


def run(rig: Rig, *steps: tuple[str, Any]) -> list[str]:
    return rig.calls(("tell", {"sums": 1}), *steps)


def test_a_stream_keeps_its_workspace(streamed: Rig) -> None:
    calls = run(streamed, launch(), launch(), launch(stream=0x88), launch())
    made = ["allocate", "fill", "launch"]
    assert verbs(calls) == ["pool", *made, "launch", *made, "launch"]
    assert grids(calls) == [RESIDENT] * 4
    for call, stream in zip(only(calls, "allocate"), ("77", "88"), strict=True):
        assert call.startswith(f"allocate {RESIDENT * (SLOT + FLAGS * 4)} of 5000 stream {stream} ")
    sums = [re.findall(r"\w+", call)[1::2] for call in only(calls, "sums")]
    assert sums[0] == sums[1] == sums[3] != sums[2]
    begin, flags = (int(x, 16) for x in sums[0])
    assert flags - begin == RESIDENT * SLOT
    assert only(calls, "fill")[0] == f"fill {flags:x} with 0, {RESIDENT * FLAGS * 4}, stream 77"


def test_a_larger_problem_gets_a_larger_workspace(shared: Rig) -> None:
    deep = {"k": 1024, "lda": 1024, "ldb": 1024}
    calls = run(shared, launch(m=128, n=128, **deep), launch(**deep), launch(m=128, n=128, **deep))
    assert verbs(calls) == [
        "pool",
        "allocate",
        "fill",
        "launch",
        "allocate",
        "fill",
        "free",
        "launch",
        "launch",
    ]
    assert grids(calls) == [12, RESIDENT, 12]
    assert only(calls, "allocate")[1].startswith(f"allocate {8 * 16 * 11 * (SLOT + FLAGS * 4)} ")
    sums = only(calls, "sums")
    assert sums[1] == sums[2] != sums[0]  # flags lie where flags have always been


def test_no_workspace_where_no_tile_is_shared(streamed: Rig, shared: Rig) -> None:
    calls = run(streamed, launch(m=128 * 7, n=128 * 3), launch(m=128 * 6, n=128 * 7))
    assert verbs(calls) == ["pool", "launch", "launch"]
    assert only(calls, "sums") == ["sums 0 flags 0"] * 2
    assert verbs(run(shared, launch(k=64), launch(k=0, a=0, b=0))) == ["pool", "launch", "launch"]


def test_grids_and_slots_are_those_of_the_emulator(streamed: Rig, shared: Rig) -> None:
    shapes = [(1000, 2000, 96), (128, 128, 1024), (128, 128, 64), (300, 200, 4096), (896, 384, 512)]
    for rig in (streamed, shared):
        seen = []
        for m, n, k in shapes:
            calls = run(rig, launch(m=m, n=n, k=k, lda=8192, ldb=8192))
            size = [int(call.split()[1]) // (SLOT + FLAGS * 4) for call in only(calls, "allocate")]
            seen.append((grids(calls)[0], size[0] if size else 0))
        assert seen == agrees(rig.launch, RESIDENT, *shapes)


def test_a_captured_launch_has_a_workspace_of_its_own(streamed: Rig) -> None:
    steps = [launch(), ("tell", {"capturing": 1}), launch(), ("tell", {"capturing": 0}), launch()]
    calls = run(streamed, *steps)
    made = ["allocate", "fill", "launch"]
    assert verbs(calls) == ["pool", *made, *made, "free", "launch"]
    first, captured, last = only(calls, "sums")
    assert first == last != captured


def test_the_first_launch_may_be_captured(streamed: Rig) -> None:
    """To make a pool would break the capture, so that loading does it."""
    loaded = verbs(run(streamed, ("load", 0)))
    assert loaded == ["pool"]
    steps = [("load", 0), ("tell", {"capturing": 1}), launch()]
    assert verbs(run(streamed, *steps)) == ["pool", "allocate", "fill", "launch", "free"]


def test_more_streams_than_are_kept(streamed: Rig) -> None:
    calls = run(streamed, *(launch(stream=0x100 + i) for i in range(17)), launch(stream=0x100))
    assert verbs(calls)[-5:] == ["allocate", "fill", "launch", "free", "launch"]
    assert len(only(calls, "free")) == 1
    assert len(set(only(calls, "sums"))) == 17


def test_a_dependent_launch_starts_early_once_there_is_a_workspace(tmp_path: Path, cuda: Path) -> None:
    config: GemmConfig = hopper({"scheduler.kind": "stream_k"}, tile=[128, 128, 64], pdl=True)
    calls = run(Rig(tmp_path / "pdl", cuda, config), launch(), launch())
    assert verbs(calls) == ["pool", "allocate", "fill", "launch", "attribute", "launch"]


@pytest.mark.parametrize(("error", "left"), [("allocate_error", []), ("fill_error", ["free"])])
def test_a_workspace_that_cannot_be_made_is_not_kept(streamed: Rig, error: str, left: list[str]) -> None:
    with pytest.raises(AssertionError, match="2"):
        streamed.calls(("tell", {error: 2}), launch())
    # The same in one process: what failed is tried again.
    steps = [("tell", {error: 2}), launch(), ("tell", {error: 0}), launch()]
    calls = streamed.calls(*steps, failures=1)
    tried = ["allocate", *(["fill"] if left else []), *left]
    assert verbs(calls) == ["pool", *tried, "allocate", "fill", "launch"]
