"""``cutegen fuzz`` on the emulator: it finds planted faults of the kernel and of the rules."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

import pytest

from cutegen.emulator import find_host_toolchain
from cutegen.errors import Violation
from cutegen.fuzz import Case, Prober, Tools
from cutegen.render import render
from cutegen.trial import Problem
from tests.support.cases import base
from tests.support.cli import document, invoke

SMALL = base(tile=[32, 16, 32], tiled_mma={"layout": [1, 1, 1]}, smem={}, g2s={}, s2r={})
PROBLEM = Problem(m=40, n=24, k=72)


@pytest.fixture(scope="module")
def prober() -> Prober:
    return Prober(Tools(host=find_host_toolchain()))


def test_a_good_config_works(prober: Prober) -> None:
    assert prober(Case(seed=1, config=SMALL, orders=(0, 5))) is None


def test_a_kernel_that_races_is_found_and_shown_again(
    prober: Prober, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoilt(*args: Any, **options: Any) -> Any:
        good = render(*args, **options)
        assert good.text.count("__syncthreads();\n  T* d = ") == 1
        return dataclasses.replace(good, text=good.text.replace("__syncthreads();\n  T* d = ", "T* d = "))

    monkeypatch.setattr("cutegen.fuzz.probe.render", spoilt)
    config = base(tile=[64, 32, 32], tiled_mma={"layout": [2, 1, 1]}, smem={}, g2s={}, s2r={})
    found = prober(Case(seed=1, config=config.model_copy(update={"epilogue": base().epilogue})))
    assert found is not None
    assert (found.kind, found.detail) == ("finding", "race-raw")
    again = document(*shlex.split(found.repro)[1:], "--json")
    assert (again["ok"], again["failures"][0]["kind"]) == (False, "finding")
    assert again["failures"][0]["repro"] == found.repro


def test_a_rule_without_a_reason_is_found(prober: Prober, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Violation(rule="no-reason", field="stages", got="3", need="must be 4", fix="write 4")
    monkeypatch.setattr("cutegen.fuzz.probe.check", lambda config: [wrong])
    found = prober(Case(seed=1, config=SMALL, expectation="refused", problems=(PROBLEM,)))
    assert found is not None
    assert (found.kind, found.detail) == ("refused", "no-reason")
    assert "--force" in found.repro


def test_a_rule_with_a_reason_is_borne_out() -> None:
    """Shared memory for so many stages cannot be had."""
    text = "{arch: sm_75, a: {dtype: f16}, b: {dtype: f16}, stages: 9, tile: [64, 64, 32]}"
    found = invoke("fuzz", "--force", "--config", text, "--problem", "64,64,64")
    assert found.exit_code == 0, found.output
    assert "it does not work, as the rules say" in found.output
