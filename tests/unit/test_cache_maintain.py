from __future__ import annotations

import io
import json
import os
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cutegen.cache import Cache, clear, info, ls, make_key, prune
from cutegen.cache.archive import export_entries, import_entries
from cutegen.cache.entry import MANIFEST, DamagedEntryError, canonical_json, read_entry, seal
from cutegen.errors import CacheError
from tests.support.cache_fills import filler, leftovers, parts, truncate


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "the cache", lock_timeout=10.0)


# ---- maintenance


def fill_three(cache: Cache) -> list[str]:
    """Three entries of 1000 bytes and more, the first used longest ago."""
    keys = []
    for age, note in ((300, "a"), (200, "b"), (100, "c")):
        entry, _ = cache.fetch(parts(note), filler(note, size=1000))
        when = time.time() - age
        os.utime(entry.dir / MANIFEST, (when, when))
        keys.append(entry.key)
    return keys


def test_ls_and_info(cache: Cache) -> None:
    assert ls(cache.store) == []
    assert not info(cache.store).exists
    assert info(cache.store).writable
    keys = fill_three(cache)
    listed = ls(cache.store)
    assert [e.key for e in listed] == keys[::-1]
    assert {(e.name, e.arch, e.target, e.damaged) for e in listed} == {("k", "sm_80", "sm_90", False)}
    facts = info(cache.store, size_limit=5)
    assert (facts.entries, facts.size_limit, facts.damaged, facts.failed) == (3, 5, 0, 0)
    assert facts.bytes == sum(e.bytes for e in listed) > 3000
    json.dumps([facts.to_dict(), *(e.to_dict() for e in listed)])


def test_ls_sees_damage(cache: Cache) -> None:
    keys = fill_three(cache)
    truncate(cache.store.path(keys[0]) / "libk.so")
    truncate(cache.store.path(keys[1]) / MANIFEST)
    assert {e.key for e in ls(cache.store) if e.damaged} == {keys[1]}
    assert {e.key for e in ls(cache.store, verify=True) if e.damaged} == set(keys[:2])


def test_prune_by_size_drops_the_least_recently_used(cache: Cache) -> None:
    keys = fill_three(cache)
    size = info(cache.store).bytes
    result = prune(cache.store, max_bytes=size - 1)
    assert result.dropped == (keys[0],)
    assert result.left_entries == 2
    assert result.left_bytes == info(cache.store).bytes == size - result.freed_bytes
    assert [e.key for e in ls(cache.store)] == [keys[2], keys[1]]
    assert prune(cache.store).dropped == ()


def test_prune_by_age(cache: Cache) -> None:
    keys = fill_three(cache)
    assert prune(cache.store, max_age=150).dropped == tuple(keys[:2])
    assert leftovers(cache) == []


def test_what_is_in_use_is_not_dropped_by_size(cache: Cache) -> None:
    keys = fill_three(cache)
    assert prune(cache.store, max_bytes=0, min_idle=250).dropped == (keys[0],)


def test_a_build_keeps_the_size_limit(cache: Cache) -> None:
    cache.size_limit = 6000
    keys = fill_three(cache)
    for when, key in enumerate(keys):
        os.utime(cache.store.path(key) / MANIFEST, (when, when))
    entry, _ = cache.fetch(parts("d"), filler("d", size=1000))
    left = [e.key for e in ls(cache.store)]
    assert entry.key in left
    assert keys[0] not in left
    assert info(cache.store).bytes <= 6000


def aside(cache: Cache, *sizes: int, age: float = 7200.0) -> list[Path]:
    """Damaged entries and failures of these sizes, the first the oldest."""
    found = []
    for index, size in enumerate(sizes):
        path = (cache.store.damaged, cache.store.failed)[index % 2] / f"old{index}"
        path.mkdir(parents=True)
        (path / "k.cu").write_bytes(bytes(size))
        when = time.time() - age + index
        os.utime(path, (when, when))
        found.append(path)
    return found


def test_what_was_put_aside_counts_and_goes_first(cache: Cache) -> None:
    keys = fill_three(cache)
    good = info(cache.store).bytes
    oldest, newest = aside(cache, 5000, 3000)
    facts = info(cache.store)
    assert (facts.bytes, facts.aside_bytes, facts.damaged, facts.failed) == (good, 8000, 1, 1)
    result = prune(cache.store, max_bytes=good + 3000)
    assert (result.dropped, result.freed_bytes, result.left_bytes) == ((), 5000, good + 3000)
    assert (oldest.exists(), newest.exists()) == (False, True)
    result = prune(cache.store, max_bytes=good - 1)
    assert result.dropped == (keys[0],)
    assert not newest.exists()
    assert info(cache.store).aside_bytes == 0


def test_what_was_just_put_aside_is_kept_after_a_build(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "one", size_limit=1000)
    (new,) = aside(cache, 5000, age=60.0)  # an error that was printed names it
    cache.fetch(parts("one"), filler("one"))
    assert new.exists()
    cache = Cache(tmp_path / "two", size_limit=1000)
    (old,) = aside(cache, 5000)
    cache.fetch(parts("one"), filler("one"))
    assert not old.exists()


def test_times_that_are_yet_to_come(cache: Cache) -> None:
    keys = fill_three(cache)
    later = time.time() + 10 * 365 * 86400.0  # the clock was wrong once
    os.utime(cache.store.path(keys[2]) / MANIFEST, (later, later))
    assert prune(cache.store, max_bytes=info(cache.store).bytes - 1, min_idle=3600.0).dropped == (keys[2],)
    os.utime(cache.store.path(keys[1]) / MANIFEST, (later, later))
    cache.lookup(keys[1])
    assert abs(cache.store.last_used(keys[1]) - time.time()) < 60


def test_clear(cache: Cache) -> None:
    keys = fill_three(cache)
    truncate(cache.store.path(keys[0]) / "libk.so")
    cache.lookup(keys[0])
    result = clear(cache.store)
    assert sorted(result.dropped) == sorted(keys[1:])
    facts = info(cache.store)
    assert (facts.entries, facts.bytes, facts.damaged, facts.failed) == (0, 0, 0, 0)
    assert clear(cache.store).dropped == ()


# ---- archives


@pytest.mark.parametrize("name", ["a b.tar", "c.tar.gz", "d.tgz"])
def test_export_and_import(name: str, cache: Cache, tmp_path: Path) -> None:
    keys = fill_three(cache)
    sent = export_entries(cache.store, tmp_path / name)
    assert sent.keys == tuple(sorted(keys))
    other = Cache(tmp_path / "other")
    got = import_entries(other.store, tmp_path / name)
    assert sorted(got.keys) == sorted(keys)
    for key in keys:
        found = other.lookup(key)
        assert found is not None
        assert found.files == read_entry(cache.store.path(key), key).files
    assert import_entries(other.store, tmp_path / name).present == got.keys
    assert leftovers(other) == []


def test_export_of_some(cache: Cache, tmp_path: Path) -> None:
    keys = fill_three(cache)
    assert export_entries(cache.store, tmp_path / "x.tar", [keys[1][:12]]).keys == (keys[1],)
    with pytest.raises(CacheError, match=r"must name one entry .*\(got 'xyz': no entry\)"):
        export_entries(cache.store, tmp_path / "y.tar", ["xyz"])
    with pytest.raises(CacheError, match=r"\(got '': 3 entries\)"):
        export_entries(cache.store, tmp_path / "y.tar", [""])
    assert not (tmp_path / "y.tar").exists()


def test_equal_caches_give_equal_archives(cache: Cache, tmp_path: Path) -> None:
    fill_three(cache)
    for name in ("one.tar", "two.tar"):
        export_entries(cache.store, tmp_path / name)
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()


def test_a_damaged_entry_is_not_exported(cache: Cache, tmp_path: Path) -> None:
    keys = fill_three(cache)
    truncate(cache.store.path(keys[0]) / "libk.so")
    with pytest.raises(CacheError, match="cannot be exported"):
        export_entries(cache.store, tmp_path / "x.tar", [keys[0]])
    assert list(tmp_path.glob("*x.tar*")) == []


def rewrite(
    source: Path, target: Path, change: Callable[[tarfile.TarInfo, bytes], list[tuple[str, bytes]]]
) -> None:
    """Copy an archive, member by member through ``change``."""
    with tarfile.open(source) as old, tarfile.open(target, "w") as new:
        for member in old:
            file = old.extractfile(member)
            assert file is not None
            for name, data in change(member, file.read()):
                item = tarfile.TarInfo(name)
                item.size = len(data)
                new.addfile(item, io.BytesIO(data))


EVIL = {
    "parent": lambda name: name.replace("cutegen-cache", "cutegen-cache/.."),
    "absolute": lambda name: "/tmp/" + name,
    "dots in the file": lambda name: name.replace("k.cu", "..%2fk.cu"),
    "deep": lambda name: name.replace("k.cu", "sub/k.cu"),
    "hidden": lambda name: name.replace("k.cu", ".k.cu"),
    "no key": lambda name: "cutegen-cache/k.cu",
}


@pytest.mark.parametrize("kind", list(EVIL))
def test_names_that_lead_elsewhere_are_refused(kind: str, cache: Cache, tmp_path: Path) -> None:
    cache.fetch(parts(), filler())
    export_entries(cache.store, tmp_path / "good.tar")
    rewrite(tmp_path / "good.tar", tmp_path / "bad.tar", lambda m, data: [(EVIL[kind](m.name), data)])
    other = Cache(tmp_path / "in here" / "other")
    with pytest.raises(CacheError, match="is refused: member"):
        import_entries(other.store, tmp_path / "bad.tar")
    assert ls(other.store) == []
    assert leftovers(other) == []
    assert [p.name for p in (tmp_path / "in here").iterdir()] == ["other"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE])
def test_members_that_are_no_files_are_refused(kind: bytes, cache: Cache, tmp_path: Path) -> None:
    entry, _ = cache.fetch(parts(), filler())
    with tarfile.open(tmp_path / "bad.tar", "w") as tar:
        item = tarfile.TarInfo(f"cutegen-cache/{entry.key}/k.cu")
        item.type = kind
        item.linkname = "/etc/passwd"
        tar.addfile(item)
    with pytest.raises(CacheError, match="is not a plain file"):
        import_entries(Cache(tmp_path / "other").store, tmp_path / "bad.tar")


@pytest.mark.parametrize("what", ["content", "manifest", "extra", "missing", "twice"])
def test_an_archive_that_was_changed_is_refused(what: str, cache: Cache, tmp_path: Path) -> None:
    cache.fetch(parts(), filler())
    export_entries(cache.store, tmp_path / "good.tar")

    def change(member: tarfile.TarInfo, data: bytes) -> list[tuple[str, bytes]]:
        name = member.name
        if what == "content" and name.endswith("libk.so"):
            return [(name, data + b"!")]
        if what == "manifest" and name.endswith(MANIFEST):
            return [(name, data.replace(b"sm_90", b"sm_91"))]
        if what == "extra" and name.endswith("libk.so"):
            return [(name, data), (name.replace("libk", "libmore"), data)]
        if what == "missing" and name.endswith("libk.so"):
            return []
        if what == "twice":
            return [(name, data), (name, data)]
        return [(name, data)]

    rewrite(tmp_path / "good.tar", tmp_path / "bad.tar", change)
    other = Cache(tmp_path / "other")
    with pytest.raises(CacheError):
        import_entries(other.store, tmp_path / "bad.tar")
    assert ls(other.store) == []
    assert leftovers(other) == []


def test_a_forged_entry_must_at_least_hold_its_source(cache: Cache, tmp_path: Path) -> None:
    entry, _ = cache.fetch(parts(), filler())
    forged = Cache(tmp_path / "forged")
    forged.store.prepare()
    directory = forged.store.path(entry.key)
    directory.mkdir()
    (directory / "k.cu").write_text("another source")
    seal(directory, key=entry.key, name="k", parts=parts(), meta={})
    export_entries(forged.store, tmp_path / "x.tar")
    with pytest.raises(CacheError, match="does not hold the source"):
        import_entries(Cache(tmp_path / "other").store, tmp_path / "x.tar")


def test_forged_types_are_damage(tmp_path: Path) -> None:
    import hashlib

    key = make_key({})
    good = {"schema": 1, "key": key, "name": "k", "parts": {}, "files": {}, "meta": {}}
    for field, value in (
        ("schema", 2),
        ("key", 7),
        ("name", "../k"),
        ("parts", []),
        ("files", {"../x": [1, "a"]}),
        ("files", {MANIFEST: [1, "a"]}),
        ("files", {"x": ["1", "a"]}),
        ("files", {"x": [1]}),
        ("meta", None),
    ):
        body: dict[str, object] = {**good, field: value}
        body["seal"] = hashlib.sha256(canonical_json(body)).hexdigest()
        (tmp_path / MANIFEST).write_bytes(canonical_json(body))
        with pytest.raises(DamagedEntryError, match=r"manifest\.json is damaged"):
            read_entry(tmp_path, key)


def test_files_that_are_no_archives(tmp_path: Path) -> None:
    store = Cache(tmp_path / "c").store
    with pytest.raises(CacheError, match="No such file"):
        import_entries(store, tmp_path / "none.tar")
    (tmp_path / "text").write_text("no tar " * 1000)
    with pytest.raises(CacheError, match="not a whole tar file"):
        import_entries(store, tmp_path / "text")


def test_a_truncated_archive(cache: Cache, tmp_path: Path) -> None:
    cache.fetch(parts(), filler(size=4000))
    for name in ("x.tar", "x.tar.gz"):
        path = tmp_path / name
        export_entries(cache.store, path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 4])
        other = Cache(tmp_path / f"for {name}")
        with pytest.raises(CacheError):
            import_entries(other.store, path)
        assert ls(other.store) == []


def test_an_archive_is_written_to_a_pipe_and_never_in_its_place(cache: Cache, tmp_path: Path) -> None:
    fill_three(cache)
    pipe = tmp_path / "pipe.tar"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    export_entries(cache.store, pipe)
    reader.join()
    assert pipe.is_fifo()
    writer = threading.Thread(target=lambda: pipe.write_bytes(read[0]))
    writer.start()
    assert len(import_entries(Cache(tmp_path / "other").store, pipe).keys) == 3
    writer.join()
    whole = tmp_path / "whole.tar"
    export_entries(cache.store, whole)
    assert read == [whole.read_bytes()]
    link = tmp_path / "link.tar"
    link.symlink_to(whole)
    export_entries(cache.store, link)
    assert link.is_symlink()


def test_a_compressed_archive_holds_no_time(cache: Cache, tmp_path: Path) -> None:
    fill_three(cache)
    first, second = (tmp_path / name for name in ("a.tar.gz", "b.tgz"))
    export_entries(cache.store, first)
    later = time.time() + 100
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: later)
        export_entries(cache.store, second)
    assert first.read_bytes() == second.read_bytes()
    assert len(import_entries(Cache(tmp_path / "other").store, first).keys) == 3
