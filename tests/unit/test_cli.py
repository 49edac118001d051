"""The command line: help, errors, and the commands that look at a config."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import click
import pytest

from cutegen.cli.common import MAINLOOPS, STYLES
from cutegen.cli.console import size_text, table
from cutegen.cli.exits import EXIT_CODES
from cutegen.cli.group import COMMANDS
from cutegen.config import MainloopName
from cutegen.errors import CompileError, ConfigError, CutegenError, LaunchError, ToolchainError, Violation
from cutegen.loader import load, loads
from cutegen.render import Style
from tests.support.cli import GOOD, document, invoke

ROOT = Path(__file__).parents[2]


def test_choices_are_those_of_the_config() -> None:
    assert get_args(Style) == STYLES
    assert get_args(MainloopName) == MAINLOOPS


def test_help_lists_every_command_and_exit_code() -> None:
    found = invoke("--help")
    assert found.exit_code == 0
    for name in (
        "build",
        "check",
        "render",
        "explain",
        "run",
        "schema",
        "rules",
        "doctor",
        "cache",
        "matrix",
    ):
        assert name in COMMANDS
        assert f"  {name} " in found.stdout
    for code, text in EXIT_CODES.items():
        assert f"{code}  {text}" in found.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_json_and_exit_codes(name: str) -> None:
    found = invoke(name, "--help")
    assert found.exit_code == 0
    assert "Exit codes:" in found.stdout
    assert "--json" in found.stdout or name == "cache"


@pytest.mark.parametrize("name", ["ls", "info", "prune", "clear", "export", "import"])
def test_each_cache_command_has_json(name: str) -> None:
    assert "--json" in invoke("cache", name, "--help").stdout


def test_version() -> None:
    from cutegen.version import __version__

    assert invoke("--version").stdout.strip().endswith(__version__)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["chek"], "did you mean check?"),
        (["qqq"], "use one of build, check"),
        (["check"], "CONFIG..."),
        (["render", "a.yaml", "b.yaml"], "b.yaml"),
        (["render", "a.yaml", "--style", "pretty"], "idiomatic"),
        (["check", "--nope"], "--nope"),
        (["matrix", "m.yaml", "--shard", "5/4"], "1 <= i <= n"),
        (["matrix", "m.yaml", "--shard", "x"], "1/4"),
        (["matrix", "m.yaml", "--shards", "4"], "--github"),
        (["cache", "prune", "--max-size", "big"], "500M"),
        (["cache", "prune", "--max-age", "old"], "30d"),
        (["build", "x.yaml", "--jobs", "0"], "jobs"),
    ],
)
def test_usage_errors_are_2_with_a_way_out(args: list[str], words: str) -> None:
    found = invoke(*args)
    assert found.exit_code == 2
    assert words in found.stderr
    assert not found.stdout
    parsed = document(*args, "--json")
    assert parsed["ok"] is False
    assert parsed["violations"] == []
    assert words in parsed["message"]


def test_python_m_runs_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cutegen", "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage: cutegen ")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("no"), 2),
        (ToolchainError("no"), 3),
        (CompileError("x.cu", ["nvcc", "a b.cu"], "x.cu(1): error: no"), 4),
        (LaunchError("no"), 5),
        (CutegenError("no"), 1),
    ],
)
def test_every_error_has_its_code(
    monkeypatch: pytest.MonkeyPatch, good: str, error: CutegenError, code: int
) -> None:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr("cutegen.cli.render.planned", fail)
    found = invoke("render", good)
    assert found.exit_code == code
    assert found.stderr.startswith("error: ")
    assert not found.stdout
    assert document("render", good, "--json")["error"] == type(error).__name__


def test_compile_errors_can_be_pasted(monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    def fail(_: object) -> None:
        raise CompileError("x.cu", ["nvcc", "a b.cu"], "x.cu(1): error: no")

    monkeypatch.setattr("cutegen.cli.render.planned", fail)
    assert "reproduce with: nvcc 'a b.cu'" in invoke("render", good).stderr


@pytest.mark.parametrize(
    "end", ["error: out of memory", "nvcc failed (ended by SIGKILL, perhaps for lack of memory)"]
)
def test_compilers_that_lack_memory_are_not_the_fault_of_cutegen(
    monkeypatch: pytest.MonkeyPatch, good: str, end: str
) -> None:
    def fail(_: object) -> None:
        raise CompileError("x.cu", ["nvcc", "b.cu"], f"x.cu(1): {end}")

    monkeypatch.setattr("cutegen.cli.render.planned", fail)
    found = invoke("render", good)
    assert "fewer --jobs" in found.stderr
    assert "please report" not in found.stderr


def test_a_fault_of_cutegen_says_so(monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    def fail(_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr("cutegen.cli.render.planned", fail)
    found = invoke("render", good)
    assert found.exit_code == 70
    assert "please report it" in found.stderr
    assert document("render", good, "--json")["error"] == "InternalError"


def test_interrupt_is_not_a_traceback(monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    def fail(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cutegen.cli.render.planned", fail)
    found = invoke("render", good)
    assert found.exit_code == 130
    assert "Traceback" not in found.output


def test_check_a_good_config(good: str) -> None:
    found = invoke("check", good)
    assert found.exit_code == 0
    assert found.stdout.startswith(f"ok  {good}  gemm_sm80_")
    assert "\x1b" not in found.output
    parsed = document("check", good, "--json")
    assert parsed["ok"] is True
    assert parsed["configs"][0]["name"].startswith("gemm_sm80_")
    assert parsed["configs"][0]["threads"] >= 32


def test_check_lists_every_mistake_with_place_and_fix(bad: str) -> None:
    found = invoke("check", bad)
    assert found.exit_code == 2
    assert f"{bad}:4:9: stages: must be an integer (got x) [schema]" in found.stderr
    assert f"{bad}:5:1: tiel: must be a field of a config" in found.stderr
    assert "fix: did you mean tile?" in found.stderr
    parsed = document("check", bad, "--json")
    assert parsed["error"] == "ConfigError"
    assert [v["position"] for v in parsed["violations"]] == [f"{bad}:4:9", f"{bad}:5:1"]
    assert parsed["configs"][0]["violations"] == parsed["violations"]


def test_check_a_rule_violation_with_its_place(illegal: str) -> None:
    found = invoke("check", illegal)
    assert found.exit_code == 2
    assert f"{illegal}:4:9: stages: " in found.stderr
    (violation,) = [v for v in document("check", illegal, "--json")["violations"] if v["field"] == "stages"]
    assert violation["position"] == f"{illegal}:4:9"


def test_check_goes_on_after_a_bad_config(good: str, bad: str) -> None:
    found = invoke("check", bad, good, "no/such.yaml")
    assert found.exit_code == 2
    assert f"ok  {good}" in found.stdout
    assert "no/such.yaml: no such file" in found.stderr
    assert "1 ok, 2 failed" in found.stderr
    parsed = document("check", bad, good, "--json")
    assert [c["ok"] for c in parsed["configs"]] == [False, True]


def test_check_standard_input() -> None:
    assert invoke("check", "-", stdin=GOOD).exit_code == 0
    found = invoke("check", "-", stdin="arch: x\n")
    assert "<stdin>:1:7: arch" in found.stderr
    done = subprocess.run(
        [sys.executable, "-m", "cutegen", "check", "-"], input=b"a\xff", capture_output=True
    )
    assert done.returncode == 2
    assert b"<stdin>:1:2: must be UTF-8 text" in done.stderr


@pytest.mark.parametrize("style", ["resolved", "idiomatic"])
def test_render(good: str, tmp_path: Path, style: str) -> None:
    found = invoke("render", good, "--style", style)
    assert found.exit_code == 0, found.output
    assert "__global__" in found.stdout
    assert not found.stderr
    output = tmp_path / "k.cu"
    written = invoke("render", good, "--style", style, "-o", str(output))
    assert not written.stdout
    assert output.read_text() == found.stdout
    parsed = document("render", good, "--style", style, "--json")
    assert parsed["text"] == found.stdout
    assert parsed["launch"]["threads"] >= 32


def test_render_to_a_place_that_cannot_be_written(good: str, tmp_path: Path) -> None:
    found = invoke("render", good, "-o", str(tmp_path / "no" / "k.cu"))
    assert found.exit_code == 2
    assert "name another file" in found.stderr


def test_explain_prints_a_config_again(good: str) -> None:
    found = invoke("explain", good)
    assert found.exit_code == 0, found.output
    again = loads(found.stdout)
    assert again.stages == 3
    assert again.tile is not None
    assert again != load(good)
    stages = next(line for line in found.stdout.splitlines() if line.startswith("stages:"))
    assert "auto" not in stages
    tile = next(line for line in found.stdout.splitlines() if line.startswith("tile:"))
    assert tile.endswith("# auto")
    operand = next(line for line in found.stdout.splitlines() if line.startswith("a:"))
    assert operand.endswith("# auto: major, align")


def test_explain_is_idempotent(good: str, tmp_path: Path) -> None:
    first = document("explain", good, "--json")["configs"][0]
    again = tmp_path / "again.yaml"
    again.write_text(invoke("explain", good).stdout)
    second = document("explain", str(again), "--json")["configs"][0]
    assert second["resolved"] == first["resolved"]
    assert second["facts"] == first["facts"]
    assert "tile" in first["auto"]
    assert "stages" not in first["auto"]
    assert second["auto"] == []


def test_schema_is_a_json_schema_that_accepts_what_the_loader_accepts() -> None:
    jsonschema = pytest.importorskip(
        "jsonschema", reason="jsonschema is not installed; install cutegen[test]"
    )
    schema = document("schema")
    assert schema == document("schema", "--json")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    fine = {"arch": "sm_80", "a": {"dtype": "half", "major": "auto"}, "b": {"dtype": "f16"}}
    for extra in (
        {},
        {"stages": "auto", "tile": None, "smem": "auto"},
        {"g2s": {"a": {"threads": {"shape": 32}}}},
        {"smem": {"a": {"shape": [8, 32], "stride": [32, 1], "swizzle": "none"}}},
        {"tiled_mma": {"permutation": [32, {"shape": [2, 8], "stride": [1, 2]}, 16]}},
    ):
        loads(json.dumps({**fine, **extra}))
        assert validator.is_valid({**fine, **extra}), extra
    for wrong in ({"stages": "3"}, {"tiel": 3}, {"arch": "auto"}, {"tile": [1, 2]}, {"a": {"dtype": "f17"}}):
        with pytest.raises(ConfigError):
            loads(json.dumps({**fine, **wrong}))
        assert not validator.is_valid({**fine, **wrong}), wrong


def test_matrix_schema() -> None:
    jsonschema = pytest.importorskip(
        "jsonschema", reason="jsonschema is not installed; install cutegen[test]"
    )
    schema = document("schema", "--matrix")
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    from cutegen.yamlread import parse

    def listed(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: listed(v) for k, v in value.items()}
        return [listed(v) for v in value] if isinstance(value, tuple) else value

    path = Path(__file__).parents[2] / "examples" / "ci_matrix.yaml"
    assert validator.is_valid(listed(parse(path.read_text(), "m").data))
    assert validator.is_valid({"arch": "sm_80", "a": {"major": "k"}, "matrix": {"a.dtype": ["f16"]}})
    assert not validator.is_valid({"arch": "sm_80"})
    assert not validator.is_valid({"matrix": {"stages": 3}})


def test_rules_are_listed_with_reason_and_source() -> None:
    from cutegen.lint import all_advices
    from cutegen.rules import all_rules
    from cutegen.toolchain.targets import TARGET_RULES

    found = invoke("rules")
    assert found.exit_code == 0
    parsed = document("rules", "--json")["rules"]
    ids = [r["id"] for r in parsed]
    assert len(ids) == len(set(ids))
    others = {"yaml", "schema", "matrix", "launch", "budget", *TARGET_RULES}
    warnings = {a.id for a in all_advices()}
    assert set(ids) == {r.id for r in all_rules()} | others | warnings
    assert {r["id"] for r in parsed if r["tier"] == "warning"} == warnings
    assert {r["tier"] for r in parsed} == {"error", "warning"}
    for rule in parsed:
        assert all(rule[key] for key in ("id", "family", "reason", "source"))
        assert f"  {rule['id']}\n" in found.stdout
    one = invoke("rules", parsed[0]["id"])
    assert parsed[0]["id"] in one.stdout
    assert parsed[-1]["id"] not in one.stdout
    missing = invoke("rules", parsed[0]["id"][:-1])
    assert missing.exit_code == 2
    assert f"did you mean {parsed[0]['id']}?" in missing.stderr


def test_every_id_in_a_message_is_listed(good: str, bad: str) -> None:
    for args in (["build", good, "--target", t] for t in ("80", "sm_75", "sm_90f")):
        (violation,) = document(*args, "--json")["violations"]
        assert invoke("rules", violation["rule"]).exit_code == 0
        assert (violation["file"], violation["line"], violation["column"]) == (None, None, None)
    for violation in document("check", bad, "--json")["violations"]:
        assert invoke("rules", violation["rule"]).exit_code == 0
    texts = [path.read_text() for path in (ROOT / "cutegen").rglob("*.py")]
    named = {name for text in texts for name in re.findall(r'rule="([a-z0-9-]+)"', text)}
    assert named <= {r["id"] for r in document("rules", "--json")["rules"]}


def test_places_are_given_in_parts_too(bad: str) -> None:
    for violation in document("check", bad, "--json")["violations"]:
        parts = (violation["file"], violation["line"], violation["column"])
        assert "{}:{}:{}".format(*parts) == violation["position"]
        assert violation["file"] == bad


def test_a_matrix_file_is_told_from_a_config(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\nmatrix:\n  stages: [3, 4]\n")
    for name in ("explain", "render", "build"):
        found = invoke(name, str(path))
        assert found.exit_code == 2
        assert f"{path}:4:1: matrix: must be one config here (got a matrix file)" in found.stderr
        assert f"'cutegen matrix {path}' checks and builds all its cases" in found.stderr
    assert invoke("check", str(path)).stdout == f"ok  {path}  matrix file, 2 cases\n"
    with pytest.raises(ConfigError, match="is a matrix file"):
        load(path)


def on_a_terminal(*args: str, **environment: str) -> str:
    """What a command writes to a terminal."""
    import pty

    leader, follower = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    done = subprocess.Popen(
        [sys.executable, "-m", "cutegen", *args],
        stdout=follower,
        stderr=follower,
        env={**env, "TERM": "xterm", **environment},
    )
    os.close(follower)
    chunks = []
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    done.wait()
    os.close(leader)
    return b"".join(chunks).decode()


def test_colours_on_a_terminal_only_and_never_with_no_color(good: str) -> None:
    assert "\x1b[" in on_a_terminal("check", good)
    assert "\x1b[" not in on_a_terminal("check", good, NO_COLOR="1")
    assert "\x1b[" not in invoke("check", good).output


def test_table_aligns_what_is_seen() -> None:
    rows = [[click.style("a", bold=True), "1"], ["bcd", "22"]]
    assert [click.unstyle(line) for line in table(rows, indent=1, right=[1])] == [" a     1", " bcd  22"]
    assert list(table([])) == []


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1 << 20, "1.0 MiB"),
        (5 << 30, "5.0 GiB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert size_text(count) == text


def test_violations_end_with_a_way_out() -> None:
    from cutegen.cli.console import violation_lines

    violation = Violation(rule="r", field="f", got="1", need="must be 2", fix="write 2")
    assert [click.unstyle(line) for line in violation_lines([violation])] == [
        "  f: must be 2 (got 1) [r]",
        "      fix: write 2",
    ]


def test_commands_are_modules_of_their_own() -> None:
    import importlib

    for name in COMMANDS:
        module = importlib.import_module(f"cutegen.cli.{name}")
        assert isinstance(module, ModuleType)
        assert isinstance(module.command, click.Command)
        assert module.command.name == name
