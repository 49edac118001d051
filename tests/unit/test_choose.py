"""Which kernel is chosen for a problem: the table, the model, and what is left where neither counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutegen
from cutegen.bench.shapes import read_shapes
from cutegen.choose import Card, Problem, config_for, modelled_us
from cutegen.errors import ConfigError
from cutegen.few_rows import small_m_config
from cutegen.tuned import TunedGpu, nearest, table_for, tuned_files
from cutegen.yamlread import parse

EXAMPLES = Path(__file__).parents[2] / "examples"
H200 = Card(cc=90, multiprocessors=132)
A100 = Card(cc=80, multiprocessors=108)


def problem(m: int, n: int, k: int, a: Any = "bf16", **more: Any) -> Problem:
    return Problem(m=m, n=n, k=k, a=a, b=more.pop("b", a), **more)


def chosen(m: int, n: int, k: int, card: Card = H200, **more: Any) -> tuple[Any, ...]:
    config = config_for(problem(m, n, k, **more), card)
    return config.mainloop, config.schedule, (config.tile or (0, 0))[:2], config.scheduler.group


@pytest.mark.parametrize("path", tuned_files(), ids=lambda path: path.stem)
def test_tables_are_whole_and_their_kernels_legal(path: Any) -> None:
    gpu = TunedGpu.model_validate(parse(path.read_text(), path.name).data)
    for table in gpu.tables:
        shapes = [(e.m, e.n, e.k) for e in table.entries]
        assert len(set(shapes)) == len(shapes)
        assert [
            table_for(name, table.majors, cc=gpu.cc, multiprocessors=gpu.multiprocessors)
            for name in table.dtypes
        ]
        for name in table.dtypes:
            for e in table.entries:
                config = config_for(
                    problem(e.m, e.n, e.k, name, majors=table.majors),
                    Card(cc=gpu.cc, multiprocessors=gpu.multiprocessors),
                )
                assert cutegen.check(config) == []
                assert (config.tile, config.schedule, config.scheduler.group) == (e.tile, e.schedule, e.group)


@pytest.mark.parametrize(
    "text",
    [
        "{tile: [128, 64]}",
        "{schedule: both}",
        "{group: 0}",
        "{tiles: [1, 1, 1]}",
        "{m: 0}",
        "{b_cache: none}",
    ],
)
def test_a_mistake_in_a_table_is_found(text: str) -> None:
    good = {"m": 1, "n": 1, "k": 1, "tile": (128, 64, 64), "schedule": "pingpong"}
    entry = good | parse(text, "t").data
    table = {"dtypes": ("bf16",), "majors": "kkn", "entries": (entry,)}
    data = {"gpu": "x", "cc": 90, "multiprocessors": 132, "tables": (table,)}
    with pytest.raises(ValueError, match="validation error"):
        TunedGpu.model_validate(data)
    TunedGpu.model_validate({**data, "tables": ({**table, "entries": (good,)},)})


def test_every_shape_of_the_examples_is_in_the_table() -> None:
    table = table_for("bf16", "kkn", cc=90, multiprocessors=132)
    assert table is not None
    for shape in read_shapes(str(EXAMPLES / "shapes" / "llm.yaml")):
        found = nearest(table, shape.m, shape.n, shape.k)
        if shape.m > 64:
            assert found is not None
            assert found[1], shape
        else:
            assert found is None


def test_a_near_shape_takes_the_entry_if_its_tile_fits() -> None:
    assert chosen(8192, 8192, 8192) == ("tma_wgmma", "pingpong", (128, 200), 16)
    assert chosen(8000, 8192, 8192) == ("tma_wgmma", "pingpong", (128, 200), 16)
    # 5120^3 is near 4096^3, and 128x256 would leave the second half of the last round idle
    assert chosen(5120, 5120, 5120) == ("tma_wgmma", "cooperative", (256, 200), 8)
    assert chosen(2048, 8192, 28672, a="f16")[3] == 24
    assert chosen(2048, 8192, 28672, majors="mkn")[3] == 8  # not what was measured
    assert chosen(2048, 8192, 28672, card=Card(cc=90, multiprocessors=114))[3] == 8


def test_an_entry_says_all_of_its_kernel() -> None:
    config = config_for(problem(4096, 4096, 4096), H200)
    assert (config.epilogue.overlap, config.a.cache, config.b.cache) == (True, None, "evict_first")
    other = config_for(problem(4096, 4096, 4096), H200, tuned=False)
    assert (other.tile, other.epilogue.overlap, other.b.cache) == (config.tile, None, None)


def test_distances() -> None:
    table = table_for("bf16", "kkn", cc=90, multiprocessors=132)
    assert table is not None
    found = [nearest(table, m, 7168, 2048) for m in (4096, 5000, 3000)]
    assert [(f[0].m, f[1]) for f in found if f is not None] == [(4096, True), (4096, False), (4096, False)]
    assert nearest(table, 128, 7168, 2048) is None
    assert nearest(table, 8192, 8192, 20000) is None


def test_few_rows_are_swapped() -> None:
    for m, n, k, more in (
        (1, 8192, 8192, {}),
        (16, 8192, 8192, {"a": "f16"}),
        (64, 2112, 7168, {"a": "e4m3", "d": "bf16"}),
        (100, 2**20, 64, {"majors": "mnm"}),
    ):
        wanted = problem(m, n, k, **more)
        config, rule = config_for(wanted, H200), small_m_config(m, n, k, wanted.a)
        assert (config.tile, config.scheduler, config.swap_ab) == (rule.tile, rule.scheduler, True)
        assert (config.a.major, config.b.major, config.d.major) == tuple(wanted.majors)
        assert config.b.cache == rule.b.cache
        assert config.d.dtype == wanted.d


def test_few_rows_of_two_types() -> None:
    assert chosen(8, 2048, 65536, a="e4m3", b="e5m2")[2] == (64, 64)
    assert chosen(8, 2**20, 64, a="e4m3", b="e5m2")[2] == (64, 256)


@pytest.mark.parametrize(
    ("shape", "tile", "schedule"),
    [
        ((8192, 8192, 8192), (256, 200), "cooperative"),
        ((4096, 4096, 4096), (128, 256), "cooperative"),
        ((4096, 7168, 2048), (128, 176), "pingpong"),
        ((4096, 2112, 7168), (192, 176), "cooperative"),
        ((512, 10240, 8192), (256, 160), "cooperative"),
        ((2048, 8192, 28672), (256, 168), "cooperative"),
        ((4096, 7168, 16384), (256, 176), "cooperative"),
        ((1024, 1024, 1024), (128, 64), "pingpong"),
    ],
)
def test_the_model_finds_what_was_measured_to_be_best(shape: Any, tile: Any, schedule: str) -> None:
    # majors of which there is no table
    assert chosen(*shape, majors="mkn")[1:3] == (schedule, tile)


def test_the_model_is_near_what_was_measured() -> None:
    for shape, tile, schedule, us in (
        ((8192, 8192, 8192), (128, 192, 64), "pingpong", 1350.5),
        ((4096, 4096, 4096), (128, 256, 64), "cooperative", 177.3),
        ((4096, 7168, 2048), (128, 176, 64), "pingpong", 151.4),
        ((4096, 2112, 7168), (192, 176, 64), "cooperative", 157.9),
        ((512, 10240, 8192), (256, 160, 64), "cooperative", 113.2),
        ((8192, 8192, 8192), (256, 200, 64), "cooperative", 1322.0),
        ((4096, 7168, 16384), (256, 176, 64), "cooperative", 1148.5),
        ((2048, 8192, 28672), (256, 168, 64), "cooperative", 1150.0),
    ):
        assert modelled_us(problem(*shape), H200, tile, schedule) == pytest.approx(us, rel=0.04)  # type: ignore[arg-type]


def test_what_bulk_copies_cannot_take() -> None:
    assert chosen(4096, 4096, 4096, aligns=(8, 16, 16))[0] == "multistage"
    assert chosen(4096, 4096, 4096, aligns=(16, 16, 2))[0] == "tma_wgmma"  # D is stored from registers
    assert chosen(4096, 4096, 4096, a="f32", d="f32")[0] == "simt"
    assert chosen(4096, 4096, 4096, a="f64")[0] == "multistage"
    assert chosen(4096, 4096, 4096, a="e4m3", majors="mkn")[0] == "multistage"


def test_other_cards() -> None:
    assert chosen(4096, 4096, 4096, card=A100) == ("multistage", None, (128, 256), None)
    assert chosen(256, 256, 4096, card=A100) == ("multistage", None, (0, 0), None)
    assert chosen(4096, 4096, 4096, card=Card(cc=86, multiprocessors=84))[2] == (0, 0)
    for cc, level in ((75, "sm_75"), (87, "sm_86"), (100, "sm_100a"), (103, "sm_89"), (120, "sm_120a")):
        config = config_for(problem(64, 64, 64, "f16"), Card(cc=cc, multiprocessors=64))
        assert config.arch == level
        assert cutegen.check(config) == []
    with pytest.raises(
        ConfigError, match=r"no kernel multiplies e4m3 and e4m3 on a GPU of compute capability 8\.0"
    ):
        config_for(problem(64, 64, 64, "e4m3"), A100)


@given(
    m=st.integers(0, 20000),
    n=st.integers(0, 20000),
    k=st.integers(0, 20000),
    a=st.sampled_from(["f16", "bf16", "tf32", "e4m3", "s8", "f64", "f32"]),
    majors=st.sampled_from(["kkn", "mkn", "knn", "mnn", "kkm"]),
    aligns=st.tuples(*[st.sampled_from([8, 16])] * 3),
    cc=st.sampled_from([80, 86, 90]),
    processors=st.integers(1, 160),
)
def test_the_choice_is_legal_and_the_same_each_time(
    m: int, n: int, k: int, a: Any, majors: str, aligns: Any, cc: int, processors: int
) -> None:
    asked, card = problem(m, n, k, a, majors=majors, aligns=aligns), Card(cc=cc, multiprocessors=processors)
    try:
        config = config_for(asked, card)
    except ConfigError:
        assert (a, cc) in {("e4m3", 80), ("e4m3", 86)}
        return
    assert cutegen.check(config) == []
    assert config == config_for(asked, card)
    assert (config.a.dtype, config.a.major, config.b.major, config.d.major) == (a, *majors)
    assert (config.a.align, config.b.align, config.d.align) == aligns
