from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cutegen.cache import Cache, CacheWarning, open_cache
from cutegen.cache import cache as cache_module
from cutegen.cache.cache import Filled
from cutegen.errors import CacheError
from tests.support.cache_fills import filler, forbidden, leftovers, parts

ROOT = str(Path(cache_module.__file__).parent.parent.parent)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "the cache", lock_timeout=10.0)


# ---- caches that cannot be used


@pytest.fixture
def unwritable(tmp_path: Path) -> Cache:
    blocker = tmp_path / "a file"
    blocker.write_text("in the way")
    return Cache(blocker / "cache")


def test_an_unwritable_cache_warns_once_and_builds_in_private(unwritable: Cache) -> None:
    with pytest.warns(
        CacheWarning, match=r"cannot be written \(Not a directory\).*CUTEGEN_CACHE_DIR"
    ) as caught:
        entry, built = unwritable.fetch(parts("one"), filler("one"))
    assert built
    assert len(caught) == 1
    assert entry.dir.is_dir()
    assert entry.dir.parents[2].stat().st_mode & 0o777 == 0o700
    assert unwritable.fetch(parts("one"), forbidden) == (entry, False)  # warnings are errors here
    assert unwritable.fetch(parts("two"), filler("two"))[1]


OVERLAY = """
import sys, warnings
from pathlib import Path
from cutegen.cache import Cache
from cutegen.cache.cache import BuildFailure, Filled
from cutegen.errors import CompileError
warnings.simplefilter("ignore")
def fill(directory, final):
    (directory / "k.cu").write_text("x")
    return Filled(name="k", meta={})
def fail(directory, final):
    (directory / "k.cu").write_text("x")
    raise BuildFailure(lambda kept: CompileError(str(kept / "k.cu"), ["nvcc"], "error"))
cache = Cache(Path(sys.argv[1]))
print(cache.fetch({"source": "x"}, fill)[0].dir)
if len(sys.argv) > 2:
    try:
        cache.fetch({"source": "y"}, fail)
    except CompileError as error:
        print(error.source)
"""


def test_the_private_directory_goes_with_its_process(unwritable: Cache, tmp_path: Path) -> None:
    tmp = tmp_path / "t m p"
    tmp.mkdir()
    command = [sys.executable, "-c", OVERLAY, str(unwritable.store.root)]
    env = {**os.environ, "PYTHONPATH": ROOT, "TMPDIR": str(tmp)}
    done = subprocess.run(command, check=True, env=env, capture_output=True, text=True)
    assert done.stdout.startswith(str(tmp))
    assert list(tmp.iterdir()) == []

    done = subprocess.run([*command, "fail"], check=True, env=env, capture_output=True, text=True)
    entry, failed = done.stdout.splitlines()
    assert not Path(entry).exists()
    assert Path(failed).read_text() == "x"  # an error that was printed names it


def test_what_killed_processes_left_goes_after_a_day(unwritable: Cache, tmp_path: Path) -> None:
    tmp = tmp_path / "t m p"
    tmp.mkdir()
    die = OVERLAY + "import os, signal; sys.stdout.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    env = {**os.environ, "PYTHONPATH": ROOT, "TMPDIR": str(tmp)}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", die, str(unwritable.store.root)], env=env, capture_output=True)
    left = sorted(tmp.iterdir())
    assert len(left) == 2  # the second did not touch what the first had just left
    wait = OVERLAY + "sys.stdout.flush(); sys.stdin.readline()\n"
    alive = subprocess.Popen(
        [sys.executable, "-c", wait, str(unwritable.store.root)],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert alive.stdout is not None
    in_use = Path(alive.stdout.readline().strip())
    (running,) = set(tmp.iterdir()) - set(left)
    for path in (*left, running):
        os.utime(path, (1000, 1000))
    subprocess.run([sys.executable, "-c", OVERLAY, str(unwritable.store.root)], env=env, check=True)
    assert list(tmp.iterdir()) == [running]
    assert in_use.is_dir()
    alive.communicate("go\n", timeout=30)
    assert list(tmp.iterdir()) == []


def test_a_disk_that_fills_up(cache: Cache) -> None:
    calls = []

    def fill(directory: Path, final: Path) -> Filled:
        calls.append(directory)
        if directory.is_relative_to(cache.store.root):
            (directory / "k.cu").write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return filler()(directory, final)

    with pytest.warns(CacheWarning, match="No space left on device"):
        entry, built = cache.fetch(parts(), fill)
    assert built
    assert len(calls) == 2
    assert not entry.dir.is_relative_to(cache.store.root)
    assert leftovers(cache) == []


def test_when_nothing_can_be_written(
    unwritable: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(directory: Path, final: Path) -> Filled:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with (
        pytest.warns(CacheWarning),
        pytest.raises(CacheError, match=r"neither .* nor .*No space left.*TMPDIR"),
    ):
        unwritable.fetch(parts(), full)
    other = Cache(tmp_path / "a file" / "other")
    monkeypatch.setattr(cache_module.tempfile, "mkdtemp", lambda **_: full(Path(), Path()))
    with pytest.raises(
        CacheError, match=r"no temporary directory can be made \(No space left.*CUTEGEN_CACHE_DIR"
    ):
        other.fetch(parts(), filler())


def test_an_error_that_is_not_the_disks_is_not_hidden(cache: Cache) -> None:
    def fill(directory: Path, final: Path) -> Filled:
        raise OSError(errno.ECHILD, "a bug")

    with pytest.raises(OSError, match="a bug"):
        cache.fetch(parts(), fill)


def test_settings_decide_the_default_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(tmp_path / "c"))
    monkeypatch.setenv("CUTEGEN_CACHE_SIZE", "3k")
    monkeypatch.setenv("CUTEGEN_LOCK_TIMEOUT", "7")
    cache = open_cache()
    assert (cache.store.root, cache.size_limit, cache.lock_timeout) == (tmp_path / "c", 3072, 7.0)
    assert not (tmp_path / "c").exists()
