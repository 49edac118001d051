"""The nvcc command, and paths that nvcc cannot take."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from cutegen.build import compile_kernel
from cutegen.errors import CompileError, ToolchainError
from cutegen.toolchain import find_toolchain
from cutegen.toolchain.invocation import Links, nvcc_command
from tests.support.build_fakes import Fakes, kernel, make_fakes, script

ODD = "it's $HOME, %d \u00fc (x) \\n"


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path, monkeypatch)


@pytest.mark.parametrize("character", "'\",`")
def test_include_directories_that_nvcc_mangles_get_another_name(tmp_path: Path, character: str) -> None:
    include = tmp_path / f"a{character}b"
    include.mkdir()
    (include / "x.h").write_text("x")
    links = Links(tmp_path / "work")
    (tmp_path / "work").mkdir()
    name = links.include(include)
    assert not set(name) & set("'\",`$ ")
    assert (tmp_path / "work" / name / "x.h").read_text() == "x"


@pytest.mark.parametrize("path", ["/opt/cutlass/include", "/a b/$x/%d/\u00fc/(;&)/\\"])
def test_others_are_left_alone(tmp_path: Path, path: str) -> None:
    links = Links(tmp_path)
    assert links.include(Path(path)) == path
    assert links.program("/a b/it's/gcc") == "/a b/it's/gcc"
    assert links.count == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("character", "$`")
def test_programs_keep_the_end_of_their_name(tmp_path: Path, character: str) -> None:
    compiler = script(tmp_path / f"a{character}b" / "clang++", "#!/bin/sh\necho here\n")
    links = Links(tmp_path)
    name = links.program(str(compiler))
    assert name.endswith("/clang++")
    assert character not in name
    assert os.access(tmp_path / name, os.X_OK)


def test_places_where_nvcc_cannot_run_are_named(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    for character in '"`':
        monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(fakes.root / f"a{character}b"))
        with pytest.raises(ToolchainError, match=r"double quote or a backtick .*set CUTEGEN_CACHE_DIR"):
            compile_kernel(kernel())
    assert fakes.runs == 0


def test_a_build_among_odd_names(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = fakes.root / ODD
    shutil.copytree(fakes.cutlass, odd / "cutlass")
    (odd / "tmp").mkdir()
    monkeypatch.setenv("CUTEGEN_CUTLASS_DIR", str(odd / "cutlass"))
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(odd / "cache \udcff"))
    monkeypatch.setenv("TMPDIR", str(odd / "tmp"))
    built = compile_kernel(kernel())
    assert "links" not in {path.name for path in built.dir.iterdir()}
    assert "-Ilinks/0/include" in built.log.read_text()
    tools = find_toolchain()
    assert built.command == nvcc_command(tools, "sm_80", "sm_80", str(built.source), "tiny.cubin")
    assert f"-I{odd}/cutlass/include" in built.command
    assert json.loads((built.dir / "commands.json").read_text())["device"][-1] == "tiny.cu"

    monkeypatch.setenv("FAKE_NVCC_MODE", "fail")
    with pytest.raises(CompileError) as caught:
        compile_kernel(kernel("another"))
    command = caught.value.command
    kept = Path(command[2])
    assert command[:2] == ("env", "-C")
    assert (kept / "links" / "0" / "include" / "cute" / "tensor.hpp").is_file()
    monkeypatch.delenv("FAKE_NVCC_MODE")
    assert os.system(f"{shlex.join(command)} > /dev/null") == 0  # it can be pasted
    assert (kept / "tiny.cubin").is_file()
