"""The commands that compile, with the real compiler."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from cutegen.cli.group import main

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    root = tmp_path / "a cache"
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(root))
    return root


def cutegen(*args: str) -> dict[str, Any]:
    found = CliRunner().invoke(main, [*args, "--json"])
    document = json.loads(found.stdout)
    assert document["ok"] is True, document
    assert found.exit_code == 0
    return dict(document)


def test_build_then_cache_then_another_machine(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = str(EXAMPLES / "ampere_bf16.yaml")
    output = tmp_path / "out put"
    (first,) = cutegen("build", config, "--target", "sm_90", "-o", str(output))["configs"]
    assert not first["cached"]
    assert first["target"] == "sm_90"
    assert first["resources"]["registers"] <= 128
    assert first["resources"]["spill_stores"] == 0
    assert first["resources"]["dynamic_smem"] == 49152
    assert sorted(p.suffix for p in output.iterdir()) == [".cu", ".cubin", ".h", ".log", ".ptx", ".so"]

    (second,) = cutegen("build", config, "--target", "sm_90")["configs"]
    assert second["cached"]
    assert second["key"] == first["key"]
    assert (Path(second["dir"]) / "config.yaml").read_text().startswith("arch: sm_80\n")

    (entry,) = cutegen("cache", "ls", "--verify")["entries"]
    assert (entry["key"], entry["damaged"]) == (first["key"], False)
    archive = tmp_path / "kernels.tar.gz"
    assert cutegen("cache", "export", str(archive))["keys"] == [first["key"]]
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(tmp_path / "elsewhere"))
    assert cutegen("cache", "import", str(archive))["keys"] == [first["key"]]
    (third,) = cutegen("build", config, "--target", "sm_90")["configs"]
    assert third["cached"]
    assert cutegen("cache", "clear", "--yes")["left_entries"] == 0


def test_the_copied_source_compiles_as_it_stands(cache: Path, tmp_path: Path) -> None:
    (built,) = cutegen("build", str(EXAMPLES / "simple.yaml"), "--target", "sm_80")["configs"]
    done = subprocess.run(built["command"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [p.suffix for p in tmp_path.glob("*.cubin")] == [".cubin"]


def test_matrix_with_a_budget(cache: Path, tmp_path: Path) -> None:
    config = tmp_path / "m.yaml"
    config.write_text(
        "arch: sm_80\na: {dtype: f16}\nb: {dtype: f16}\ntile: [64, 64, 32]\n"
        "limits: {max_spills: 0, max_smem_bytes: 30000}\nmatrix: {stages: [2, 4]}\n"
    )
    report = tmp_path / "r.xml"
    found = CliRunner().invoke(main, ["matrix", str(config), "--junit", str(report), "--target", "sm_80"])
    assert found.exit_code == 1, found.output
    assert f"{config}:5:41: limits.max_smem_bytes: must be at most 30000 (got 32768 bytes" in found.stderr
    suite = ET.parse(report).getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
