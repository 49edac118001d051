"""Builds that are raced, killed, damaged, or given no room; the compilers are shell scripts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from cutegen.build import compile_kernel
from cutegen.cache import Cache, CacheWarning
from cutegen.errors import CacheError
from cutegen.toolchain import find_toolchain
from tests.support.build_fakes import Fakes, kernel, make_fakes
from tests.support.build_process import race, start
from tests.support.cli import GOOD, document, invoke


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path, monkeypatch)


def leftovers(fakes: Fakes) -> list[Path]:
    store = Cache(fakes.cache).store
    return [p for d in (store.work, store.locks) if d.is_dir() for p in d.iterdir()]


def wait_for(path: Path) -> None:
    for _ in range(1000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} did not appear")


def test_eight_processes_compile_once(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVCC_SLEEP", "0.2")
    words = race(8)
    assert sorted(first for first, *_ in words) == ["built"] + ["cached"] * 7
    assert len({key for _, key, *_ in words}) == 1
    assert fakes.runs == 1
    assert leftovers(fakes) == []


def test_a_killed_builder_harms_nobody(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVCC_MODE", "wait")
    monkeypatch.setenv("FAKE_NVCC_GATE", str(fakes.root / "gate"))
    victim = start("now")
    wait_for(fakes.toolkit / "waiting")
    waiter = start("now")  # waits for the victim
    assert waiter.stdout is not None
    assert waiter.stdout.readline() == "ready\n"
    time.sleep(0.1)
    victim.send_signal(signal.SIGKILL)
    victim.communicate(timeout=10)
    (fakes.root / "gate").touch()
    out, err = waiter.communicate(timeout=30)
    assert waiter.returncode == 0, err
    assert out.startswith("built")
    assert leftovers(fakes) == []
    monkeypatch.delenv("FAKE_NVCC_MODE")
    assert compile_kernel(kernel("raced")).cached


@pytest.mark.parametrize("file", ["libtiny.so", "tiny.cubin", "tiny.cu", "tiny.h", "manifest.json"])
@pytest.mark.parametrize("damage", ["truncated", "flipped", "lost"])
def test_a_damaged_entry_heals(file: str, damage: str, fakes: Fakes) -> None:
    first = compile_kernel(kernel())
    path = first.dir / file
    data = bytearray(path.read_bytes())
    path.unlink()
    if damage == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        data[len(data) // 3] ^= 1
        path.write_bytes(data)
    healed = compile_kernel(kernel())
    assert not healed.cached
    assert str(first.dir) in str(healed.damaged)
    assert file in str(healed.damaged)
    assert healed.so.read_text() == "a library\n"
    again = compile_kernel(kernel())
    assert (again.cached, again.damaged) == (True, None)
    assert fakes.runs == 2


def test_the_command_says_that_an_entry_was_damaged(fakes: Fakes, tmp_path: Path) -> None:
    configs = [str(tmp_path / name) for name in ("good.yaml", "same.yaml", "other.yaml")]
    for path, stages in zip(configs, (3, 3, 4), strict=True):
        Path(path).write_text(GOOD.replace("stages: 3", f"stages: {stages}"), encoding="utf-8")
    first = document("build", *configs, "--json")["configs"]
    assert [c["damaged"] for c in first] == [None] * 3
    Path(first[0]["so"]).write_text("a libr")
    found = invoke("build", *configs)
    assert found.exit_code == 0, found.output
    (said,) = [line for line in found.stderr.splitlines() if "damaged" in line]
    assert said.startswith(
        f"{first[0]['name']}: built anew, as the cache's entry was damaged: {first[0]['so']}"
    )
    assert "damaged" not in invoke("build", *configs).stderr
    Path(first[0]["so"]).write_text("a libr")
    forced = document("build", *configs, "--force", "--json")["configs"]
    assert [c["cached"] for c in forced] == [False] * 3
    assert [first[0]["so"] in str(c["damaged"]) for c in forced] == [True, True, False]


def test_a_whole_cache_that_vanishes(fakes: Fakes) -> None:
    compile_kernel(kernel())
    shutil.rmtree(fakes.cache)
    assert not compile_kernel(kernel()).cached


# ---- caches that cannot be written

NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


@pytest.fixture(scope="module")
def namespace() -> tuple[str, ...]:
    """A prefix that gives a process mounts of its own."""
    if shutil.which("unshare") is None:
        pytest.skip("no unshare(1) to make a mount namespace with")
    done = subprocess.run(
        [*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"], check=False, capture_output=True
    )
    if done.returncode != 0:
        pytest.skip(f"no mount namespaces here: {done.stderr.decode().strip()}")
    return NAMESPACE


def in_namespace(prefix: Sequence[str], mounts: str, *arguments: str) -> list[str]:
    """A prefix that mounts first; ``$1`` and so on in ``mounts`` are the arguments."""
    count = len(arguments)
    return [*prefix, "sh", "-ec", f'{mounts}\nshift {count}\nexec "$@"', "sh", *arguments]


READ_ONLY = 'mount --bind "$1" "$1"; mount -o remount,ro,bind "$1"'


def test_a_read_only_cache_gives_what_it_has(fakes: Fakes, namespace: tuple[str, ...]) -> None:
    compile_kernel(kernel("raced"))
    process = start("now", prefix=in_namespace(namespace, READ_ONLY, str(fakes.cache)))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.splitlines()[1].startswith("cached")
    assert "Warning" not in err
    assert fakes.runs == 1


def test_a_read_only_cache_that_lacks_the_kernel(
    fakes: Fakes, namespace: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_toolchain()
    compile_kernel(kernel("another"))
    tmp = tmp_path / "t m p"
    tmp.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp))
    process = start("now", prefix=in_namespace(namespace, READ_ONLY, str(fakes.cache)))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.splitlines()[1].startswith("built")
    assert str(tmp) in out
    assert err.count("CacheWarning") == 1
    assert "Read-only file system" in err
    assert "CUTEGEN_CACHE_DIR" in err
    assert list(tmp.iterdir()) == []
    assert not compile_kernel(kernel("raced")).cached


def test_a_damaged_entry_of_a_read_only_cache_is_not_used(fakes: Fakes, namespace: tuple[str, ...]) -> None:
    built = compile_kernel(kernel("raced"))
    built.so.write_text("a libr")
    process = start("now", prefix=in_namespace(namespace, READ_ONLY, str(fakes.cache)))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.splitlines()[1].startswith("built")
    assert str(fakes.cache) not in out


def test_a_full_disk_is_passed_by(fakes: Fakes, namespace: tuple[str, ...]) -> None:
    find_toolchain()
    fakes.cache.mkdir(exist_ok=True)
    fill = 'mount -t tmpfs -o size=64k none "$1"; dd if=/dev/zero of="$1/filler" bs=1k count=56 2> /dev/null'
    process = start("now", prefix=in_namespace(namespace, fill, str(fakes.cache)))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.splitlines()[1].startswith("built")
    assert str(fakes.cache) not in out
    assert err.count("CacheWarning") == 1
    assert "No space left on device" in err


def test_disks_that_are_all_full(
    fakes: Fakes, namespace: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp = tmp_path / "tmp"
    tmp.mkdir()
    fakes.cache.mkdir(exist_ok=True)
    monkeypatch.setenv("TMPDIR", str(tmp))
    fill = (
        'for d in "$1" "$2"; do mount -t tmpfs -o size=64k none "$d"; '
        'dd if=/dev/zero of="$d/filler" bs=1k count=56 2> /dev/null; done'
    )
    process = start("now", prefix=in_namespace(namespace, fill, str(fakes.cache), str(tmp)))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "CacheError: neither the cache" in err
    assert "No space left on device; set CUTEGEN_CACHE_DIR or TMPDIR" in err


def test_a_file_size_limit_is_like_a_full_disk(fakes: Fakes) -> None:
    find_toolchain()
    prefix = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh"]  # blocks of 512 or 1024 bytes
    process = start("now", prefix=prefix)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "CacheError: neither the cache" in err
    assert "CompileError" not in err


def test_a_compiler_that_reports_a_full_disk(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NVCC_MODE", "full")
    with (
        pytest.warns(CacheWarning, match="No space left"),
        pytest.raises(CacheError, match="neither the cache"),
    ):
        compile_kernel(kernel())
    assert fakes.runs == 2
    assert leftovers(fakes) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_without_write_permission(fakes: Fakes) -> None:
    compile_kernel(kernel("warm"))
    store = Cache(fakes.cache).store
    for directory in (store.entries, store.work, store.locks):
        directory.chmod(0o500)
    try:
        assert compile_kernel(kernel("warm")).cached
        with pytest.warns(CacheWarning, match="Permission denied"):
            assert not compile_kernel(kernel("cold")).cached
    finally:
        for directory in (store.entries, store.work, store.locks):
            directory.chmod(0o700)


# ---- paths with spaces


def test_spaces_in_every_path(fakes: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp = tmp_path / "t m p"
    desk = tmp_path / "my desk"
    tmp.mkdir()
    desk.mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp))
    for path in (fakes.cache, fakes.cutlass, fakes.nvcc.parent, tmp, desk):
        assert " " in str(path)
    process = start("now", cwd=desk)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.splitlines()[1].startswith("built")
    assert list(tmp.iterdir()) == []
    assert list(desk.iterdir()) == []
