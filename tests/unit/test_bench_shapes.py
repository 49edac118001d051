"""The problems that a user names."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutegen.bench.shapes import Shape, read_shapes
from cutegen.errors import ConfigError

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_list() -> None:
    assert read_shapes("4096x4096x512,1x8192x8192,4096x4096x512") == (
        Shape(4096, 4096, 512),
        Shape(1, 8192, 8192),
    )
    assert str(Shape(1, 2, 3)) == "1x2x3"
    assert Shape(2, 3, 5).flop == 60


def test_the_shapes_of_the_examples() -> None:
    shapes = read_shapes(str(EXAMPLES / "shapes" / "llm.yaml"))
    assert len(shapes) == 17
    assert shapes[0] == Shape(8192, 8192, 8192)
    assert shapes[-1] == Shape(1, 8192, 8192)


def test_a_file_may_tell_times_of_others(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("device: NVIDIA H200\nshapes:\n- {m: 1, n: 2, k: 3, cublas_us: 1.5, name: up}\n")
    assert read_shapes(str(path)) == (Shape(1, 2, 3),)


@pytest.mark.parametrize("text", ["4096x4096", "0x1x1", "1x2x3,", "1x2x3;1x2x3", "4294967296x1x1"])
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(ConfigError, match=r"shapes: .* must be|shapes: must be"):
        read_shapes(text)


def test_mistakes_in_a_file_are_told_at_once_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("shapes:\n- {m: 1, n: 2}\n- {m: x, n: 2, k: true}\n- 5\n- {m: 1, n: 1, k: 1, kk: 2}\n")
    with pytest.raises(ConfigError) as caught:
        read_shapes(str(path))
    told = [(v.field, v.got) for v in caught.value.violations]
    assert told == [
        ("shapes.0", "nothing"),
        ("shapes.1.m", "x"),
        ("shapes.1.k", "True"),
        ("shapes.2", "5"),
        ("shapes.3.kk", "kk"),
    ]
    assert ":3:" in str(caught.value.violations[1])


@pytest.mark.parametrize("text", ["[]", "shapes: []", "shape: [{m: 1, n: 1, k: 1}]", "3", "shapes: 3"])
def test_a_file_without_shapes(text: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="is no list of shapes"):
        read_shapes(str(path))
    path.write_text("shapes: [{m: 1, n: 1, k: 1}]\nmore: 1\n")
    with pytest.raises(ConfigError, match="must be shapes or device"):
        read_shapes(str(path))
