"""Builds where the cache cannot be written: an error before the compiler starts, or files that stay."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cutegen.toolchain import process
from tests.support.build_fakes import Fakes, make_fakes
from tests.support.cli import document, invoke
from tests.support.cli_process import run


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """A toolchain, and a cache that nobody can make: root may write read-only directories, too."""
    found = make_fakes(tmp_path, monkeypatch)
    (tmp_path / "a file").write_text("in the way")
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(tmp_path / "a file" / "cache"))
    return found


def test_a_build_says_where_to_keep_the_kernel(fakes: Fakes, good: str) -> None:
    done = run("build", good)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr == (
        f"error: the kernel cache {fakes.root}/a file/cache cannot be written (Not a directory); set "
        "CUTEGEN_CACHE_DIR to a directory that can be written and has space, or give -o DIR to have the "
        "files there\n"
    )
    assert fakes.runs == 0  # it is told before the compiler starts


def test_with_an_output_directory_it_works(fakes: Fakes, good: str, tmp_path: Path) -> None:
    output = tmp_path / "o ut"
    done = run("build", good, "-o", str(output), "--json", env={"PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: the kernel cache ")
    parsed = json.loads(done.stdout)
    assert parsed["notices"] == [line.removeprefix("warning: ")]
    (built,) = parsed["configs"]
    assert built["dir"] == str(output)
    for name in ("source", "so", "header", "cubin", "ptx", "log"):
        assert Path(built[name]).parent == output
        assert Path(built[name]).stat().st_size > 0
    assert built["command"][-1] == built["source"]
    assert len(list(output.iterdir())) == 6


def test_a_kernel_that_is_there_is_used(fakes: Fakes, good: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(fakes.cache))
    first = document("build", good, "--json")["configs"][0]
    assert first["cached"] is False
    assert first["seconds"] > 0
    (fakes.cache / "v1" / "locks").rmdir()
    (fakes.cache / "v1" / "locks").write_text("in the way")
    again = document("build", good, "--json")["configs"][0]
    assert again["cached"] is True
    assert again["seconds"] == first["seconds"]


def test_each_config_has_its_entry_when_the_toolchain_is_missing(fakes: Fakes, good: str, bad: str) -> None:
    parsed = document("build", good, bad, good, "--nvcc", "/nowhere", "--json")
    assert [c["exit_code"] for c in parsed["configs"]] == [3, 2, 3]
    assert [c["error"] for c in parsed["configs"]] == ["ToolchainError", "ConfigError", "ToolchainError"]
    found = invoke("build", good, good, "--nvcc", "/nowhere")
    assert found.stderr.count("nvcc was not found") == 1
    assert "2 failed" in found.stderr


def test_more_jobs_than_memory_holds_are_a_warning(
    good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_fakes(tmp_path / "fakes", monkeypatch)
    monkeypatch.setattr(process, "free_memory", lambda: 2**30)
    other = tmp_path / "other.yaml"
    other.write_text(Path(good).read_text().replace("stages: 3", "stages: 2"))
    found = invoke("build", good, str(other), "--jobs", "64")
    assert found.exit_code == 0, found.output
    (line,) = (line for line in found.stderr.splitlines() if "warning" in line)
    assert line == (
        "warning: 2 compilers at a time may need 2.0 GiB, and 1.0 GiB are free; if one is ended by SIGKILL, "
        "ask for fewer --jobs"
    )
    assert "warning" not in invoke("build", good, str(other)).stderr
    assert "warning" not in invoke("build", good, "--jobs", "64").stderr


def test_copies_replace_files_that_are_in_use(
    good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_fakes(tmp_path / "fakes", monkeypatch)
    output = tmp_path / "out"
    library = Path(document("build", good, "-o", str(output), "--json")["configs"][0]["so"])
    with library.open("rb") as in_use:
        before = os.fstat(in_use.fileno())
        assert invoke("build", good, "-o", str(output)).exit_code == 0
        assert os.fstat(in_use.fileno()).st_size == before.st_size
        assert library.stat().st_ino != before.st_ino


@pytest.fixture
def unprivileged() -> list[str]:
    """A prefix under which even root heeds permissions; it cannot be had everywhere."""
    prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if prefix and subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("root writes everywhere, and setpriv cannot take that away")
    return prefix


def test_a_read_only_cache(
    good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unprivileged: list[str]
) -> None:
    fakes = make_fakes(tmp_path / "fakes", monkeypatch)
    assert invoke("build", good).exit_code == 0
    directories = [fakes.cache, *(p for p in fakes.cache.rglob("*") if p.is_dir())]
    for path in directories:
        path.chmod(0o555)
    try:
        done = run("build", good, prefix=unprivileged)
        assert (done.returncode, done.stderr) == (0, "")
        assert "from the cache" in done.stdout
        done = run("build", good, "--force", prefix=unprivileged)
        assert done.returncode == 3
        assert "--force: the kernel in " in done.stderr
        for args in (["clear", "--yes"], ["prune"]):
            done = run("cache", *args, prefix=unprivileged)
            assert done.returncode == 3
            assert "Permission denied), so nothing can be dropped" in done.stderr
        done = run("cache", "info", "--json", prefix=unprivileged)
        assert json.loads(done.stdout)["writable"] is False
        done = run("doctor", prefix=unprivileged)
        assert "broken" in next(line for line in done.stdout.splitlines() if "kernel cache" in line)
    finally:
        for path in directories:
            path.chmod(0o755)
    assert invoke("cache", "ls").stdout.count("gemm_sm80") == 1


def test_a_umask_that_forbids_everything(
    good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unprivileged: list[str]
) -> None:
    make_fakes(tmp_path / "fakes", monkeypatch)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for args in ([], ["-o", str(tmp_path / "out")]):
        done = run("build", good, *args, prefix=unprivileged, umask=0o777)
        assert done.returncode == 3
        assert "Permission denied" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_size_limit_is_a_full_disk(good: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_fakes(tmp_path / "fakes", monkeypatch)
    done = run("build", good, prefix=["sh", "-c", 'ulimit -f 8; exec "$@"', "sh"])
    assert done.returncode == 3
    assert "cannot be written (File too large)" in done.stderr


def test_an_output_that_is_not_named(good: str) -> None:
    found = invoke("build", good, "-o", "")
    assert found.exit_code == 2
    assert "must name a directory (got ''); the current one is ." in found.stderr
