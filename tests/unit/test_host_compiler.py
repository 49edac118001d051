from __future__ import annotations

from pathlib import Path

import pytest

from cutegen.errors import ToolchainError
from cutegen.toolchain import find_toolchain
from tests.support.build_fakes import (
    Fakes,
    make_fakes,
    script,
)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path, monkeypatch)


# ---- host compiler


def test_the_order_of_host_compilers(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    own, cc, gcc = (script(fakes.root / d / "gcc", fakes.cc.read_text()) for d in ("own", "env", "path"))
    monkeypatch.setenv("PATH", f"{gcc.parent}:/usr/bin:/bin")
    monkeypatch.setenv("CUTEGEN_CC", str(own))
    monkeypatch.setenv("CC", f"'{cc}' -m64")
    first = find_toolchain().host
    assert (first.argv, first.origin, first.for_nvcc) == ((str(own),), "CUTEGEN_CC", True)
    monkeypatch.delenv("CUTEGEN_CC")
    second = find_toolchain().host
    assert (second.argv, second.origin, second.for_nvcc) == ((str(cc), "-m64"), "CC", False)
    monkeypatch.delenv("CC")
    third = find_toolchain().host
    assert (third.argv, third.origin, third.for_nvcc) == ((str(gcc),), "PATH", False)
    assert third.version == "cc (Fake) 1.2.3"
    assert third.machine == "fake-machine"


def test_nvcc_is_told_of_a_host_compiler_it_would_not_find(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    clang = script(fakes.root / "clang only" / "clang", fakes.cc.read_text())
    monkeypatch.delenv("CUTEGEN_CC")
    monkeypatch.setenv("PATH", str(clang.parent))
    from cutegen.toolchain.host import find_host_compiler

    monkeypatch.setattr("cutegen.toolchain.host._examine", lambda *_: {"version": "c", "machine": "m"})
    assert find_host_compiler().for_nvcc
    monkeypatch.setenv("NVCC_CCBIN", "/usr/bin/g++")
    assert not find_host_compiler().for_nvcc


def test_a_missing_host_compiler_is_named(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CC", "no-such-cc")
    with pytest.raises(ToolchainError, match=r"no host C compiler .*CUTEGEN_CC=no-such-cc.*set CUTEGEN_CC"):
        find_toolchain()
    monkeypatch.setenv("CUTEGEN_CC", str(script(fakes.root / "bad", "#!/bin/sh\nexit 3\n")))
    with pytest.raises(ToolchainError, match=r"bad --version' failed|bad --version failed"):
        find_toolchain()


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("no libc", r"cannot compile C: .*dlfcn\.h: No such file.*apt install gcc libc6-dev"),
        ("no C++", r"cannot compile C\+\+, which nvcc needs of it: .*cc1plus.*apt install g\+\+"),
    ],
)
def test_half_a_compiler_is_named(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch, mode: str, words: str
) -> None:
    monkeypatch.setenv("FAKE_CC_MODE", mode)
    with pytest.raises(ToolchainError, match=words):
        find_toolchain()
    monkeypatch.delenv("FAKE_CC_MODE")  # a failure is not remembered
    assert find_toolchain().host.machine == "fake-machine"


def test_a_program_that_is_no_compiler_is_named(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CC", "/bin/true")
    with pytest.raises(
        ToolchainError, match=r"/bin/true \(CUTEGEN_CC\) cannot compile C: .* no compiler; install"
    ):
        find_toolchain()
