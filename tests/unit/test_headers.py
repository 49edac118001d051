from __future__ import annotations

import os
import pickle
import re
import shutil
import sys
from pathlib import Path

import pytest

from cutegen.cache.store import Store
from cutegen.errors import ToolchainError
from cutegen.toolchain import find_toolchain
from cutegen.toolchain.headers import find_cutlass
from tests.support.build_fakes import (
    Fakes,
    clean_environment,
    make_cutlass,
    make_fakes,
    no_program_runs,
    write,
)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path, monkeypatch)


# ---- CUTLASS


def test_cutlass_is_found_without_importing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clean_environment(monkeypatch)
    before = "cutlass_library" in sys.modules
    found, _ = find_cutlass()
    assert found.origin == "nvidia-cutlass wheel"
    assert tuple(map(int, found.version.split("."))) >= (4, 0, 0)
    assert ("cutlass_library" in sys.modules) == before


def test_cutlass_by_include_directory(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CUTLASS_DIR", str(fakes.cutlass / "include"))
    found, _ = find_cutlass()
    assert found.include == fakes.cutlass / "include"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("empty", r"incomplete: cutlass/version.h is missing, found no version, need 4.0"),
        ("absent", r"version 4.0 or later, were not found \(CUTEGEN_CUTLASS_DIR: .*: no version\)"),
        ("old", r"CUTLASS must be version 4.0 or later \(got 2.11.0 in .*CUTEGEN_CUTLASS_DIR"),
        ("root header", r"CUTLASS 4.2.0 headers .* stopped half-way: cute/tensor.hpp missing or empty"),
        ("included header", r"CUTLASS 4.2.0 headers .* stopped half-way: cute/config.hpp missing or empty"),
        ("empty header", r"CUTLASS 4.2.0 headers .* stopped half-way: cute/config.hpp missing or empty"),
    ],
)
def test_bad_cutlass_is_refused_before_any_program_runs(
    damage: str, message: str, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    include = fakes.cutlass / "include"
    if damage == "empty":
        shutil.rmtree(fakes.cutlass)
        fakes.cutlass.mkdir()
    elif damage == "absent":
        shutil.rmtree(fakes.cutlass)
    elif damage == "old":
        make_cutlass(fakes.cutlass, (2, 11, 0))
    elif damage == "root header":
        (include / "cute" / "tensor.hpp").unlink()
    elif damage == "included header":
        (include / "cute" / "config.hpp").unlink()
    else:
        (include / "cute" / "config.hpp").write_text("")
    flag = no_program_runs(fakes)
    with pytest.raises(ToolchainError, match=message) as caught:
        find_toolchain()
    assert "pip install 'nvidia-cutlass>=4.2'" in str(caught.value)
    assert not flag.exists()


def test_the_verdict_on_cutlass_is_not_remembered_too_long(fakes: Fakes) -> None:
    config = fakes.cutlass / "include" / "cute" / "config.hpp"
    text = config.read_text()
    config.unlink()
    with pytest.raises(ToolchainError, match="half-way"):
        find_toolchain()
    config.write_text(text)
    assert find_toolchain().cutlass.version == "4.2.0"


# ---- header manifest


def test_the_manifest_is_content_and_not_place_or_time(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    before = find_toolchain().headers
    for path in (fakes.cutlass / "include").rglob("*.hpp"):
        os.utime(path, (1, 1))
    copy = fakes.root / "copy"
    shutil.copytree(fakes.cutlass, copy)
    assert find_toolchain().headers == before
    monkeypatch.setenv("CUTEGEN_CUTLASS_DIR", str(copy))
    assert find_toolchain().headers == before


@pytest.mark.parametrize("tree", ["cutlass", "cuda", "cccl"])
def test_the_manifest_changes_with_a_header(tree: str, fakes: Fakes) -> None:
    path = {
        "cutlass": fakes.cutlass / "include" / "cute" / "atom" / "mma_atom.hpp",
        "cuda": fakes.toolkit / "include" / "crt" / "host_config.h",
        "cccl": fakes.toolkit / "include" / "cccl" / "cuda" / "std" / "cstdint",
    }[tree]
    before = find_toolchain().headers
    stat = path.stat()
    path.write_text("// A header\n")  # same size, and the time is put back
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    changed = find_toolchain().headers
    assert changed != before
    path.write_text("// a header\n")
    assert find_toolchain().headers == before


def test_the_manifest_changes_with_a_new_or_lost_header(fakes: Fakes) -> None:
    before = find_toolchain().headers
    extra = write(fakes.cutlass / "include" / "cutlass" / "extra.h")
    assert find_toolchain().headers != before
    extra.unlink()
    assert find_toolchain().headers == before


def test_headers_that_no_kernel_can_reach_do_not_count(fakes: Fakes) -> None:
    before = find_toolchain().headers
    write(fakes.toolkit / "include" / "unrelated.h", "// changed\n")
    assert find_toolchain().headers == before


def test_a_newly_included_cuda_header_counts(fakes: Fakes) -> None:
    write(fakes.toolkit / "include" / "crt" / "host_config.h", '#include "../unrelated.h"\n')
    before = find_toolchain().headers
    write(fakes.toolkit / "include" / "unrelated.h", "// changed\n")
    assert find_toolchain().headers != before


def test_a_damaged_memo_is_computed_again(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutegen.toolchain import memo

    before = find_toolchain()
    memos = list(Store(fakes.cache).toolchains.glob("*.json"))
    assert len(memos) == 4
    good = [path.read_bytes() for path in memos]
    deep = [b"[" * 200_000, b'{"a":' * 200_000, memo._seal({})[:-3] + b"[" * 200_000]
    for junk in (b"", b"[]", b"{}", b'{"stamps": 3, "digest": 4}', b"\xff\xfe", *deep):
        for path in memos:
            path.write_bytes(junk)
        monkeypatch.setattr(memo, "_known", {})
        assert find_toolchain() == before
        assert [path.read_bytes() for path in memos] == good  # healed


def test_a_flipped_bit_of_a_memo_is_seen(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutegen.toolchain import memo

    before = find_toolchain()
    for path in Store(fakes.cache).toolchains.glob("*.json"):
        content = path.read_bytes()
        digest = re.search(rb'"(?:digest|identity|version)":"(.)', content)
        assert digest is not None
        place = digest.start(1)
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    monkeypatch.setattr(memo, "_known", {})
    assert find_toolchain() == before


def test_memos_work_in_a_cache_that_cannot_be_written(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = write(fakes.root / "a file", "in the way")
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", str(blocker / "cache"))
    assert find_toolchain() == find_toolchain()


def test_a_warm_toolchain_runs_nothing_and_reads_no_tree(
    fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutegen.toolchain import memo

    before = find_toolchain()
    monkeypatch.setattr(memo, "_known", {})  # as in a new process

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a warm start must not do this")

    for module, name in (
        ("nvcc", "run"),
        ("host", "run"),
        ("headers", "walk"),
        ("headers", "reachable"),
        ("headers", "digest_tree"),
    ):
        monkeypatch.setattr(f"cutegen.toolchain.{module}.{name}", forbidden)
    assert find_toolchain() == before


def test_a_toolchain_can_be_pickled(fakes: Fakes) -> None:
    found = find_toolchain()
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_directory_without_cutlass_is_not_searched(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutegen.toolchain import headers

    def forbidden(root: Path) -> None:
        raise AssertionError(f"{root} may be a whole disk")

    monkeypatch.setattr(headers, "walk", forbidden)
    for place in ("/", str(fakes.root)):
        monkeypatch.setenv("CUTEGEN_CUTLASS_DIR", place)
        with pytest.raises(ToolchainError, match=r"cutlass/version\.h is missing"):
            find_toolchain()


def test_links_that_lead_nowhere_are_left_out(fakes: Fakes) -> None:
    before = find_toolchain().headers
    include = fakes.cutlass / "include"
    (include / "round.hpp").symlink_to("round.hpp")
    (include / "lost.hpp").symlink_to("/no/such.hpp")
    (include / "again").symlink_to(include)
    assert find_toolchain().headers == before


def test_headers_that_cannot_be_read(fakes: Fakes, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutegen.toolchain import headers

    def fail(root: Path) -> None:
        raise PermissionError(13, "Permission denied", str(root / "cute"))

    monkeypatch.setattr(headers, "walk", fail)
    with pytest.raises(ToolchainError, match=r"cannot be read: .*/cute: Permission denied"):
        find_toolchain()
