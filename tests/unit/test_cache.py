from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen.cache import Cache, make_key
from cutegen.cache.cache import BuildFailure, Filled
from cutegen.cache.entry import MANIFEST, DamagedEntryError, read_entry
from cutegen.errors import CompileError
from tests.support.cache_fills import filler, forbidden, leftovers, parts, truncate


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "the cache", lock_timeout=10.0)


# ---- keys and entries


def test_a_build_is_found_again(cache: Cache) -> None:
    entry, built = cache.fetch(parts(), filler())
    assert built
    assert (entry.dir / "k.cu").read_text() == "source "
    assert entry.meta["final"] == str(entry.dir)
    again, built = cache.fetch(parts(), forbidden)
    assert not built
    assert again == entry
    assert leftovers(cache) == []


def test_an_entry_looked_up_elsewhere_is_the_same(cache: Cache, tmp_path: Path) -> None:
    entry, _ = cache.fetch(parts(), filler())
    moved = tmp_path / "moved"
    cache.store.root.rename(moved)
    found = Cache(moved).lookup(entry.key)
    assert found is not None
    assert found.files == entry.files


@given(
    st.dictionaries(st.text(), st.one_of(st.integers(), st.text(), st.lists(st.text())), min_size=1),
    st.randoms(use_true_random=False),
)
def test_the_key_depends_on_content_and_not_on_order(value: dict[str, object], random: object) -> None:
    items = list(value.items())
    random.shuffle(items)  # type: ignore[attr-defined]
    assert make_key(dict(items)) == make_key(value)
    name = next(iter(value))
    assert make_key({**value, name: [value[name]]}) != make_key(value)
    assert make_key({**value, name + "x": 0}) != make_key(value)


def test_last_use_is_kept(cache: Cache) -> None:
    entry, _ = cache.fetch(parts(), filler())
    os.utime(entry.dir / MANIFEST, (1000, 1000))
    cache.lookup(entry.key)
    assert time.time() - cache.store.last_used(entry.key) < 60


# ---- damage


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def replace_by_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def nest(path: Path) -> None:
    path.write_bytes(b"[" * 200_000)


DAMAGES: list[Callable[[Path], None]] = [truncate, flip, nest, Path.unlink, replace_by_directory]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", ["libk.so", "k.cu", MANIFEST])
def test_a_damaged_entry_is_moved_aside_and_built_again(
    damage: Callable[[Path], None], file: str, cache: Cache
) -> None:
    entry, _ = cache.fetch(parts(), filler())
    damage(entry.dir / file)
    assert cache.lookup(entry.key) is None
    assert len(list(cache.store.damaged.iterdir())) == 1
    healed, built = cache.fetch(parts(), filler())
    assert built
    assert healed.files == entry.files
    assert cache.fetch(parts(), forbidden)[1] is False


def test_every_flipped_bit_of_a_manifest_is_seen(cache: Cache) -> None:
    entry, _ = cache.fetch(parts(), filler())
    manifest = entry.dir / MANIFEST
    good = manifest.read_bytes()
    for index in range(0, len(good), 7):
        bad = bytearray(good)
        bad[index] ^= 1 << (index % 8)
        manifest.write_bytes(bad)
        with pytest.raises(DamagedEntryError):
            read_entry(entry.dir, entry.key)
    manifest.write_bytes(good)
    assert read_entry(entry.dir, entry.key) == entry


def test_an_entry_under_the_wrong_key_is_no_entry(cache: Cache) -> None:
    entry, _ = cache.fetch(parts("one"), filler("one"))
    other = make_key(parts("two"))
    entry.dir.rename(cache.store.path(other))
    assert cache.lookup(other) is None


def test_a_file_in_place_of_an_entry(cache: Cache) -> None:
    key = make_key(parts())
    cache.store.prepare()
    cache.store.path(key).write_text("in the way")
    entry, built = cache.fetch(parts(), filler())
    assert built
    assert entry.dir == cache.store.path(key)


def test_an_empty_directory_in_place_of_an_entry(cache: Cache) -> None:
    cache.store.prepare()
    cache.store.path(make_key(parts())).mkdir()
    assert cache.fetch(parts(), filler())[1]


# ---- failure


def test_a_failure_is_no_entry_and_its_source_stays(cache: Cache) -> None:
    def fill(directory: Path, final: Path) -> Filled:
        (directory / "k.cu").write_text("bad source")
        raise BuildFailure(lambda kept: CompileError(str(kept / "k.cu"), ["nvcc"], "error: oops"))

    with pytest.raises(CompileError) as caught:
        cache.fetch(parts(), fill)
    assert Path(caught.value.source).read_text() == "bad source"
    assert cache.lookup(make_key(parts())) is None
    assert leftovers(cache) == []

    with pytest.raises(CompileError):  # a second failure takes the place of the first
        cache.fetch(parts(), fill)
    assert len(list(cache.store.failed.iterdir())) == 1
    assert cache.fetch(parts(), filler())[1]  # and a retry in the same process can succeed


def test_any_other_exception_leaves_nothing(cache: Cache) -> None:
    def fill(directory: Path, final: Path) -> Filled:
        (directory / "k.cu").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.fetch(parts(), fill)
    assert leftovers(cache) == []
    assert cache.lookup(make_key(parts())) is None
