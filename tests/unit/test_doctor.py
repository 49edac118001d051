from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cutegen import toolchain
from cutegen.install import install_command
from cutegen.toolchain import nvcc as nvcc_module
from cutegen.toolchain.doctor import Finding, diagnose, version_number
from cutegen.toolchain.nvcc import locate_nvcc
from tests.support.build_fakes import (
    Fakes,
    make_fakes,
    no_program_runs,
)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path, monkeypatch)


@pytest.fixture
def no_wheels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc_module, "wheel_roots", lambda: [])


# ---- doctor


def test_a_healthy_machine(fakes: Fakes) -> None:
    found = diagnose()
    by_name = {f.name: f for f in found.findings}
    assert found.can_build
    assert by_name["nvcc"].version == "13.0.88"
    assert by_name["nvcc"].origin == "CUTEGEN_NVCC"
    assert by_name["CUTLASS headers"].version == "4.2.0"
    assert by_name["kernel cache"].where == str(fakes.cache)
    assert not any(f.ok and (f.problem or f.fix) for f in found.findings)
    assert not any(not f.ok and not (f.problem and f.fix) for f in found.findings)
    assert {s.name for s in found.settings} == set(toolchain.doctor.settings.VARIABLES)
    import json

    assert json.loads(json.dumps(found.to_dict()))["can_build"] is True


@pytest.mark.usefixtures("no_wheels")
def test_a_machine_that_lacks_everything(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUTEGEN_NVCC")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUTEGEN_CUTLASS_DIR", "/nowhere")
    monkeypatch.setenv("CUTEGEN_CC", "none")
    monkeypatch.setenv("CUTEGEN_CACHE_SIZE", "lots")
    found = diagnose()
    by_name = {f.name: f for f in found.findings}
    assert not found.can_build
    assert install_command("cuda13") in (by_name["nvcc"].fix or "")
    assert any(note.startswith("tried PATH: /nowhere") for note in by_name["nvcc"].notes)
    for name in ("nvcc", "CUDA headers", "CUTLASS headers", "host C compiler", "kernel cache"):
        assert not by_name[name].ok
        assert by_name[name].problem
        assert by_name[name].fix


def test_a_diagnosis_changes_nothing(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_NVCC", "/nowhere")
    monkeypatch.setenv("CUTEGEN_CC", "/nowhere")
    monkeypatch.setenv("CUTEGEN_CUTLASS_DIR", "/nowhere")
    diagnose()
    assert not fakes.cache.exists()


def test_locating_runs_nothing(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    flag = no_program_runs(fakes)
    place, tried = locate_nvcc()
    assert place is not None
    assert place.path == fakes.nvcc
    assert tried == [place]
    assert not flag.exists()


def test_a_cache_that_cannot_be_written_is_found_by_trying(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cache() -> Finding:
        (found,) = (f for f in diagnose().findings if f.name == "kernel cache")
        return found

    assert cache().ok
    for place in ("/proc/cutegen", "/dev/null/cache", "/sys/kernel/cutegen"):  # root may write anywhere else
        monkeypatch.setenv("CUTEGEN_CACHE_DIR", place)
        assert cache().state == "broken"
        assert "it cannot be written" in (cache().problem or "")
    root = fakes.root / "another"
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(root))
    root.mkdir()
    assert cache().ok
    shutil.rmtree(root / "v1")
    (root / "v1").symlink_to("/proc")  # as when one part belongs to another user
    assert "/v1: " in (cache().problem or "")
    (root / "v1").unlink()
    (root / "v1").write_text("in the way")
    assert "/v1: Not a directory" in (cache().problem or "")


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("(Debian 12.2.0-14+deb12u1) 12.2.0", "12.2.0"),
        ("Debian clang version 14.0.6", "14.0.6"),
        ("icx", "icx"),
    ],
)
def test_the_number_of_a_version(words: str, number: str) -> None:
    assert version_number(words) == number
