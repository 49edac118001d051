"""Numbers that are too large, or none, end with a message: no traceback, no endless wait, no broken JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutegen.config import GemmConfig
from cutegen.rules import check
from tests.support.cli import GOOD, document, invoke

pytestmark = pytest.mark.unit


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "k.yaml"
    path.write_text(GOOD)
    return str(path)


@pytest.mark.parametrize("layout", [(1024, 1024, 1), (256, 256, 1), (1024, 1024, 1024)])
def test_a_million_atoms_are_refused_at_once(layout: tuple[int, int, int]) -> None:
    data = {"arch": "sm_80", "a": {"dtype": "f16"}, "b": {"dtype": "f16"}, "tiled_mma": {"layout": layout}}
    assert "cta-threads" in [v.rule for v in check(GemmConfig.model_validate(data))]


@pytest.mark.parametrize("value", ["nan", "inf", "1e300", "-1"])
def test_seconds(good: str, value: str) -> None:
    for command in (["run", good, "--device", "cpu", "--timeout"], ["fuzz", "--seconds"]):
        assert invoke(*command, value).exit_code == 2


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("name", ["--alpha", "--beta"])
def test_factors(good: str, name: str, value: str) -> None:
    found = invoke("run", good, "--device", "cpu", name, value)
    assert found.exit_code == 2
    assert "must be a finite number" in found.stderr


@pytest.mark.parametrize("value", [".inf", ".nan", "1e999", "'1'"])
def test_a_budget_is_a_number(good: str, value: str) -> None:
    Path(good).write_text(GOOD + f"limits: {{max_conflict_ways: {value}}}\n")
    found = invoke("check", good)
    assert found.exit_code == 2
    assert "limits.max_conflict_ways: must be a number" in found.stderr
    assert "or another number" in found.stderr


def test_a_way_out_of_a_choice_of_numbers(good: str) -> None:
    Path(good).write_text(GOOD + "fragment_buffers: 3\n")
    assert "write for example 'fragment_buffers: 1'" in invoke("check", good).stderr


@pytest.mark.parametrize("expression", ["(_65536,_65536):(_1,_65536)", "(65536,65535):(1,1)"])
def test_layouts_beyond_32_bits(expression: str) -> None:
    assert document("layout", expression, "--json")["size"] is None
    assert invoke("layout", expression).exit_code == 0


def test_extents_beyond_32_bits(good: str) -> None:
    found = document("explain", good, "--shape", "128,128,2147483647", "--json")["configs"][0]
    assert found["partitions"][0]["layout"].endswith("K,_0,_32)")
    for shape in ("2147483648,1,1", "1,1,1099511627776", "\u0663,1,1"):
        assert invoke("explain", good, "--shape", shape).exit_code == 2


def test_run_keeps_budgets_that_the_plan_shows(good: str) -> None:
    Path(good).write_text(GOOD + "limits: {min_ctas_per_sm: 30}\n")
    assert document("run", good, "--device", "cpu", "--json")["error"] == "BudgetError"
    assert invoke("run", good, "--device", "cpu").exit_code == 1


def test_every_number_is_json(good: str) -> None:
    text = invoke("explain", good, "--json").stdout

    def refuse(word: str) -> float:
        raise AssertionError(word)

    assert json.loads(text, parse_constant=refuse)["ok"]
