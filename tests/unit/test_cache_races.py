from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cutegen.cache import Cache, Store, clear, make_key
from cutegen.cache import cache as cache_module
from cutegen.cache.cache import Filled
from cutegen.cache.entry import read_entry
from cutegen.cache.lock import FileLock
from tests.support.cache_fills import filler, forbidden, leftovers, parts, truncate

ROOT = str(Path(cache_module.__file__).parent.parent.parent)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "the cache", lock_timeout=10.0)


# ---- races and locks


def test_one_of_many_threads_builds(cache: Cache) -> None:
    barrier = threading.Barrier(8)
    builds = []
    results = []

    def fill(directory: Path, final: Path) -> Filled:
        builds.append(directory)
        time.sleep(0.05)
        return filler()(directory, final)

    def work() -> None:
        barrier.wait()
        results.append(Cache(cache.store.root, lock_timeout=10.0).fetch(parts(), fill))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1
    assert sorted(built for _, built in results) == [False] * 7 + [True]
    assert leftovers(cache) == []


def test_losing_a_race_is_a_hit(cache: Cache) -> None:
    def fill(directory: Path, final: Path) -> Filled:
        Cache(cache.store.root, lock_timeout=0.0).fetch(parts(), filler())  # someone else is quicker
        (directory / "mine").write_text("mine")
        return filler()(directory, final)

    entry, built = cache.fetch(parts(), fill)
    assert built
    assert "mine" not in entry.files
    assert leftovers(cache) == []


def test_losing_a_race_to_a_damaged_entry(cache: Cache) -> None:
    def fill(directory: Path, final: Path) -> Filled:
        other, _ = Cache(cache.store.root, lock_timeout=0.0).fetch(parts(), filler())
        truncate(other.dir / "libk.so")
        return filler()(directory, final)

    entry, _ = cache.fetch(parts(), fill)
    assert read_entry(entry.dir, entry.key) == entry


def test_a_lock_held_too_long_is_passed_over(cache: Cache) -> None:
    cache.lock_timeout = 0.1
    cache.store.prepare()
    with cache.store.key_lock(make_key(parts())) as lock:
        assert lock.try_acquire()
        start = time.monotonic()
        assert cache.fetch(parts(), filler())[1]
        assert 0.1 <= time.monotonic() - start < 5


def test_waiting_can_be_stopped(cache: Cache) -> None:
    cache.store.prepare()
    with cache.store.key_lock(make_key(parts())) as lock:
        assert lock.try_acquire()
        start = time.monotonic()
        cache.fetch(parts(), filler(), stopped=lambda: True)
        assert time.monotonic() - start < 5


def test_a_lock_excludes_and_vanishes(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    one, two = FileLock(path), FileLock(path)
    assert one.try_acquire()
    assert not two.try_acquire()
    assert not two.acquire(timeout=0.05, give_up=lambda: False)
    one.release()
    assert not path.exists()
    assert not two.try_acquire(create=False)
    assert two.try_acquire()
    two.release()


def test_a_lock_file_deleted_by_its_holder_is_not_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    counter = {"inside": 0, "most": 0, "turns": 0}

    def work() -> None:
        for _ in range(30):
            lock = FileLock(path)
            assert lock.acquire(timeout=30, give_up=lambda: False)
            counter["inside"] += 1
            counter["most"] = max(counter["most"], counter["inside"])
            time.sleep(0)
            counter["inside"] -= 1
            counter["turns"] += 1
            lock.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter == {"inside": 0, "most": 1, "turns": 120}


def test_without_locks_everything_still_works(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr("cutegen.cache.lock.fcntl.flock", no_locks)
    assert cache.fetch(parts(), filler())[1]
    assert not cache.fetch(parts(), forbidden)[1]


KILLED = """
import os, signal, sys
from pathlib import Path
from cutegen.cache import Cache
def fill(directory, final):
    (directory / "k.cu").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
Cache(Path(sys.argv[1])).fetch({"source": "x"}, fill)
"""


def test_what_a_killed_builder_left_is_swept(cache: Cache) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(cache.store.root)],
        check=False,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert done.returncode == -9
    assert leftovers(cache) != []
    assert cache.fetch({"source": "x"}, filler())[1]
    assert leftovers(cache) == []


def test_running_builders_are_not_swept(cache: Cache) -> None:
    cache.store.prepare()
    with cache.store.private() as directory:
        (directory / "k.cu").write_text("in the works")
        Store(cache.store.root).sweep()
        clear(cache.store)
        assert (directory / "k.cu").exists()


def test_old_evidence_is_swept(cache: Cache) -> None:
    entry, _ = cache.fetch(parts(), filler())
    truncate(entry.dir / "k.cu")
    cache.lookup(entry.key)
    cache.store.sweep()
    (kept,) = cache.store.damaged.iterdir()
    os.utime(kept, (1, 1))
    cache.store.sweep()
    assert list(cache.store.damaged.iterdir()) == []
