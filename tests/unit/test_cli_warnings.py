"""Warnings on the command line: after ``ok``, in JSON, and as errors with ``--strict``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutegen.loader import loads
from tests.support.cli import GOOD, document, invoke

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wary(tmp_path: Path) -> str:
    path = tmp_path / "wary.yaml"
    path.write_text(GOOD.replace("stages: 3", "stages: 1") + "g2s: {a: {bits: 64}}\n")
    return str(path)


def test_check_prints_warnings_and_succeeds(wary: str) -> None:
    found = invoke("check", wary)
    assert (found.exit_code, found.stderr) == (0, "")
    lines = found.stdout.splitlines()
    assert lines[0].startswith(f"ok  {wary}  ")
    assert lines[1] == (
        f"  warning: {wary}:5:17: g2s.a.bits: 8 copies a thread and k-tile, of which 4 would do "
        "(got 64 bits with a.align: 16)"
    )
    assert lines[2] == "    leave g2s.a out, which copies 128 bits at a time [narrow-copies]"
    assert lines[3].startswith(
        f"  warning: {wary}:4:9: stages: copies and multiplications take turns (got 1)"
    )
    assert len(lines) == 5


def test_strict_makes_them_an_error(wary: str, tmp_path: Path) -> None:
    found = invoke("check", wary, "--strict")
    assert found.exit_code == 1
    assert found.stdout.count("warning:") == 2
    assert found.stderr == f"error: {wary}: 2 warnings, which --strict does not let pass\n"
    parsed = document("check", wary, "--strict", "--json")
    assert (parsed["ok"], parsed["exit_code"], parsed["error"]) == (False, 1, "CheckFailedError")
    assert len(parsed["configs"][0]["warnings"]) == 2
    clean = tmp_path / "clean.yaml"
    clean.write_text(GOOD)
    assert invoke("check", str(clean), "--strict").exit_code == 0
    bad = tmp_path / "bad.yaml"
    bad.write_text(GOOD + "tile: [100, 128, 32]\n")
    assert invoke("check", str(bad), wary, "--strict").exit_code == 2


@pytest.mark.parametrize("command", ["check", "explain"])
def test_json_has_them(command: str, wary: str) -> None:
    (config,) = document(command, wary, "--json")["configs"]
    first, second = config["warnings"]
    assert second == {
        "id": "one-stage",
        "field": "stages",
        "message": "copies and multiplications take turns",
        "got": "1",
        "fix": "use stages: 4",
        "position": f"{wary}:4:9",
        "file": wary,
        "line": 4,
        "column": 9,
    }
    assert first["id"] == "narrow-copies"


def test_explain_shows_the_cost_of_each_access(wary: str) -> None:
    found = invoke("explain", wary)
    assert found.exit_code == 0
    rows = {line.split("  ")[0][2:] for line in found.stdout.splitlines() if " ideal " in line}
    assert rows == {"G2S A", "G2S B", "S2R A", "S2R B", "R2S D", "S2G D"}
    assert "# S2R A  shared, ldmatrix of 16 B" in found.stdout
    assert "#  warning: " in found.stdout
    assert loads(found.stdout).stages == 1  # still a config
    facts = document("explain", wary, "--json")["configs"][0]["facts"]
    first = facts["accesses"][0]
    assert first["name"] == "G2S A"
    assert (first["op"], first["space"], first["unit"], first["degree"]) == (
        "cp.async.ca",
        "global",
        "sectors",
        1.0,
    )


def test_warnings_of_a_matrix_name_their_cases(tmp_path: Path) -> None:
    path = tmp_path / "matrix.yaml"
    path.write_text(GOOD.replace("stages: 3\n", "") + "matrix: {stages: [1, 2, 3], a.align: [8, 16]}\n")
    found = invoke("check", str(path))
    assert found.exit_code == 0
    assert "matrix file, 6 cases" in found.stdout
    assert "(got 1) in stages=1,a.align=8, stages=1,a.align=16" in found.stdout
    (warning,) = document("check", str(path), "--json")["configs"][0]["warnings"]
    assert warning["cases"] == ["stages=1,a.align=8", "stages=1,a.align=16"]
    assert warning["id"] == "one-stage"
    assert invoke("check", str(path), "--strict").exit_code == 1


def test_the_matrix_of_the_examples_has_none() -> None:
    assert invoke("check", str(ROOT / "examples" / "ci_matrix.yaml"), "--strict").exit_code == 0


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    (config,) = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("my_gemm.yaml").write_text(config)
    digest = re.compile(r"_[0-9a-f]{8}\b")
    assert digest.sub("", invoke("check", "my_gemm.yaml").stdout) == digest.sub("", shown)


def test_rules_explains_a_warning() -> None:
    found = invoke("rules", "bank-conflicts")
    assert found.exit_code == 0
    assert found.stdout.splitlines()[0] == "warnings"
    assert "32 banks of 4 bytes" in found.stdout


def test_check_keeps_budgets_that_the_plan_shows(tmp_path: Path) -> None:
    path = tmp_path / "k.yaml"
    path.write_text(GOOD + "limits: {min_ctas_per_sm: 30}\n")
    found = invoke("check", str(path))
    assert (found.exit_code, found.stdout) == (1, "")
    assert f"{path}:5:27: limits.min_ctas_per_sm: must be at least 30 (got " in found.stderr
    assert document("check", str(path), "--json")["error"] == "BudgetError"
    path.write_text(GOOD + "limits: {min_ctas_per_sm: 1, max_conflict_ways: 1}\n")
    assert invoke("check", str(path)).exit_code == 0
    path.write_text(GOOD + "limits: {min_ctas_per_sm: 2}\nmatrix: {stages: [1, 9]}\n")
    found = invoke("check", str(path))
    assert found.exit_code == 1
    assert "1 of 2 cases are over budget" in found.stderr
