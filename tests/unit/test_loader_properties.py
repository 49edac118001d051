"""Whatever the text, loading gives a config or a ConfigError; and what is dumped loads again."""

from __future__ import annotations

import re
from typing import get_args

import yaml
from hypothesis import given
from hypothesis import strategies as st

from cutegen.arch import ArchName
from cutegen.config import GemmConfig, LayoutSpec, Operand, Output
from cutegen.dtypes import DTYPES
from cutegen.errors import ConfigError
from cutegen.loader import dump, loads, to_data

MINIMAL = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\n"

names = st.text("abcxyz_019.", max_size=6)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    names,
    st.sampled_from(["auto", "n", "y", "none", "sm_80", "bf16", "k", "<<", "*a", "&a", "!!int 3"]),
    st.text(max_size=8),
)
trees = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
field_names = st.sampled_from([*GemmConfig.model_fields, "tiel", "shape", "dtype"])


def loads_or_config_error(text: str) -> None:
    try:
        loads(text, name="f.yaml")
    except ConfigError as exc:
        violations = exc.violations
    else:
        return
    assert violations
    for violation in violations:
        assert re.match(r"f\.yaml:\d+:\d+: ", str(violation)), violation


@given(st.text(max_size=200))
def test_any_text_loads_or_raises_config_error(text: str) -> None:
    loads_or_config_error(text)


@given(st.text("abn: -[]{},&*!|>'\"%@#?\n\t\\0123<~.", max_size=60))
def test_any_yaml_like_text_loads_or_raises_config_error(text: str) -> None:
    loads_or_config_error(text)


@given(st.dictionaries(field_names, trees, max_size=5))
def test_any_tree_loads_or_raises_config_error(tree: dict[str, object]) -> None:
    minimal = {"arch": "sm_80", "a": {"dtype": "f16"}, "b": {"dtype": "f16"}}
    loads_or_config_error(yaml.safe_dump({**minimal, **tree}))


@given(st.integers(0, 400), st.text(max_size=3))
def test_any_edit_of_a_good_config_loads_or_raises_config_error(position: int, insert: str) -> None:
    text = dump(FULL)
    position %= len(text)
    loads_or_config_error(text[:position] + insert + text[position + 1 :])


FULL = loads(
    MINIMAL
    + "tile: [128, 128, 32]\nstages: 3\ntiled_mma: {permutation: [32, {shape: [2, 8], stride: [1, 2]}, 16]}\n"
    "smem: {a: {shape: [8, 32], stride: [32, 1], swizzle: [2, 3, 3]}}\n"
    "g2s: {a: {atom: SM80_CP_ASYNC_CACHEGLOBAL, bits: 128, threads: {shape: [32, 4], stride: [4, 1]}}}\n"
)

ints = st.integers(-(2**63), 2**63 - 1)
maybe_ints = st.none() | ints
layouts = st.builds(
    LayoutSpec,
    shape=st.lists(ints, max_size=3).map(tuple),
    stride=st.none() | st.lists(ints, max_size=3).map(tuple),
)
dtypes = st.sampled_from(list(DTYPES))
extent = ints | layouts
words = st.none() | st.text(min_size=1).filter(lambda s: s != "auto")
copies = st.fixed_dictionaries(
    {"atom": words, "bits": maybe_ints, "threads": st.none() | layouts, "values": st.none() | layouts}
)
smem_layouts = st.none() | st.fixed_dictionaries(
    {
        "shape": st.tuples(ints, ints),
        "stride": st.tuples(ints, ints),
        "swizzle": st.just("none") | st.tuples(ints, ints, ints),
    }
)
operands = st.builds(
    Operand,
    dtype=dtypes,
    major=st.sampled_from([None, "k", "m", "n"]),
    align=st.sampled_from([None, 1, 2, 4, 8, 16]),
)
outputs = st.builds(
    Output,
    dtype=st.none() | dtypes,
    major=st.sampled_from([None, "n", "m"]),
    align=st.sampled_from([None, 1, 16]),
)
configs = st.builds(
    GemmConfig,
    arch=st.sampled_from(get_args(ArchName)),
    mainloop=st.sampled_from([None, "simt", "direct", "multistage"]),
    a=operands,
    b=operands,
    c=outputs,
    d=outputs,
    accumulator=st.none() | dtypes,
    tile=st.none() | st.tuples(ints, ints, ints),
    stages=maybe_ints,
    tiled_mma=st.fixed_dictionaries(
        {
            "atom": words,
            "layout": st.none() | st.tuples(ints, ints, ints),
            "permutation": st.none() | st.tuples(extent, extent, extent),
        }
    ),
    smem=st.fixed_dictionaries({"a": smem_layouts, "b": smem_layouts}),
    g2s=st.fixed_dictionaries({"a": copies, "b": copies}),
    s2r=st.fixed_dictionaries({"a": words, "b": words}),
    min_blocks=st.none() | st.integers(1, 2**31),
)


@given(configs)
def test_dump_and_loads_round_trip(config: GemmConfig) -> None:
    text = dump(config)
    assert loads(text) == config
    assert dump(loads(text)) == text
    assert max(len(line) for line in text.splitlines()) < 5000


@given(configs)
def test_dump_means_the_same_to_pyyaml(config: GemmConfig) -> None:
    def listed(value: object) -> object:
        if isinstance(value, dict):
            return {k: listed(v) for k, v in value.items()}
        return [listed(v) for v in value] if isinstance(value, tuple) else value

    assert yaml.safe_load(dump(config)) == listed(to_data(config))
