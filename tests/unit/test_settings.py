from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cutegen import settings
from cutegen.errors import CacheError, ToolchainError
from tests.support.build_fakes import clean_environment


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    clean_environment(monkeypatch)


def test_every_variable_says_what_it_means() -> None:
    for name, variable in settings.VARIABLES.items():
        assert variable.name == name
        assert variable.meaning.endswith(".")
        assert variable.default
        assert variable.own == name.startswith("CUTEGEN_")


def test_an_unlisted_variable_cannot_be_read() -> None:
    with pytest.raises(KeyError, match=r"SHELL is not in cutegen\.settings\.VARIABLES"):
        settings.get("SHELL")


def test_empty_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_NVCC", "")
    assert settings.get("CUTEGEN_NVCC") is None


def test_variables_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_JOBS", "3")
    assert settings.jobs() == 3
    monkeypatch.setenv("CUTEGEN_JOBS", "5")
    assert settings.jobs() == 5
    monkeypatch.delenv("CUTEGEN_JOBS")
    assert settings.jobs() is None


def test_nothing_else_reads_the_environment() -> None:
    package = Path(settings.__file__).parent
    readers = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "os.environ" in (text := path.read_text()) or "getenv" in text
    ]
    assert readers == ["settings.py"]


def test_importing_reads_and_makes_nothing(tmp_path: Path) -> None:
    code = "import cutegen.build, cutegen.toolchain.doctor, cutegen.cache.archive"
    root = str(Path(settings.__file__).parent.parent)
    cache = tmp_path / "cache"
    env = {"CUTEGEN_CACHE_DIR": str(cache), "CUTEGEN_JOBS": "nonsense", "CUTEGEN_CACHE_SIZE": "nonsense"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root, env={**env, "PYTHONPATH": root})
    assert not cache.exists()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"CUTEGEN_CACHE_DIR": "/a b/c"}, "/a b/c"),
        ({"CUTEGEN_CACHE_DIR": "~/c", "HOME": "/h"}, "/h/c"),
        ({"CUTEGEN_CACHE_DIR": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/h"}, "/xdg/cutegen"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/cutegen"),
        ({"HOME": "/h"}, "/h/.cache/cutegen"),
        ({"HOME": "/"}, "/.cache/cutegen"),
    ],
)
def test_where_the_cache_is(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert settings.cache_dir() == Path(expected)


def test_a_relative_cache_directory_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUTEGEN_CACHE_DIR", "here")
    assert settings.cache_dir() == tmp_path / "here"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1024", 1024),
        ("1k", 1024),
        ("1.5 KiB", 1536),
        ("500M", 500 * 2**20),
        ("2GiB", 2**31),
        ("1tb", 2**40),
        ("", None),
        ("-1", None),
        ("2 apples", None),
        ("GiB", None),
    ],
)
def test_sizes(text: str, expected: int | None) -> None:
    assert settings.parse_size(text) == expected


def test_wrong_values_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTEGEN_CACHE_SIZE", "big")
    with pytest.raises(CacheError, match=r"CUTEGEN_CACHE_SIZE must be a size .* \(got 'big'\)"):
        settings.cache_size()
    for value in ("0", "-2", "many", "1.5"):
        monkeypatch.setenv("CUTEGEN_JOBS", value)
        with pytest.raises(ToolchainError, match=rf"CUTEGEN_JOBS must be .* \(got '{value}'\)"):
            settings.jobs()
    for value in ("-1", "nan", "inf", "soon"):
        monkeypatch.setenv("CUTEGEN_LOCK_TIMEOUT", value)
        with pytest.raises(CacheError, match=rf"CUTEGEN_LOCK_TIMEOUT must be .* \(got '{value}'\)"):
            settings.lock_timeout()


def test_defaults() -> None:
    assert settings.cache_size() == 4 * 2**30
    assert settings.lock_timeout() == 300.0
    assert settings.jobs() is None
    assert settings.compiler_variables() == {}


def test_variables_that_change_a_compilation_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-G")
    monkeypatch.setenv("CPATH", "/opt/include")
    assert settings.compiler_variables() == {"NVCC_APPEND_FLAGS": "-G", "CPATH": "/opt/include"}


def test_a_child_gets_untranslated_messages_and_its_own_tmpdir(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    assert settings.child_environment(tmp_path)["TMPDIR"] == str(tmp_path)
    assert settings.child_environment()["TMPDIR"] == "/elsewhere"
    assert settings.child_environment()["LC_ALL"] == "C"


def test_a_cache_without_a_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("CUTEGEN_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", "relative")
    mine = tmp_path / f"cutegen-{os.getuid()}"
    assert settings.cache_dir() == mine
    mine.mkdir()
    assert settings.cache_dir() == mine
    mine.rmdir()
    mine.symlink_to(tmp_path)  # as another user could plant it, with kernels of his
    with pytest.raises(CacheError, match=r"belongs to another user.*set CUTEGEN_CACHE_DIR"):
        settings.cache_dir()


def test_compilers_find_their_parts_without_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    assert settings.child_environment()["PATH"] == os.defpath
    monkeypatch.setenv("PATH", "/opt/bin")
    assert settings.child_environment()["PATH"] == "/opt/bin"
