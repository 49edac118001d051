"""Running the cases of a matrix: results, budgets, JUnit reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen.budget import BudgetError, over_budget
from cutegen.errors import CompileError, ConfigError, ToolchainError, Violation
from cutegen.matrix import Matrix, expand
from cutegen.matrix import run as run_module
from cutegen.matrix.junit import TestCase, junit_xml
from cutegen.matrix.run import CaseResult, run_cases
from cutegen.plan import plan
from cutegen.yamlread import parse
from tests.support.cases import base

BASE = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\n"


def matrix(text: str, base: str = BASE) -> Matrix:
    return expand(parse(base + text, "m.yaml"))


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """``stages: 9`` breaks a rule; rendering only takes the stages along."""

    def plan(config: Any) -> Any:
        if config.stages == 9:
            broken = Violation(rule="stages-fit", field="stages", got="9", need="must fit", fix="write 6")
            raise ConfigError("this config cannot work (1 violation):", [broken])
        return SimpleNamespace(name=f"k{config.stages}", config=config, smem_bytes=0)

    def render(found: Any, *, style: str) -> Any:
        return SimpleNamespace(name=found.name, text=f"{found.name} {style}")

    monkeypatch.setattr(run_module, "plan", plan)
    monkeypatch.setattr(run_module, "render", render)


def artifact(registers: int = 100, spills: int = 0, smem: int = 1024) -> Any:
    used = SimpleNamespace(
        registers=registers, spill_stores=spills, spill_loads=spills, static_smem=0, dynamic_smem=smem
    )
    path = Path("x")
    return SimpleNamespace(resources=used, cached=False, source=path, so=path, header=path)


def compiler(outcomes: dict[str, Any]) -> Callable[[Sequence[Any]], list[Any]]:
    return lambda kernels: [outcomes.get(k.name) or artifact() for k in kernels]


@pytest.mark.usefixtures("fakes")
def test_results_in_order_with_their_reasons() -> None:
    cases = matrix("limits: {max_registers: 128}\nmatrix: {stages: [9, 1, 2, 3, 4]}\n").cases
    outcomes = {
        "k2": CompileError("x.cu", ["nvcc", "x.cu"], "x.cu(3): error: no"),
        "k3": artifact(registers=200),
        "k4": ToolchainError("nvcc cannot build for sm_80"),
    }
    results = run_cases(cases, compiler=compiler(outcomes))
    assert [(r.status, r.kind, r.code) for r in results] == [
        ("failed", "illegal", 2),
        ("passed", "", 0),
        ("failed", "compile", 4),
        ("failed", "budget", 1),
        ("failed", "toolchain", 3),
    ]
    assert "m.yaml:5:19: stages: must fit (got 9)" in str(results[0].error)
    assert "m.yaml:4:25: limits.max_registers: must be at most 128 (got 200 registers)" in str(
        results[3].error
    )
    assert results[3].figures == {"registers": 200, "spill_bytes": 0, "smem_bytes": 1024}
    assert results[0].to_dict()["violations"][0]["position"] == "m.yaml:5:19"


@pytest.mark.usefixtures("fakes")
def test_illegal_cases_may_be_skipped() -> None:
    found = matrix("matrix: {stages: [9, 1], illegal: skip}\n")
    results = run_cases(found.cases, illegal=found.illegal, compiler=compiler({}))
    assert [(r.status, r.code) for r in results] == [("skipped", 0), ("passed", 0)]


@pytest.mark.usefixtures("fakes")
def test_without_a_compiler_nothing_is_built() -> None:
    results = run_cases(matrix("matrix: {stages: [9, 1]}\n").cases)
    assert [r.status for r in results] == ["failed", "passed"]
    assert results[1].artifact is None


def over(**limits: int) -> list[str]:
    used = artifact(registers=129, spills=4, smem=49153).resources
    kernel = plan(base({f"limits.{name}": limit for name, limit in limits.items()}))
    return [v.field for v in over_budget(kernel, used)]


def test_each_budget() -> None:
    fields = ["limits.max_registers", "limits.max_spills", "limits.max_smem_bytes", "limits.min_ctas_per_sm"]
    assert over(max_registers=128, max_spills=7, max_smem_bytes=49152, min_ctas_per_sm=4) == fields
    assert over(max_registers=129, max_spills=8, max_smem_bytes=49153, min_ctas_per_sm=3) == []
    assert over() == []


def test_budget_error_survives_pickling() -> None:
    import pickle

    kernel = plan(base({"limits.max_spills": 0}))
    error = BudgetError("over", tuple(over_budget(kernel, artifact(spills=1).resources)))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert error.exit_code == 1


# JUnit ---------------------------------------------------------------------------------------------------

# What the schema of Ant's reports (windyroad/JUnit-Schema, JUnit.xsd) asks for: attributes with patterns, and
# the order of the children.
ATTRIBUTES = {
    "testsuites": {},
    "testsuite": {
        "package": r".*",
        "id": r"\d+",
        "name": r"\S.*",
        "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d",
        "hostname": r"\S+",
        "tests": r"\d+",
        "failures": r"\d+",
        "errors": r"\d+",
        "skipped": r"\d+",
        "time": r"\d+\.\d+",
    },
    "property": {"name": r"\S.*", "value": r"(?s).*"},
    "testcase": {"name": r"\S.*", "classname": r"\S.*", "time": r"\d+\.\d+"},
    "failure": {"type": r".+", "message": r"(?s).*"},
    "error": {"type": r".+", "message": r"(?s).*"},
    "skipped": {"message": r"(?s).*"},
}
CHILDREN = {
    "testsuites": r"testsuite ",
    "testsuite": r"properties (testcase )*system-out system-err ",
    "properties": r"(property )*",
    "testcase": r"((skipped|error|failure) )?",
}


def assert_valid_junit(text: str) -> ET.Element:
    root = ET.fromstring(text)
    for node in root.iter():
        wanted = ATTRIBUTES.get(node.tag, {})
        assert set(node.attrib) == set(wanted), node.tag
        for name, pattern in wanted.items():
            assert re.fullmatch(pattern, node.attrib[name]), (node.tag, name)
        assert re.fullmatch(CHILDREN.get(node.tag, ""), "".join(f"{child.tag} " for child in node)), node.tag
    suite = root[0]
    for attribute, tag in (
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ):
        assert int(suite.attrib[attribute]) == len(list(suite.iter(tag)))
    return root


@pytest.mark.usefixtures("fakes")
def test_junit_report_of_every_kind() -> None:
    cases = matrix("limits: {max_spills: 0}\nmatrix: {stages: [9, 1, 2, 3, 4]}\n").cases
    outcomes = {
        "k2": CompileError("x.cu", ["nvcc"], "error: <&> \x1b[31m \ud800"),
        "k3": artifact(spills=4),
        "k4": ToolchainError("no"),
    }
    results = run_cases(cases, compiler=compiler(outcomes))
    skipped = CaseResult(case=cases[0], status="skipped", error=ConfigError("no"))
    tests = [r.test_case("suite", 0.5) for r in [*results, skipped]]
    root = assert_valid_junit(junit_xml("suite", tests, started=datetime(2026, 1, 2, 3, 4, 5)))
    assert [n[0].tag if len(n) else "" for n in root.iter("testcase")] == [
        "failure",
        "",
        "failure",
        "failure",
        "error",
        "skipped",
    ]
    properties = {n.attrib["name"]: n.attrib["value"] for n in root.iter("property")}
    assert properties["stages=3.spill_bytes"] == "8"
    failure = next(root.iter("failure"))
    assert failure.attrib["type"] == "illegal"
    assert "stages: must fit" in failure.attrib["message"]
    assert "write 6" in str(failure.text)


@given(st.text(), st.text(), st.floats(0, 1e6), st.sampled_from(["passed", "failed", "error", "skipped"]))
def test_junit_report_holds_any_text(message: str, detail: str, seconds: float, status: Any) -> None:
    case = TestCase(
        name="n", classname="c", seconds=seconds, status=status, kind="k", message=message, detail=detail
    )
    assert_valid_junit(junit_xml("s", [case], started=datetime(2026, 1, 2)))


def test_empty_junit_report() -> None:
    assert_valid_junit(junit_xml("s", [], started=datetime(2026, 1, 2)))
