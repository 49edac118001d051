"""CTAs that wait for each other through global memory run together, and what orders them is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cutegen import emulator
from cutegen.emulator import emulate

pytestmark = pytest.mark.emulated

SOURCE = Path(__file__).parent / "grid_sync.cu"
LINES = SOURCE.read_text(encoding="utf-8").splitlines()
KERNELS = ("last_adds", "in_turn", "owner_waits", "volatile_flag", "everybody", "by_hand")


def run(kernel: str, splits: int = 4, fault: int = 0, **options: Any) -> emulator.EmulatorReport:
    """One of the file's kernels on three tiles."""
    words = (str(KERNELS.index(kernel)), "3", str(splits))
    return emulate(SOURCE, arguments=words, options=(f"-DFAULT={fault}",), **{"processes": 1, **options})


@pytest.mark.parametrize("kernel", KERNELS)
def test_correct_kernels_are_right_and_clean_in_20_schedules(kernel: str) -> None:
    for seed in range(20):
        report = run(kernel, seed=seed)
        assert report.status == 0, (seed, report.output)
        assert report.clean, (seed, report.summary())


@pytest.mark.parametrize("kernel", KERNELS)
def test_several_processes_start_again_as_one(kernel: str) -> None:
    report = run(kernel, processes=3)
    assert report.status == 0
    assert report.clean, report.summary()
    assert report.ctas == 12
    assert run(kernel, processes=3, sanitize=False).status == 0


@pytest.mark.parametrize(
    ("kernel", "fault", "kind", "at"),
    [
        ("last_adds", 1, "race-raw", "sum += workspace[(tile"),  # no fence before the atomic
        ("last_adds", 2, "race-raw", "sum += workspace[(tile"),  # no barrier before it
        ("last_adds", 3, "race-raw", "sum += workspace[(tile"),  # no fence behind it
        ("in_turn", 4, "race-raw", "float const old"),  # it does not wait for its turn
        ("owner_waits", 5, "race-raw", "sum += workspace[(block"),  # an arrival without a fence
        ("owner_waits", 6, "deadlock", "Barrier::wait_eq"),  # no arrival
        ("owner_waits", 7, "race-war", "workspace[blockIdx"),  # no wait
        ("volatile_flag", 8, "race-raw", "sum += workspace[(block"),  # no fence before the flag
        ("volatile_flag", 9, "race-raw", "sum += workspace[(block"),  # none behind it
        ("everybody", 10, "race-war", "workspace[blockIdx"),  # no barrier of the grid
        ("by_hand", 11, "race-war", "workspace[blockIdx"),  # its loop is gone
    ],
)
def test_faults_are_found(kernel: str, fault: int, kind: str, at: str) -> None:
    for seed in (0, 5):
        report = run(kernel, fault=fault, seed=seed)
        found = [f for f in report.findings if f.kind in (kind, "race-raw", "race-war")]
        assert found, (seed, report.summary())
        if seed == 0:
            assert kind in {f.kind for f in report.findings}, report.summary()
            assert any(at in LINES[f.place.line - 1] for f in report.findings), report.summary()


def test_ctas_that_are_not_resident_are_a_finding() -> None:
    # One SM of sm_80 holds 32 CTAs of 64 threads, so the last 4 of 36 never start.
    report = run("by_hand", 12, multiprocessors=1)
    assert {f.kind for f in report.findings} == {"residency"}
    assert "32 CTAs that this GPU can hold at a time (1 SMs)" in report.findings[0].message
    assert run("by_hand", 12, multiprocessors=2).clean


def test_a_cooperative_launch_that_does_not_fit_is_refused() -> None:
    report = run("everybody", 12, multiprocessors=1)
    assert {f.kind for f in report.findings} == {"residency"}
    assert report.ctas == 0


def test_ctas_that_wait_for_earlier_ones_need_no_room() -> None:
    assert run("in_turn", 20, multiprocessors=1).clean
    assert run("owner_waits", 20, multiprocessors=1).clean
