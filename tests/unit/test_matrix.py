"""Matrix files: expansion as GitHub does it, stable ids, budgets, reports."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutegen.errors import ConfigError
from cutegen.matrix import Matrix, expand, load_matrix, select, shard
from cutegen.yamlread import parse

BASE = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\n"


def matrix(text: str, base: str = BASE) -> Matrix:
    return expand(parse(base + text, "m.yaml"))


def ids(found: Matrix) -> list[str]:
    return [case.id for case in found.cases]


def mistakes(text: str, base: str = BASE) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        matrix(text, base)
    return [str(v).removeprefix("m.yaml:") for v in caught.value.violations]


def test_all_combinations_the_first_key_slowest() -> None:
    found = matrix("matrix:\n  stages: [3, 4]\n  tile: [[128, 128, 32], [64, 64, 32]]\n")
    assert ids(found) == [
        "stages=3,tile=128x128x32",
        "stages=3,tile=64x64x32",
        "stages=4,tile=128x128x32",
        "stages=4,tile=64x64x32",
    ]
    first = found.cases[0].loaded.config
    assert (first.stages, first.tile, first.a.dtype) == (3, (128, 128, 32), "bf16")
    assert [case.short for case in found.cases[:2]] == ["stages=3 128x128x32", "stages=3 64x64x32"]


def test_one_key_sets_several_fields() -> None:
    found = matrix("matrix: {'a.dtype, b.dtype': [f16, bf16]}\n")
    assert ids(found) == ["dtype=f16", "dtype=bf16"]
    assert [(c.loaded.config.a.dtype, c.loaded.config.b.dtype) for c in found.cases] == [
        ("f16", "f16"),
        ("bf16", "bf16"),
    ]


def test_a_value_replaces_what_the_file_says() -> None:
    base = BASE + "smem: {a: {shape: [8, 32], stride: [32, 1], swizzle: [2, 3, 3]}}\n"
    found = matrix("matrix:\n  smem.a: [{shape: [8, 64], stride: [64, 1]}, auto]\n", base)
    first, second = (c.loaded.config.smem.a for c in found.cases)
    assert first is not None
    assert first.swizzle == "none"
    assert second is None


def test_missing_parents_are_made() -> None:
    found = matrix("scheduler: auto\nmatrix: {scheduler.group: [2], epilogue.store: [smem]}\n")
    assert found.cases[0].loaded.config.scheduler.group == 2
    assert found.cases[0].loaded.config.epilogue.store == "smem"


# GitHub's own example in the terms of a config: fruit is a.dtype, animal b.dtype, color stages, and shape
# scheduler.group. Its result is in GitHub's documentation of `jobs.<job_id>.strategy.matrix.include`.
def test_include_as_in_githubs_documentation() -> None:
    found = matrix(
        "matrix:\n"
        "  a.dtype: [f16, bf16]\n"  # fruit: [apple, pear]
        "  b.dtype: [f32, f64]\n"  # animal: [cat, dog]
        "  include:\n"
        "    - {stages: 1}\n"  # color: green
        "    - {stages: 2, b.dtype: f32}\n"  # color: pink, animal: cat
        "    - {a.dtype: f16, scheduler.group: 5}\n"  # fruit: apple, shape: circle
        "    - {a.dtype: s8}\n"  # fruit: banana
        "    - {a.dtype: s8, b.dtype: f32}\n",  # fruit: banana, animal: cat
        "arch: sm_80\na: {dtype: f16}\nb: {dtype: u8}\n",
    )
    assert [
        (
            c.values.get("a.dtype"),
            c.values.get("b.dtype"),
            c.values.get("stages"),
            c.values.get("scheduler.group"),
        )
        for c in found.cases
    ] == [
        ("f16", "f32", 2, 5),
        ("f16", "f64", 1, 5),
        ("bf16", "f32", 2, None),
        ("bf16", "f64", 1, None),
        ("s8", None, None, None),
        ("s8", "f32", None, None),
    ]


def test_exclude_needs_all_of_an_entry() -> None:
    found = matrix(
        "matrix:\n  stages: [3, 4]\n  scheduler.group: [1, 2]\n"
        "  exclude: [{stages: 3, scheduler.group: 2}, {stages: 4}]\n"
    )
    assert ids(found) == ["stages=3,scheduler.group=1"]


def test_exclude_comes_before_include() -> None:
    found = matrix(
        "matrix:\n  stages: [3, 4]\n  exclude: [{stages: 4}]\n  include: [{stages: 4, min_blocks: 2}]\n"
    )
    assert ids(found) == ["stages=3", "stages=4,min_blocks=2"]


def test_include_and_exclude_may_stand_at_the_top() -> None:
    found = matrix("matrix: {stages: [3, 4]}\nexclude: [{stages: 4}]\ninclude: [{stages: 5}]\n")
    assert ids(found) == ["stages=3", "stages=5"]


def test_only_include() -> None:
    assert ids(matrix("matrix: {include: [{stages: 3}, {stages: 4}]}\n")) == ["stages=3", "stages=4"]


def test_an_exclusion_that_matches_nothing_is_noted() -> None:
    found = matrix("matrix:\n  stages: [3]\n  exclude:\n    - {stages: 5}\n")
    assert found.notes == ("m.yaml:7:7: this exclusion matches no combination",)


def test_equal_cases_are_built_once() -> None:
    found = matrix("matrix: {include: [{stages: 3}, {stages: 3}, {stages: 4}]}\n")
    assert ids(found) == ["stages=3", "stages=4"]
    assert len(found.notes) == 1


def test_types_of_values_matter() -> None:
    assert "must be an integer (got true)" in mistakes("matrix: {stages: [1, true]}\n")[0]


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("", "1:1", "must hold lists"),
        ("matrix: [1]\n", "4:9", "must hold lists"),
        ("matrix: {}\n", "4:9", "must leave a case"),
        ("matrix:\n  stagse: [3]\n", "5:3", "did you mean stages?"),
        ("matrix:\n  tiled_mma.lay: [3]\n", "5:3", "did you mean layout?"),
        ("matrix:\n  dtype: [f16]\n", "5:3", "did you mean a.dtype or b.dtype"),
        ("matrix:\n  'stages,': [3]\n", "5:3", "name a field"),
        ("matrix: {stages: 3}\n", "4:18", "must be a list with a value (got 3); write [3]"),
        ("matrix: {stages: []}\n", "4:18", "must be a list with a value"),
        ("matrix: {stages: [3, 3]}\n", "4:22", "must be in the list once"),
        ("matrix: {a.dtype: [f16], a: [{dtype: f16}]}\n", "4:29", "must not overlap with a.dtype"),
        ("matrix: {stages: [3], exclude: {stages: 3}}\n", "4:32", "must be a list of mappings"),
        ("matrix: {stages: [3], exclude: [3]}\n", "4:33", "must be a mapping"),
        ("matrix: {stages: [3], exclude: [{tile: 3}]}\n", "4:40", "must be a key of the matrix"),
        ("matrix: {stages: [3], include: [{tiel: 3}]}\n", "4:34", "did you mean tile?"),
        ("matrix: {stages: [3], exclude: [{stages: 3}]}\n", "4:9", "must leave a case"),
        ("matrix: {stages: [3], illegal: maybe}\n", "4:32", "must be fail or skip"),
        ("matrix: {stages: [3], include: []}\ninclude: []\n", "5:10", "must be given once"),
        ("matrix: {stages: [x]}\n", "4:19", "stages: must be an integer (got x)"),
        ("matrix: {tile: [[128, 128]]}\n", "4:17", "tile: must be a list of 3 integers"),
        ("matrix: {arch: [sm_80, sm_81]}\n", "4:24", "did you mean sm_8"),
        ("smem: 3\nmatrix: {smem.a: [auto]}\n", "4:7", "must be a mapping"),
    ],
)
def test_mistakes_have_place_and_words(text: str, where: str, words: str) -> None:
    found = mistakes(text)
    assert any(line.startswith(f"{where}: ") and words in line for line in found), found


def test_a_mistake_outside_the_lists_is_said_once() -> None:
    assert len(mistakes("tiel: 3\nmatrix: {stages: [3, 4, 5]}\n")) == 1


def test_places_point_into_the_matrix() -> None:
    found = matrix(
        "stages: 2\nmatrix:\n  stages: [3, 4]\n  smem.a:\n    - {shape: [8, 32], stride: [32, 1]}\n"
    )
    assert found.cases[1].loaded.locate("stages") == "m.yaml:6:15"
    assert found.cases[1].loaded.locate("smem.a.shape") == "m.yaml:8:15"
    assert found.cases[1].loaded.locate("a.dtype") == "m.yaml:2:12"


def test_too_many_cases_are_refused_before_they_are_made() -> None:
    values = list(range(1, 100))
    text = f"matrix: {{stages: {values}, min_blocks: {values}, scheduler.group: {values}}}\n"
    assert "must have at most 10000" in mistakes(text)[0]


def test_ids_are_unique_and_safe() -> None:
    found = matrix(
        "matrix:\n"
        "  s2r.a: ['A B', \"A'B\", '$(x)', A_B, '', '../x']\n"
        "  smem.b: [auto, {shape: [8, 32], stride: [32, 1]}, {shape: [8, 64], stride: [64, 1]}]\n"
        "  include:\n"
        "    - {s2r.a: A_B, smem.b: auto, stages: 3}\n"
    )
    assert len(set(ids(found))) == len(ids(found)) == 18
    assert all(re.fullmatch(r"[A-Za-z0-9_.,=~-]+", name) for name in ids(found))


def test_shards_partition_the_cases() -> None:
    cases = matrix(f"matrix: {{stages: {list(range(1, 12))}}}\n").cases
    for count in (1, 2, 3, 11, 20):
        parts = [shard(cases, i, count) for i in range(1, count + 1)]
        assert sorted(c.id for p in parts for c in p) == sorted(c.id for c in cases)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    with pytest.raises(ConfigError, match=r"1 <= i <= n \(got 0/3\)"):
        shard(cases, 0, 3)


def test_select_by_id_and_pattern() -> None:
    cases = matrix("matrix: {stages: [3, 4], min_blocks: [1, 2]}\n").cases
    assert len(select(cases, [])) == 4
    assert [c.id for c in select(cases, ["stages=3,*"])] == ["stages=3,min_blocks=1", "stages=3,min_blocks=2"]
    assert [c.id for c in select(cases, ["stages=4,min_blocks=2"])] == ["stages=4,min_blocks=2"]
    with pytest.raises(ConfigError, match="did you mean stages=3,min_blocks=1"):
        select(cases, ["stages=3,min_block=1"])


def test_the_example_expands() -> None:
    path = Path(__file__).parents[2] / "examples" / "ci_matrix.yaml"
    assert 8 <= len(load_matrix(path).cases) <= 20


# Properties: a straightforward model of GitHub's rules ------------------------------------------------

fields = st.sampled_from(["stages", "min_blocks", "scheduler.group", "limits.max_registers"])
numbers = st.integers(1, 3)
entries = st.lists(st.dictionaries(fields, numbers, min_size=1, max_size=3), max_size=4)


def model(
    axes: dict[str, list[int]], excludes: list[dict[str, int]], includes: list[dict[str, int]]
) -> list[dict[str, int]]:
    products = (
        [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())] if axes else []
    )
    originals = [p for p in products if not any(all(p.get(k) == v for k, v in e.items()) for e in excludes)]
    results = [dict(p) for p in originals]
    for include in includes:
        hits = [i for i, p in enumerate(originals) if all(p[k] == v for k, v in include.items() if k in p)]
        for i in hits:
            results[i].update(include)
        if not hits:
            results.append(dict(include))
    return [r for i, r in enumerate(results) if r not in results[:i]]


@given(
    st.dictionaries(fields, st.lists(numbers, min_size=1, max_size=3, unique=True), max_size=3),
    entries,
    entries,
)
def test_expansion_agrees_with_the_model(
    axes: dict[str, list[int]], excludes: list[dict[str, int]], includes: list[dict[str, int]]
) -> None:
    excludes = [kept for e in excludes if (kept := {k: v for k, v in e.items() if k in axes})]
    wanted = model(axes, excludes, includes)
    text = f"matrix: {{{', '.join(f'{k}: {v}' for k, v in axes.items())}}}\n"
    text += f"exclude: {excludes}\ninclude: {includes}\n".replace("'", "")
    if not wanted:
        assert mistakes(text)
        return
    found = matrix(text)
    assert [dict(c.values) for c in found.cases] == wanted
    assert len(set(ids(found))) == len(wanted)
    assert ids(matrix(text)) == ids(found)
