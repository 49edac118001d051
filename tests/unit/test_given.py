"""Arguments of the Python interface that are of the wrong kind: typed errors that say what is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cutegen
from cutegen.errors import ConfigError
from tests.support.build_fakes import Fakes, make_fakes


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path / "fakes", monkeypatch)


build: Any = cutegen.build
build_many: Any = cutegen.build_many
load: Any = cutegen.load
loads: Any = cutegen.loads
CONFIG = cutegen.loads("arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\n")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: build(CONFIG, target=80), "target: must be sm_ and a number, for example sm_90 (got 80)"),
        (lambda: build(CONFIG, target=b"sm_80"), "target: must be sm_ and a number"),
        (lambda: build(CONFIG, style="x"), "style must be one of resolved, idiomatic (got 'x')"),
        (lambda: build(CONFIG, cache=3), "cache: must be a directory"),
        (lambda: build(CONFIG, cache=""), "cache: must be a directory"),
        (lambda: build(CONFIG, toolchain="nvcc"), "toolchain: must be what cutegen.toolchain.find_toolchain"),
        (lambda: build(CONFIG, sanitize="loud"), "sanitize: must be True, False or 'report' (got 'loud')"),
        (lambda: build(3), "config: must be a GemmConfig, the path of a YAML file"),
        (lambda: build(None), "config: must be a GemmConfig, the path of a YAML file"),
        (lambda: build([CONFIG]), "config: must be a GemmConfig, the path of a YAML file"),
        (lambda: build_many("a.yaml"), "configs: must be a list of configs; for one, write [config]"),
        (lambda: build_many(Path("a.yaml")), "configs: must be a list of configs; for one"),
        (lambda: build_many({"arch": "sm_80"}), "configs: must be a list of configs; for one"),
        (lambda: build_many(CONFIG), "configs: must be a list of configs; for one"),
        (lambda: build_many(3), "configs: must be a list of configs (got 3)"),
        (lambda: build_many([CONFIG], jobs=0), "jobs: must be a whole number >= 1"),
        (lambda: build_many([CONFIG], jobs="2"), "jobs: must be a whole number >= 1"),
        (lambda: build_many([CONFIG], jobs=True), "jobs: must be a whole number >= 1"),
        (lambda: load(3), "the path of a config must be given (got 3)"),
        (lambda: load(""), "the path of a config must be given (got '')"),
        (lambda: load("a\0b"), "cannot be read"),
        (lambda: load("x" * 5000), "cannot be read: File name too long"),
        (lambda: loads(None), "<string>: must be YAML text (got None)"),
        (lambda: loads(b"arch: sm_80"), "<string>: must be YAML text"),
    ],
)
def test_a_wrong_kind_is_a_typed_error(call: Callable[[], Any], words: str, fakes: Fakes) -> None:
    with pytest.raises(ConfigError) as caught:
        call()
    assert words in str(caught.value)
    assert len(str(caught.value)) < 500
    assert fakes.runs == 0


def test_a_cache_may_be_named_by_its_path(tmp_path: Path) -> None:
    from cutegen.cache import open_cache
    from cutegen.given import cache_of

    for path in (tmp_path / "one", str(tmp_path / "two")):
        found = cache_of(path)
        assert found is not None
        assert str(found.store.root) == str(path)
    opened = open_cache(tmp_path / "three")
    assert cache_of(opened) is opened
    assert cache_of(None) is None


def test_any_iterable_of_configs_will_do() -> None:
    from cutegen.given import configs_of

    assert configs_of(c for c in [CONFIG, CONFIG]) == [CONFIG, CONFIG]
    assert configs_of((CONFIG,)) == [CONFIG]
    assert configs_of([]) == []
