"""The commands that compile, with a toolchain that is not there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cutegen.build import Artifact, Resources
from cutegen.cli.build import _slowed
from cutegen.errors import CompileError, ToolchainError
from tests.support.cli import GOOD, document, invoke


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
                        seconds=1.5,
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
    found = invoke("build", good)
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
    assert invoke("build", good, "--target", "sm_90", "--jobs", "3").exit_code == 0
    assert toolchain.calls[0]["target"] == "sm_90"
    assert toolchain.calls[0]["jobs"] == 3
    assert toolchain.calls[0]["toolchain"] == "toolchain"


def test_build_forces(good: str, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    dropped: list[str] = []
    monkeypatch.setattr("cutegen.cache.store.Store.set_aside", lambda _, key: dropped.append(key))
    toolchain.cached = True
    invoke("build", good)
    assert (len(toolchain.calls), dropped) == (1, [])
    invoke("build", good, "--force")
    assert (len(toolchain.calls), dropped) == (3, ["0" * 64])


def test_build_copies(good: str, toolchain: Toolchain, tmp_path: Path) -> None:
    output = tmp_path / "out put"
    found = invoke("build", good, "-o", str(output))
    assert found.exit_code == 0
    assert sorted(p.suffix for p in output.iterdir()) == [".cu", ".cubin", ".h", ".log", ".ptx", ".so"]
    assert str(output) in found.stdout
    blocked = tmp_path / "file"
    blocked.write_text("")
    failed = invoke("build", good, "-o", str(blocked / "x"))
    assert failed.exit_code == 3
    assert "name another directory" in failed.stderr


def test_build_without_a_toolchain_is_a_sentence(good: str, toolchain: Toolchain) -> None:
    found = invoke("build", good, "--nvcc", "/nowhere")
    assert found.exit_code == 3
    assert found.stderr == "error: nvcc was not found; install cutegen[cuda13]\n"


def test_build_for_native_without_a_gpu(
    good: str, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutegen.device.gpus", lambda: ())
    found = invoke("build", good, "--target", "native")
    assert found.exit_code == 3
    assert "name a target, for example sm_90" in found.stderr
    assert not toolchain.calls


def test_build_for_the_native_gpu(good: str, toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutegen.device.gpus", lambda: (SimpleNamespace(cc=90),))
    assert invoke("build", good, "--target", "native").exit_code == 0
    assert toolchain.calls[0]["target"] == "sm_90"
    monkeypatch.setattr("cutegen.device.gpus", lambda: (SimpleNamespace(cc=75),))
    found = invoke("build", good, "--target", "native")
    assert found.exit_code == 2
    assert "sm_75" in found.stderr


def test_build_several_and_the_highest_code(
    good: str, bad: str, toolchain: Toolchain, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text(GOOD.replace("stages: 3", "stages: 2"))
    found = invoke("build", good, bad, str(broken))
    assert found.exit_code == 4
    assert "1 ok, 2 failed" in found.stderr
    parsed = document("build", good, bad, str(broken), "--json")
    assert [c.get("exit_code", 0) for c in parsed["configs"]] == [0, 2, 4]
    assert len(toolchain.calls[0]["evidence"]) == 2  # the bad one is not compiled


def test_build_over_budget(good: str, toolchain: Toolchain) -> None:
    Path(good).write_text(GOOD + "limits: {max_registers: 100}\n")
    found = invoke("build", good)
    assert found.exit_code == 1
    assert (
        f"{good}:5:25: limits.max_registers: must be at most 100 (got 128 registers) [budget]" in found.stderr
    )
    assert "source" in found.stdout  # it was built all the same
    assert document("build", good, "--json")["error"] == "BudgetError"


MATRIX = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\nmatrix:\n  stages: [3, 2, 9999]\n"


@pytest.fixture
def matrix(tmp_path: Path) -> str:
    path = tmp_path / "m.yaml"
    path.write_text(MATRIX)
    return str(path)


def test_matrix_reports_each_case(matrix: str, toolchain: Toolchain, tmp_path: Path) -> None:
    report = tmp_path / "r.xml"
    found = invoke("matrix", matrix, "--junit", str(report))
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
    found = invoke("matrix", matrix, "--check-only")
    assert found.exit_code == 2
    assert "2 passed, 1 failed" in found.stderr


def test_matrix_skips_illegal_cases_when_told(matrix: str, toolchain: Toolchain) -> None:
    Path(matrix).write_text(MATRIX.replace("3, 2, 9999", "3, 9999") + "  illegal: skip\n")
    found = invoke("matrix", matrix)
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
    empty = invoke("matrix", matrix, "--shard", "4/4")
    assert empty.exit_code == 0
    assert "0 passed" in empty.stderr


def test_matrix_for_github_is_one_line_of_json(matrix: str) -> None:
    found = invoke("matrix", matrix, "--github")
    assert found.exit_code == 0
    assert found.stdout.count("\n") == 1
    assert json.loads(found.stdout) == {
        "include": [{"id": "stages=3"}, {"id": "stages=2"}, {"id": "stages=9999"}]
    }
    sharded = json.loads(invoke("matrix", matrix, "--github", "--shards", "2").stdout)
    assert sharded == {
        "include": [
            {"index": 1, "shard": "1/2", "cases": 2},
            {"index": 2, "shard": "2/2", "cases": 1},
        ]
    }
    Path(matrix).write_text(MATRIX.replace("[3, 2, 9999]", str(list(range(1, 300)))))
    refused = invoke("matrix", matrix, "--github")
    assert refused.exit_code == 2
    assert "--shards" in refused.stderr


def test_matrix_of_a_plain_config_is_one_case(good: str) -> None:
    (case,) = document("matrix", good, "--check-only", "--json")["cases"]
    assert case["id"] == Path(good).stem
    Path(good).write_text(GOOD + "matrx: {stages: [3, 4]}\n")
    refused = invoke("matrix", good, "--check-only")
    assert refused.exit_code == 2
    assert "matrx" in refused.stderr


def test_matrix_that_is_no_matrix(good: str) -> None:
    Path(good).write_text(GOOD + "matrix: 3\n")
    found = invoke("matrix", good)
    assert found.exit_code == 2
    assert "must hold lists" in found.stderr
    assert document("matrix", good, "--json")["violations"][0]["rule"] == "matrix"


@pytest.mark.parametrize(
    ("note", "code"), [("ptxas info : (C7514) Potential Performance Loss", "C7514"), ("", None)]
)
def test_products_that_ptxas_slows_are_said(tmp_path: Path, note: str, code: str | None) -> None:
    log = tmp_path / "build.log"
    log.write_text(f"ptxas info : Used 168 registers\n{note}\n", encoding="utf-8")
    assert _slowed(SimpleNamespace(log=log)) == code
