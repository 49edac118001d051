"""The command line: what it prints, its exit codes, and one JSON document for everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from cutegen.build import Artifact, Resources
from cutegen.cli import main
from cutegen.cli.console import size_text, table
from cutegen.cli.group import COMMANDS, EXIT_CODES
from cutegen.errors import CompileError, ConfigError, CutegenError, LaunchError, ToolchainError, Violation
from cutegen.loader import load, loads

GOOD = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\nstages: 3\n"


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    return str(path)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.yaml"
    path.write_text(GOOD.replace("stages: 3", "stages: x\ntiel: 3"))
    return str(path)


@pytest.fixture
def illegal(tmp_path: Path) -> str:
    path = tmp_path / "illegal.yaml"
    path.write_text(GOOD.replace("stages: 3", "stages: 9999"))
    return str(path)


def cutegen(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, args, input=stdin)


def document(*args: str) -> dict[str, Any]:
    """The one JSON document that a command prints on stdout."""
    found = cutegen(*args)
    parsed = json.loads(found.stdout)
    assert parsed.get("exit_code", found.exit_code) == found.exit_code
    return dict(parsed)


# The group ------------------------------------------------------------------------------------------------


def test_help_lists_every_command_and_exit_code() -> None:
    found = cutegen("--help")
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
    found = cutegen(name, "--help")
    assert found.exit_code == 0
    assert "Exit codes:" in found.stdout
    assert "--json" in found.stdout or name == "cache"


@pytest.mark.parametrize("name", ["ls", "info", "prune", "clear", "export", "import"])
def test_each_cache_command_has_json(name: str) -> None:
    assert "--json" in cutegen("cache", name, "--help").stdout


def test_version() -> None:
    from cutegen.version import __version__

    assert cutegen("--version").stdout.strip().endswith(__version__)


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
    found = cutegen(*args)
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
    found = cutegen("render", good)
    assert found.exit_code == code
    assert found.stderr.startswith("error: ")
    assert not found.stdout
    assert document("render", good, "--json")["error"] == type(error).__name__


def test_compile_errors_can_be_pasted(monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    def fail(_: object) -> None:
        raise CompileError("x.cu", ["nvcc", "a b.cu"], "x.cu(1): error: no")

    monkeypatch.setattr("cutegen.cli.render.planned", fail)
    assert "reproduce with: nvcc 'a b.cu'" in cutegen("render", good).stderr


def test_a_fault_of_cutegen_says_so(monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    def fail(_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr("cutegen.cli.render.planned", fail)
    found = cutegen("render", good)
    assert found.exit_code == 70
    assert "please report it" in found.stderr
    assert document("render", good, "--json")["error"] == "InternalError"


def test_interrupt_is_not_a_traceback(monkeypatch: pytest.MonkeyPatch, good: str) -> None:
    def fail(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cutegen.cli.render.planned", fail)
    found = cutegen("render", good)
    assert found.exit_code == 130
    assert "Traceback" not in found.output


# check ----------------------------------------------------------------------------------------------------


def test_check_a_good_config(good: str) -> None:
    found = cutegen("check", good)
    assert found.exit_code == 0
    assert found.stdout.startswith(f"ok  {good}  gemm_sm80_")
    assert "\x1b" not in found.output
    parsed = document("check", good, "--json")
    assert parsed["ok"] is True
    assert parsed["configs"][0]["name"].startswith("gemm_sm80_")
    assert parsed["configs"][0]["threads"] >= 32


def test_check_lists_every_mistake_with_place_and_fix(bad: str) -> None:
    found = cutegen("check", bad)
    assert found.exit_code == 2
    assert f"{bad}:4:9: stages: must be an integer (got x) [schema]" in found.stderr
    assert f"{bad}:5:1: tiel: must be a field of a config" in found.stderr
    assert "fix: did you mean tile?" in found.stderr
    parsed = document("check", bad, "--json")
    assert parsed["error"] == "ConfigError"
    assert [v["position"] for v in parsed["violations"]] == [f"{bad}:4:9", f"{bad}:5:1"]
    assert parsed["configs"][0]["violations"] == parsed["violations"]


def test_check_a_rule_violation_with_its_place(illegal: str) -> None:
    found = cutegen("check", illegal)
    assert found.exit_code == 2
    assert f"{illegal}:4:9: stages: " in found.stderr
    (violation,) = [v for v in document("check", illegal, "--json")["violations"] if v["field"] == "stages"]
    assert violation["position"] == f"{illegal}:4:9"


def test_check_goes_on_after_a_bad_config(good: str, bad: str) -> None:
    found = cutegen("check", bad, good, "no/such.yaml")
    assert found.exit_code == 2
    assert f"ok  {good}" in found.stdout
    assert "no/such.yaml: no such file" in found.stderr
    assert "1 ok, 2 failed" in found.stderr
    parsed = document("check", bad, good, "--json")
    assert [c["ok"] for c in parsed["configs"]] == [False, True]


def test_check_standard_input() -> None:
    assert cutegen("check", "-", stdin=GOOD).exit_code == 0
    found = cutegen("check", "-", stdin="arch: x\n")
    assert "<stdin>:1:7: arch" in found.stderr
    done = subprocess.run(
        [sys.executable, "-m", "cutegen", "check", "-"], input=b"a\xff", capture_output=True
    )
    assert done.returncode == 2
    assert b"<stdin>:1:2: must be UTF-8 text" in done.stderr


# render, explain, schema, rules --------------------------------------------------------------------------


@pytest.mark.parametrize("style", ["resolved", "idiomatic"])
def test_render(good: str, tmp_path: Path, style: str) -> None:
    found = cutegen("render", good, "--style", style)
    assert found.exit_code == 0, found.output
    assert "__global__" in found.stdout
    assert not found.stderr
    output = tmp_path / "k.cu"
    written = cutegen("render", good, "--style", style, "-o", str(output))
    assert not written.stdout
    assert output.read_text() == found.stdout
    parsed = document("render", good, "--style", style, "--json")
    assert parsed["text"] == found.stdout
    assert parsed["launch"]["threads"] >= 32


def test_render_to_a_place_that_cannot_be_written(good: str, tmp_path: Path) -> None:
    found = cutegen("render", good, "-o", str(tmp_path / "no" / "k.cu"))
    assert found.exit_code == 2
    assert "name another file" in found.stderr


def test_explain_prints_a_config_again(good: str) -> None:
    found = cutegen("explain", good)
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
    again.write_text(cutegen("explain", good).stdout)
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
    from cutegen.rules import all_rules

    found = cutegen("rules")
    assert found.exit_code == 0
    parsed = document("rules", "--json")["rules"]
    assert {r["id"] for r in parsed} == {r.id for r in all_rules()}
    for rule in parsed:
        assert all(rule[key] for key in ("id", "family", "reason", "source"))
        assert f"  {rule['id']}\n" in found.stdout
    one = cutegen("rules", parsed[0]["id"])
    assert parsed[0]["id"] in one.stdout
    assert parsed[-1]["id"] not in one.stdout
    missing = cutegen("rules", parsed[0]["id"][:-1])
    assert missing.exit_code == 2
    assert f"did you mean {parsed[0]['id']}?" in missing.stderr


# build ----------------------------------------------------------------------------------------------------


class Toolchain:
    """Stands in for compilers: fails for kernels of 2 stages, and remembers what it was asked."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.calls: list[dict[str, Any]] = []
        self.registers = 128
        self.cached = False

    def find(self, nvcc: str | None = None) -> str:
        if nvcc == "/nowhere":
            raise ToolchainError("nvcc was not found; install cutegen[cuda13]")
        return "toolchain"

    def compile_many(self, kernels: list[Any], **options: Any) -> list[Any]:
        self.calls.append(options)
        results: list[Any] = []
        for index, kernel in enumerate(kernels):
            files = {}
            for name, suffix in (("source", ".cu"), ("so", ".so"), ("header", ".h"), ("cubin", ".cubin")):
                files[name] = self.directory / f"{kernel.name}{suffix}"
            files["ptx"] = self.directory / f"{kernel.name}.ptx"
            files["log"] = self.directory / "build.log"
            for path in files.values():
                path.write_text(kernel.text)
            if "_s2_" in kernel.name:
                results.append(CompileError(str(files["source"]), ["nvcc"], "x.cu(1): error: no"))
            else:
                resources = Resources(
                    registers=self.registers,
                    spill_stores=0,
                    spill_loads=0,
                    static_smem=0,
                    dynamic_smem=49152,
                    stack=0,
                )
                results.append(
                    Artifact(
                        key=f"{index:064x}",
                        name=kernel.name,
                        dir=self.directory,
                        command=("nvcc",),
                        target=options["target"] or "sm_80",
                        resources=resources,
                        cached=self.cached,
                        **files,
                    )
                )
            if options.get("progress"):
                options["progress"](index + 1, len(kernels), results[-1])
        return results


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Toolchain:
    directory = tmp_path / "kernels"
    directory.mkdir()
    fake = Toolchain(directory)
    # NOTE: cutegen.build as an attribute is the function; the module is only in sys.modules.
    monkeypatch.setattr(sys.modules["cutegen.build"], "compile_many", fake.compile_many)
    monkeypatch.setattr("cutegen.toolchain.find_toolchain", fake.find)
    return fake


def test_build_says_where_everything_is(good: str, toolchain: Toolchain) -> None:
    found = cutegen("build", good)
    assert found.exit_code == 0, found.output
    lines = dict(line.split(maxsplit=1) for line in found.stdout.splitlines()[1:])
    assert found.stdout.splitlines()[0] == good
    assert lines["target"].startswith("sm_80, compiled in ")
    assert lines["registers"] == "128, no spills"
    assert lines["smem"] == "49152 B (48 KiB)"
    for name in ("source", "library", "header"):
        assert Path(lines[name]).is_file()
    parsed = document("build", good, "--json")["configs"][0]
    assert parsed["resources"]["registers"] == 128
    assert parsed["cached"] is False
    assert Path(parsed["so"]).is_file()
    assert "stages: 3" in toolchain.calls[0]["evidence"][0]["config.yaml"]


def test_build_passes_options_on(good: str, toolchain: Toolchain) -> None:
    assert cutegen("build", good, "--target", "sm_90", "--jobs", "3").exit_code == 0
    assert toolchain.calls[0]["target"] == "sm_90"
    assert toolchain.calls[0]["jobs"] == 3
    assert toolchain.calls[0]["toolchain"] == "toolchain"


def test_build_forces(good: str, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[str] = []
    monkeypatch.setattr("cutegen.cache.store.Store.set_aside", lambda _, key: dropped.append(key))
    toolchain.cached = True
    cutegen("build", good)
    assert (len(toolchain.calls), dropped) == (1, [])
    cutegen("build", good, "--force")
    assert (len(toolchain.calls), dropped) == (3, ["0" * 64])


def test_build_copies(good: str, toolchain: Toolchain, tmp_path: Path) -> None:
    output = tmp_path / "out put"
    found = cutegen("build", good, "-o", str(output))
    assert found.exit_code == 0
    assert sorted(p.suffix for p in output.iterdir()) == [".cu", ".cubin", ".h", ".log", ".ptx", ".so"]
    assert str(output) in found.stdout
    blocked = tmp_path / "file"
    blocked.write_text("")
    failed = cutegen("build", good, "-o", str(blocked / "x"))
    assert failed.exit_code == 3
    assert "name another directory" in failed.stderr


def test_build_without_a_toolchain_is_a_sentence(good: str, toolchain: Toolchain) -> None:
    found = cutegen("build", good, "--nvcc", "/nowhere")
    assert found.exit_code == 3
    assert found.stderr == "error: nvcc was not found; install cutegen[cuda13]\n"


def test_build_for_native_without_a_gpu(
    good: str, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutegen.device.gpus", lambda: ())
    found = cutegen("build", good, "--target", "native")
    assert found.exit_code == 3
    assert "name a target, for example sm_90" in found.stderr
    assert not toolchain.calls


def test_build_for_the_native_gpu(good: str, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutegen.device.gpus", lambda: (SimpleNamespace(cc=90),))
    assert cutegen("build", good, "--target", "native").exit_code == 0
    assert toolchain.calls[0]["target"] == "sm_90"
    monkeypatch.setattr("cutegen.device.gpus", lambda: (SimpleNamespace(cc=75),))
    found = cutegen("build", good, "--target", "native")
    assert found.exit_code == 2
    assert "sm_75" in found.stderr


def test_build_several_and_the_highest_code(
    good: str, bad: str, toolchain: Toolchain, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(GOOD.replace("stages: 3", "stages: 2"))
    found = cutegen("build", good, bad, str(broken))
    assert found.exit_code == 4
    assert "1 ok, 2 failed" in found.stderr
    parsed = document("build", good, bad, str(broken), "--json")
    assert [c.get("exit_code", 0) for c in parsed["configs"]] == [0, 2, 4]
    assert len(toolchain.calls[0]["evidence"]) == 2  # the bad one is not compiled


def test_build_over_budget(good: str, toolchain: Toolchain) -> None:
    Path(good).write_text(GOOD + "limits: {max_registers: 100}\n")
    found = cutegen("build", good)
    assert found.exit_code == 1
    assert (
        f"{good}:5:25: limits.max_registers: must be at most 100 (got 128 registers) [budget]" in found.stderr
    )
    assert "source" in found.stdout  # it was built all the same
    assert document("build", good, "--json")["error"] == "BudgetError"


# matrix ---------------------------------------------------------------------------------------------------

MATRIX = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\nmatrix:\n  stages: [3, 2, 9999]\n"


@pytest.fixture
def matrix(tmp_path: Path) -> str:
    path = tmp_path / "m.yaml"
    path.write_text(MATRIX)
    return str(path)


def test_matrix_reports_each_case(matrix: str, toolchain: Toolchain, tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    found = cutegen("matrix", matrix, "--junit", str(report))
    assert found.exit_code == 4
    assert [line.split()[:2] for line in found.stdout.splitlines()] == [
        ["ok", "stages=3"],
        ["FAIL", "stages=2"],
        ["FAIL", "stages=9999"],
    ]
    assert "128 registers" in found.stdout
    assert f"{matrix}:5:18: stages: " in found.stderr
    assert "1 passed, 2 failed in " in found.stderr
    assert 'tests="3" failures="2"' in report.read_text()
    parsed = document("matrix", matrix, "--json")
    assert parsed["counts"] == {"passed": 1, "failed": 2, "skipped": 0}
    assert parsed["error"] == "CompileError"
    assert [c["status"] for c in parsed["cases"]] == ["passed", "failed", "failed"]
    assert parsed["violations"]


def test_matrix_check_only_needs_no_compiler(matrix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("no compiler is needed")

    monkeypatch.setattr("cutegen.toolchain.find_toolchain", fail)
    found = cutegen("matrix", matrix, "--check-only")
    assert found.exit_code == 2
    assert "2 passed, 1 failed" in found.stderr


def test_matrix_skips_illegal_cases_when_told(matrix: str, toolchain: Toolchain) -> None:
    Path(matrix).write_text(MATRIX.replace("3, 2, 9999", "3, 9999") + "  illegal: skip\n")
    found = cutegen("matrix", matrix)
    assert found.exit_code == 0
    assert "1 passed, 1 skipped" in found.stderr


def test_matrix_shards_and_selection(matrix: str, toolchain: Toolchain) -> None:
    assert [c["id"] for c in document("matrix", matrix, "--shard", "1/2", "--json")["cases"]] == [
        "stages=3",
        "stages=9999",
    ]
    assert [c["id"] for c in document("matrix", matrix, "--only", "stages=3", "--json")["cases"]] == [
        "stages=3"
    ]
    empty = cutegen("matrix", matrix, "--shard", "4/4")
    assert empty.exit_code == 0
    assert "0 passed" in empty.stderr


def test_matrix_for_github_is_one_line_of_json(matrix: str) -> None:
    found = cutegen("matrix", matrix, "--github")
    assert found.exit_code == 0
    assert found.stdout.count("\n") == 1
    assert json.loads(found.stdout) == {
        "include": [{"id": "stages=3"}, {"id": "stages=2"}, {"id": "stages=9999"}]
    }
    sharded = json.loads(cutegen("matrix", matrix, "--github", "--shards", "2").stdout)
    assert sharded == {
        "include": [
            {"index": 1, "shard": "1/2", "cases": 2},
            {"index": 2, "shard": "2/2", "cases": 1},
        ]
    }
    Path(matrix).write_text(MATRIX.replace("[3, 2, 9999]", str(list(range(1, 300)))))
    refused = cutegen("matrix", matrix, "--github")
    assert refused.exit_code == 2
    assert "--shards" in refused.stderr


def test_matrix_that_is_no_matrix(good: str) -> None:
    found = cutegen("matrix", good)
    assert found.exit_code == 2
    assert "must hold lists" in found.stderr
    assert document("matrix", good, "--json")["violations"][0]["rule"] == "matrix"


# doctor, cache, run ----------------------------------------------------------------------------------------


def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_NVCC", "/nowhere")
    monkeypatch.setattr("cutegen.device.gpus", lambda: ())
    found = cutegen("doctor")
    assert found.exit_code == 3
    assert "MISS  nvcc" in found.stdout
    assert "fix: pip install 'cutegen[cuda13]'" in found.stdout
    assert "build kernels  no" in found.stdout
    assert "CUTEGEN_NVCC" in cutegen("doctor", "-v").stdout
    parsed = document("doctor", "--json")
    assert parsed["ok"] is False
    assert parsed["gpus"] == []


def test_cache_commands_on_an_empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = tmp_path / "none yet"
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(root))
    assert f"no kernels in {root}" in cutegen("cache", "ls").stdout
    assert "not made yet" in cutegen("cache", "info").stdout
    assert document("cache", "ls", "--json")["entries"] == []
    assert document("cache", "info", "--json")["root"] == str(root)
    assert "dropped 0 kernels" in cutegen("cache", "prune", "--max-age", "30d", "--max-size", "2GiB").stdout
    assert "dropped 0 kernels" in cutegen("cache", "clear", "--yes").stdout
    archive = tmp_path / "a.tar.gz"
    assert "wrote 0 kernels" in cutegen("cache", "export", str(archive)).stdout
    assert "took 0 kernels" in cutegen("cache", "import", str(archive)).stdout
    missing = cutegen("cache", "import", str(tmp_path / "no.tar"))
    assert missing.exit_code == 3
    assert missing.stderr.startswith("error: ")
    assert document("cache", "export", str(archive), "abc", "--json")["error"] == "CacheError"


def test_cache_settings_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE_SIZE", "lots")
    found = cutegen("cache", "info")
    assert found.exit_code == 3
    assert "CUTEGEN_CACHE_SIZE must be a size" in found.stderr


# console ---------------------------------------------------------------------------------------------------


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
    assert "\x1b[" not in cutegen("check", good).output


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
