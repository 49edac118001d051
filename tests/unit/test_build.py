"""Builds with a toolkit made of shell scripts: what is run, what is kept, what decides the key."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import pickle
import shlex
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from cutegen.build import Artifact, Resources, compile_kernel, compile_many, nvcc_command
from cutegen.cache import Cache, ls
from cutegen.cache import cache as cache_module
from cutegen.errors import CompileError, ConfigError, CutegenError, ToolchainError
from cutegen.toolchain import find_toolchain
from tests.support.build_fakes import Fakes, kernel, make_cutlass, make_fakes, make_toolkit, script

build_module = importlib.import_module("cutegen.build")  # the attribute of that name is the function


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path, monkeypatch)


def test_what_a_build_leaves(fakes: Fakes) -> None:
    rendered = kernel("a note")
    built = compile_kernel(rendered, target="sm_90", evidence={"config.yaml": "arch: sm_80\n"})
    assert not built.cached
    assert built.target == "sm_90"
    assert built.source.read_text() == rendered.text
    assert built.cubin.read_text().startswith("cubin for sm_90\n#line 1 ")
    assert built.ptx.read_text() == "ptx of unit.cu\n"
    assert built.so.name == "libtiny.so"
    assert built.header.name == "tiny.h"
    assert (built.dir / "config.yaml").read_text() == "arch: sm_80\n"
    assert built.resources == Resources(
        registers=42, spill_stores=8, spill_loads=4, static_smem=1024, dynamic_smem=1024, stack=16
    )
    assert json.loads((built.dir / "resources.json").read_text()) == built.resources.to_dict()
    log = built.log.read_text()
    assert "Used 42 registers" in log
    assert "# exit status 0" in log
    assert {p.name for p in built.dir.iterdir()} == {
        "tiny.cu",
        "tiny.cubin",
        "tiny.ptx",
        "tiny.h",
        "libtiny.so",
        "launcher.c",
        "build.log",
        "commands.json",
        "resources.json",
        "config.yaml",
        "manifest.json",
    }


def test_the_second_time_it_is_found(fakes: Fakes) -> None:
    first = compile_kernel(kernel())
    second = compile_kernel(kernel())
    assert second.cached
    assert second == dataclasses.replace(first, cached=True)
    assert fakes.runs == 1


def test_line_information_names_the_published_source(fakes: Fakes) -> None:
    built = compile_kernel(kernel())
    assert built.cubin.read_text().splitlines()[1] == f'#line 1 "{built.source}"'


def test_the_command(fakes: Fakes) -> None:
    built = compile_kernel(kernel(), target="sm_90")
    assert built.command == (
        str(fakes.nvcc),
        "-cubin",
        "-std=c++17",
        "--expt-relaxed-constexpr",
        "-lineinfo",
        "-Xptxas",
        "-v",
        "-gencode",
        "arch=compute_80,code=sm_90",
        "-ccbin",
        str(fakes.cc),
        f"-I{fakes.cutlass / 'include'}",
        "-o",
        "tiny.cubin",
        str(built.source),
    )


def test_the_printed_command_can_be_pasted(fakes: Fakes, tmp_path: Path) -> None:
    built = compile_kernel(kernel(), target="sm_90")
    desk = tmp_path / "a desk"
    desk.mkdir()
    assert os.system(f"cd {shlex.quote(str(desk))} && {shlex.join(built.command)} > /dev/null") == 0
    assert (desk / "tiny.cubin").read_text().startswith("cubin for sm_90\n")


@pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_90", "sm_100", "sm_120", "sm_90a"])
def test_every_target_that_nvcc_lists(target: str, fakes: Fakes) -> None:
    built = compile_kernel(kernel(), target=target)
    assert built.target == target
    assert f"arch=compute_80,code={target}" in built.command


def test_the_default_target_is_the_arch(fakes: Fakes) -> None:
    assert compile_kernel(kernel()).target == "sm_80"
    built = compile_kernel(kernel(arch="sm_90a"))
    assert built.target == "sm_90a"
    assert "arch=compute_90a,code=sm_90a" in built.command


def test_a_target_that_cannot_work_runs_no_compiler(fakes: Fakes) -> None:
    flag = fakes.root / "flag"
    script(fakes.nvcc, f'#!/bin/sh\ntouch "{flag}"\n')
    with pytest.raises(ConfigError, match="sm_80 or later"):
        compile_kernel(kernel(), target="sm_75")
    assert not flag.exists()


def test_a_target_that_nvcc_lacks_compiles_nothing(fakes: Fakes) -> None:
    with pytest.raises(ToolchainError, match=r"13\.0\.88 .*cannot build for sm_103; it lists sm_75, sm_80"):
        compile_kernel(kernel(), target="sm_103")
    assert fakes.runs == 0


# ---- the key


def test_the_key_has_no_path_time_or_home_in_it(
    fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = compile_kernel(kernel())
    shutil.copytree(fakes.toolkit, tmp_path / "b" / "kit")
    shutil.copytree(fakes.cutlass, tmp_path / "b" / "headers")
    monkeypatch.setenv("CUTEGEN_NVCC", str(tmp_path / "b" / "kit"))
    monkeypatch.setenv("CUTEGEN_CUTLASS_DIR", str(tmp_path / "b" / "headers"))
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.setenv("PATH", "/bin:/usr/bin:/opt/bin")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert compile_kernel(kernel()).key == built.key
    assert compile_kernel(kernel(), cache=Cache(tmp_path / "elsewhere")).key == built.key
    parts = json.loads((built.dir / "manifest.json").read_text())["parts"]
    assert str(tmp_path) not in json.dumps(parts)


@pytest.mark.parametrize(
    "change",
    ["text", "name", "smem", "target", "cutlass", "cuda", "compiler", "version", "host", "flags", "launcher"],
)
def test_the_key_changes_with(
    change: str, fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = compile_kernel(kernel()).key
    options: dict[str, Any] = {}
    rendered = kernel()
    if change == "text":
        rendered = kernel("other")
    elif change == "name":
        rendered = kernel(name="small")
    elif change == "smem":
        rendered = kernel(smem_bytes=2048)
    elif change == "target":
        options["target"] = "sm_90"
    elif change == "cutlass":
        make_cutlass(fakes.cutlass, (4, 3, 0))
    elif change == "cuda":
        (fakes.toolkit / "include" / "cuda_runtime.h").write_text("// patched\n")
    elif change == "compiler":
        (fakes.toolkit / "bin" / "ptxas").write_text("patched\n")
    elif change == "version":
        make_toolkit(fakes.toolkit, version="13.1.1")
    elif change == "host":
        script(fakes.cc, fakes.cc.read_text().replace("1.2.3", "1.2.4"))
    elif change == "flags":
        monkeypatch.setenv("NVCC_APPEND_FLAGS", "-G")
    else:
        monkeypatch.setattr(build_module, "launcher_digest", lambda: "another launcher")
    after = compile_kernel(rendered, **options)
    assert after.key != before
    assert not after.cached


# ---- failures


def test_a_compile_error_can_be_reproduced_by_paste(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVCC_MODE", "fail")
    with pytest.raises(CompileError) as caught:
        compile_kernel(kernel("bad"))
    error = caught.value
    assert Path(error.source).read_text() == kernel("bad").text
    assert error.command[-1] == error.source
    assert error.first_error == 'unit.cu(3): error: identifier "oops" is undefined'
    assert "nvcc failed (exit status 2)" in error.log
    assert shlex.join(error.command) in str(error)
    assert "identifier" in (Path(error.source).parent / "build.log").read_text()
    assert pickle.loads(pickle.dumps(error)).to_dict() == error.to_dict()


def test_a_failure_is_not_remembered(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVCC_MODE", "fail")
    for _ in range(2):
        with pytest.raises(CompileError):
            compile_kernel(kernel())
    assert fakes.runs == 2
    monkeypatch.delenv("FAKE_NVCC_MODE")
    assert not compile_kernel(kernel()).cached
    assert compile_kernel(kernel()).cached


def test_a_broken_host_compiler_then_a_mended_one(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    good = os.environ["CUTEGEN_CC"]
    monkeypatch.setenv("CUTEGEN_CC", "/no/such/cc")
    with pytest.raises(ToolchainError, match="CUTEGEN_CC=/no/such/cc"):
        compile_kernel(kernel())
    monkeypatch.setenv("CUTEGEN_CC", good)
    monkeypatch.setenv("FAKE_CC_MODE", "fail")
    with pytest.raises(CompileError, match="bad launcher") as caught:
        compile_kernel(kernel())
    assert Path(caught.value.source).name == "launcher.c"
    assert Path(caught.value.source).is_file()
    monkeypatch.delenv("FAKE_CC_MODE")
    assert not compile_kernel(kernel()).cached


@pytest.mark.parametrize(
    ("mode", "text", "message"),
    [
        ("empty", None, "nvcc wrote no cubin or no PTX"),
        ("", "__global__ void other(int x) {}\n", "the source has no kernel named tiny_kernel"),
    ],
)
def test_a_compiler_that_lies_about_success(
    mode: str, text: str | None, message: str, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_NVCC_MODE", mode)
    with pytest.raises(CompileError, match=message):
        compile_kernel(kernel(text=text))
    assert ls(Cache(fakes.cache).store) == []


def test_a_compiler_killed_for_lack_of_memory(fakes: Fakes) -> None:
    script(fakes.nvcc, fakes.nvcc.read_text().replace("kernel=$(sed", "kill -KILL $$; kernel=$(sed"))
    with pytest.raises(CompileError, match="ended by SIGKILL, perhaps for lack of memory"):
        compile_kernel(kernel())


@pytest.mark.parametrize("name", ["../x", "tiny.cu", "libtiny.so", "build.log", "manifest.json", ".x", ""])
def test_evidence_cannot_overwrite_a_result(name: str, fakes: Fakes) -> None:
    with pytest.raises(ValueError, match="plain file name of its own"):
        compile_kernel(kernel(), evidence={name: "x"})


# ---- batches


def test_a_batch_keeps_its_order_and_its_errors(fakes: Fakes) -> None:
    kernels = [
        kernel("one"),
        kernel(arch="sm_90a"),
        kernel("two"),
        kernel(text="__global__ void other(int x) {}\n"),
        kernel("one"),
    ]
    seen: list[tuple[int, int, str]] = []
    outcomes = compile_many(
        kernels,
        target="sm_90",
        jobs=2,
        progress=lambda done, total, outcome: seen.append((done, total, type(outcome).__name__)),
        evidence=[{"config.yaml": str(i)} for i in range(5)],
    )
    assert [type(o).__name__ for o in outcomes] == [
        "Artifact",
        "ConfigError",
        "Artifact",
        "CompileError",
        "Artifact",
    ]
    assert outcomes[0] == outcomes[4]
    assert isinstance(outcomes[2], Artifact)
    assert outcomes[2].source.read_text() == kernels[2].text
    assert (outcomes[2].dir / "config.yaml").read_text() == "2"
    assert [(done, total) for done, total, _ in seen] == [(i, 5) for i in range(1, 6)]
    assert fakes.runs == 3
    restored = pickle.loads(pickle.dumps(outcomes))
    assert [str(o) for o in restored] == [str(o) for o in outcomes]


def test_jobs_bound_the_compilers(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0
    most = 0
    real_run = build_module.run

    def counting_run(*args: Any, **kwargs: Any) -> Any:
        nonlocal now, most
        now += 1
        most = max(most, now)
        try:
            return real_run(*args, **kwargs)
        finally:
            now -= 1

    monkeypatch.setattr(build_module, "run", counting_run)
    monkeypatch.setattr("cutegen.toolchain.process.free_memory", lambda: None)
    monkeypatch.setenv("FAKE_NVCC_SLEEP", "0.05")
    compile_many([kernel(str(i)) for i in range(6)], jobs=3)
    assert 2 <= most <= 3
    most = 0
    monkeypatch.setenv("CUTEGEN_JOBS", "1")
    compile_many([kernel(str(i)) for i in range(6, 9)])
    assert most == 1


def test_an_interrupted_batch_stops_its_compilers(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVCC_MODE", "wait")
    monkeypatch.setenv("FAKE_NVCC_GATE", str(fakes.root / "never"))

    def interrupt(done: int, total: int, outcome: Artifact | CutegenError) -> None:
        while not (fakes.toolkit / "waiting").exists():
            time.sleep(0.01)
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):  # the first is refused at once, and reported
        compile_many([kernel(arch="sm_90a"), kernel("waits")], target="sm_90", jobs=2, progress=interrupt)
    assert time.monotonic() - start < 10
    store = Cache(fakes.cache).store
    assert list(store.work.iterdir()) == []
    assert list(store.locks.iterdir()) == []


def test_an_empty_batch_needs_no_toolchain(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_NVCC", "/nowhere")
    assert compile_many([]) == []
    with pytest.raises(ToolchainError):
        compile_many([kernel()])


def test_a_toolchain_and_a_cache_may_be_given(fakes: Fakes, tmp_path: Path) -> None:
    tools = find_toolchain()
    cache = Cache(tmp_path / "own")
    built = compile_kernel(kernel(), toolchain=tools, cache=cache)
    assert built.dir.is_relative_to(tmp_path / "own")
    assert built.command == nvcc_command(tools, "sm_80", "sm_80", str(built.source), "tiny.cubin")
    json.dumps(built.to_dict())


def test_a_warm_build_runs_nothing_and_renders_nothing(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_kernel(kernel())

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a warm build must not do this")

    monkeypatch.setattr(build_module, "run", forbidden)
    monkeypatch.setattr(build_module, "render_launcher", forbidden)
    monkeypatch.setattr(cache_module, "prune", forbidden)
    assert compile_kernel(kernel()).cached
