"""Builds with the real nvcc."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from cutegen.build import Artifact, compile_kernel, compile_many
from cutegen.cache import Cache, info
from cutegen.errors import CompileError
from cutegen.toolchain import find_toolchain
from cutegen.toolchain.headers import find_cutlass, reachable_cuda_headers
from cutegen.toolchain.nvcc import find_nvcc, wheel_roots
from tests.support.build_fakes import TINY, clean_environment, kernel, script
from tests.support.build_process import race, start

CUTE = """\
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cutlass/numeric_conversion.h>
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of its own, with what is known of the toolchain taken over."""
    find_toolchain()
    known = Cache(Path(os.environ["CUTEGEN_CACHE_DIR"])).store.toolchains
    root = tmp_path / "the cache"
    shutil.copytree(known, Cache(root).store.toolchains)
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(root))
    return root


@pytest.mark.usefixtures("cache")
def test_a_build() -> None:
    built = compile_kernel(kernel(), target="sm_90")
    cubin, ptx, library = (path.read_bytes() for path in (built.cubin, built.ptx, built.so))
    assert cubin.startswith(b"\x7fELF")
    assert b".target sm_80" in ptx
    assert b".entry tiny_kernel" in ptx
    assert cubin in library
    assert ptx + b"\0" in library
    assert str(built.source).encode() in ptx  # line information, for profilers
    assert str(built.dir).encode() in cubin
    assert 0 < built.resources.registers < 64
    assert built.resources.spill_loads == built.resources.spill_stores == built.resources.stack == 0
    assert "tiny_kernel" in built.log.read_text()


@pytest.mark.parametrize("path", ["it's $HOME, %d", "\u00fc (x) & \\n;"])
def test_a_build_among_odd_names(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    odd = tmp_path / path
    (odd / "tmp").mkdir(parents=True)
    (odd / "cutlass").symlink_to(find_cutlass()[0].include.parent)
    cache.rename(odd / "cache")
    monkeypatch.setenv("CUTEGEN_CUTLASS_DIR", str(odd / "cutlass"))
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(odd / "cache"))
    monkeypatch.setenv("TMPDIR", str(odd / "tmp"))
    built = compile_kernel(kernel(text="#include <cute/config.hpp>\n" + TINY % {"note": ""}))
    assert built.cubin.read_bytes().startswith(b"\x7fELF")
    assert ctypes.CDLL(str(built.so)).cutegen_abi() == 4


@pytest.mark.usefixtures("cache")
def test_the_library_loads_without_a_gpu() -> None:
    library = ctypes.CDLL(str(compile_kernel(kernel()).so))
    assert library.cutegen_abi() == 4
    assert library.cutegen_launch(bytes(136)) == 0  # m is 0: nothing to do


@pytest.mark.usefixtures("cache")
def test_every_listed_target_builds() -> None:
    codes = [c for c in find_nvcc().gpu_codes if int(c[3:]) >= 80]
    assert codes
    outcomes = [compile_many([kernel()], target=code)[0] for code in [*codes, "sm_90a"]]
    for code, outcome in zip([*codes, "sm_90a"], outcomes, strict=True):
        assert isinstance(outcome, Artifact), outcome
        assert outcome.target == code
    assert isinstance(compile_many([kernel(arch="sm_75")])[0], Artifact)
    assert isinstance(compile_many([kernel(arch="sm_90a")])[0], Artifact)


@pytest.mark.usefixtures("cache")
def test_a_compile_error_is_reproduced_by_paste(tmp_path: Path) -> None:
    text = (TINY % {"note": ""}).replace("threadIdx.x ^ 1", "oops")
    with pytest.raises(CompileError, match='identifier "oops" is undefined') as caught:
        compile_kernel(kernel(text=text))
    error = caught.value
    line = text[: text.index("oops")].count("\n") + 1
    assert error.first_error.startswith(f"{error.source}({line}): error:")
    desk = tmp_path / "a desk"
    desk.mkdir()
    pasted = subprocess.run(
        shlex.join(error.command), shell=True, cwd=desk, check=False, capture_output=True, text=True
    )
    assert pasted.returncode != 0
    assert 'identifier "oops" is undefined' in pasted.stderr + pasted.stdout


@pytest.mark.usefixtures("cache")
def test_too_much_static_shared_memory_is_a_compile_error() -> None:
    text = (TINY % {"note": ""}).replace(
        "extern __shared__ char smem[];", "__shared__ char smem[49156]; smem[p.m] = 1;"
    )
    with pytest.raises(CompileError, match="0xc004 bytes, 0xc000 max"):
        compile_kernel(kernel(text=text))


def test_the_manifest_covers_what_cute_includes(tmp_path: Path) -> None:
    tools = find_toolchain()
    source = tmp_path / "includes.cu"
    source.write_text(CUTE)
    done = subprocess.run(
        [str(tools.nvcc.path), "-M", "-std=c++17", "-arch=sm_90a", f"-I{tools.cutlass.include}", str(source)],
        check=True,
        capture_output=True,
        text=True,
    )
    read = {Path(word).resolve() for word in done.stdout.replace("\\\n", " ").split()[1:]}
    _, facts = find_cutlass()
    known = set()
    for root in tools.nvcc.includes:
        for directory, names in reachable_cuda_headers(facts, root).items():
            known |= {(root / directory / name).resolve() for name in names}
    cuda = {path for path in read if any(path.is_relative_to(root) for root in tools.nvcc.includes)}
    assert len(cuda) > 100
    assert sorted(cuda - known) == []
    assert any(path.is_relative_to(tools.cutlass.include.resolve()) for path in read)


@pytest.mark.usefixtures("cache")
def test_a_warm_build_takes_milliseconds() -> None:
    compile_kernel(kernel())

    def once() -> float:
        before = time.perf_counter()
        assert compile_kernel(kernel()).cached
        return time.perf_counter() - before

    assert min(once() for _ in range(10)) < 0.02


def test_eight_processes_run_nvcc_once(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = tmp_path / "count"
    nvcc = find_nvcc().path
    wrapper = script(
        tmp_path / "wrap per" / "nvcc", f'#!/bin/sh\necho run >> "{count}"\nexec "{nvcc}" "$@"\n'
    )
    monkeypatch.setenv("CUTEGEN_NVCC", str(wrapper))
    words = race(8)
    assert count.read_text() == "run\n"
    assert sorted(first for first, *_ in words) == ["built"] + ["cached"] * 7
    store = Cache(cache).store
    assert list(store.work.iterdir()) == list(store.locks.iterdir()) == []
    assert info(store).entries == 1


def test_a_builder_killed_in_mid_compilation(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "started"
    nvcc = find_nvcc().path
    wrapper = script(tmp_path / "nvcc", f'#!/bin/sh\ntouch "{flag}"\nsleep 0.3\nexec "{nvcc}" "$@"\n')
    monkeypatch.setenv("CUTEGEN_NVCC", str(wrapper))
    victim = start("now")
    while not flag.exists():
        time.sleep(0.01)
    victim.kill()
    victim.communicate()
    assert info(Cache(cache).store).entries == 0
    built = compile_kernel(kernel("raced"))
    assert not built.cached
    assert compile_kernel(kernel("raced")).cached
    store = Cache(cache).store
    assert list(store.locks.iterdir()) == []


def test_spaces_in_every_path(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = tmp_path / "cut lass"
    headers.mkdir()
    (headers / "include").symlink_to(find_toolchain().cutlass.include)
    for name in ("t m p", "my desk"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("CUTEGEN_CUTLASS_DIR", str(headers))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t m p"))
    monkeypatch.chdir(tmp_path / "my desk")
    text = "#include <cute/config.hpp>\n" + TINY % {"note": ""}
    built = compile_kernel(kernel(text=text))
    assert " " in str(built.dir)
    assert f"-I{headers / 'include'}" in built.command
    assert list((tmp_path / "t m p").iterdir()) == list((tmp_path / "my desk").iterdir()) == []


def test_the_wheels_alone_suffice(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not any((root / "bin" / "nvcc").is_file() for root in wheel_roots()):
        pytest.skip("the nvidia-cuda-nvcc wheel is not installed; pip install 'cutegen[cuda13]'")
    clean_environment(monkeypatch)
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(cache))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if shutil.which("nvcc"):
        pytest.skip("this machine has nvcc in /usr/bin, so its absence from PATH cannot be tried")
    found = find_toolchain()
    assert found.nvcc.origin.startswith("wheel nvidia-cuda-nvcc")
    text = "#include <cute/config.hpp>\n" + TINY % {"note": ""}
    built = compile_kernel(kernel(text=text))
    assert built.cubin.read_bytes().startswith(b"\x7fELF")
