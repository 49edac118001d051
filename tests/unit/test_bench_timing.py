"""How samples are taken: order, states, and what is done when the host is late."""

from __future__ import annotations

import itertools
import random

import pytest

from cutegen.bench.timing import STATES, Case, Samples, measure
from cutegen.errors import CheckFailedError
from tests.support.fake_gpu import FakeGpu


def cases(gpu: FakeGpu, **times: float) -> list[Case]:
    return [Case(name=name, launches=(gpu.kernel(name, us),)) for name, us in times.items()]


@pytest.mark.parametrize("state", ["cool", "hot"])
def test_times_are_those_of_the_kernels(state: str) -> None:
    gpu = FakeGpu()
    found = measure(cases(gpu, a=30.0, b=300.0), gpu, STATES[state], rounds=5, rng=random.Random(0))
    assert {name: samples.median for name, samples in found.items()} == pytest.approx({"a": 40, "b": 400})
    assert all(len(samples.microseconds) == 5 and not samples.repeated for samples in found.values())


def test_every_round_has_each_once_in_an_order_of_its_own() -> None:
    gpu = FakeGpu()
    names = "abcd"
    measure(cases(gpu, **dict.fromkeys(names, 10.0)), gpu, STATES["hot"], rounds=8, rng=random.Random(0))
    launched = [entry for entry in gpu.log if entry in names]
    rounds = [tuple(launched[i : i + 4]) for i in range(4, len(launched), 4)]  # behind the first calls
    assert len(rounds) == 9  # one is thrown away
    assert all(sorted(r) == list(names) for r in rounds)
    assert len(set(rounds)) > 4


def test_a_sample_is_flushed_and_marked_around_the_launch_alone() -> None:
    gpu = FakeGpu()
    measure(cases(gpu, a=10.0), gpu, STATES["cool"], rounds=1, rng=random.Random(0))
    sample = ["wait", "idle", "flush", "hold 200", "mark", "a", "mark", "wait"]
    assert gpu.log == ["a", "wait", *sample, *sample]


def test_hot_launches_follow_each_other_without_a_rest() -> None:
    gpu = FakeGpu()
    measure(cases(gpu, a=10.0, b=10.0), gpu, STATES["hot"], rounds=1, rng=random.Random(0))
    last = gpu.log[-9:]
    assert "idle" not in gpu.log
    assert [entry for entry in last if entry not in "ab"] == ["flush", "mark", "mark"] * 2 + ["wait"]


def test_a_late_host_is_seen_and_the_sample_taken_again() -> None:
    slow = itertools.chain([5.0] * 30, [400.0] * 4, itertools.repeat(5.0))
    gpu = FakeGpu(enqueue=lambda: next(slow))
    found = measure(cases(gpu, a=30.0), gpu, STATES["hot"], rounds=9, rng=random.Random(0))["a"]
    assert found.repeated > 0
    assert found.microseconds == pytest.approx([40.0] * 9)  # none has the 400 us of the host in it


def test_the_guard_grows_until_it_holds() -> None:
    gpu = FakeGpu(enqueue=lambda: 300.0)
    found = measure(cases(gpu, a=30.0), gpu, STATES["cool"], rounds=3, rng=random.Random(0))["a"]
    assert found.microseconds == pytest.approx([40.0] * 3)
    holds = [float(entry.split()[1]) for entry in gpu.log if entry.startswith("hold")]
    assert holds == sorted(holds)
    assert holds[-1] >= 900.0
    assert not found.repeated  # only the round that is thrown away needed it


def test_a_host_that_is_never_in_time_is_an_error() -> None:
    gpu = FakeGpu(enqueue=lambda: 1e7)
    with pytest.raises(CheckFailedError, match=r"a cannot be timed: the host needs more than \d+ ms"):
        measure(cases(gpu, a=30.0), gpu, STATES["cool"], rounds=3, rng=random.Random(0))


def test_a_chain_goes_through_all_operands_and_gives_the_time_of_one() -> None:
    gpu = FakeGpu()
    launches = [gpu.kernel(f"w{i}", 10.0) for i in range(3)]
    found = measure([Case(name="a", launches=launches)], gpu, STATES["chain"], rounds=2, rng=random.Random(0))
    assert found["a"].microseconds == pytest.approx([10.0, 10.0])
    assert "flush" not in gpu.log
    sample = gpu.log[-gpu.log[::-1].index("hold 400") :]
    assert [entry for entry in sample if entry != "mark"] == [f"w{i % 3}" for i in range(18)] + ["wait"]
    assert (sample.index("mark"), sample[::-1].index("mark")) == (2, 1)  # two lead, the last is timed


def test_progress_is_told_of_each_round() -> None:
    gpu, calls = FakeGpu(), []
    measure(
        cases(gpu, a=10.0),
        gpu,
        STATES["hot"],
        rounds=4,
        rng=random.Random(0),
        progress=lambda: calls.append(0),
    )
    assert len(calls) == 5


def test_median_and_quartiles() -> None:
    assert Samples(microseconds=[5.0]).quartiles == (5.0, 5.0)
    samples = Samples(microseconds=[1.0, 9.0, 2.0, 3.0, 4.0])
    assert (samples.median, samples.quartiles) == (3.0, (2.0, 4.0))
