"""Mistakes of people who know other tools are answered in cutegen's words, in YAML and in Python."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import cutegen
from cutegen.config import GemmConfig, Operand
from cutegen.errors import ConfigError, Violation
from cutegen.yamlread import LocatedViolation

BASE = "arch: sm_89\na: {dtype: f16}\nb: {dtype: f16}\n"


def only(text: str) -> Violation:
    with pytest.raises(ConfigError) as caught:
        cutegen.loads(text)
    assert len(caught.value.violations) == 1, caught.value
    return caught.value.violations[0]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("tfloat32", "tf32"),
        ("tfloat32_t", "tf32"),
        ("torch.bfloat16", "bf16"),
        ("np.float16", "f16"),
        ("half_t", "f16"),
        ("cutlass.half_t", "f16"),
        ("cutlass::half_t", "f16"),
        ("__half", "f16"),
        ("__nv_bfloat16", "bf16"),
        ("bfloat16_t", "bf16"),
        ("float_e4m3_t", "e4m3"),
        ("torch.float8_e5m2", "e5m2"),
        ("F16", "f16"),
        ("int8_t", "s8"),
    ],
)
def test_types_of_other_tools(written: str, meant: str) -> None:
    found = only(BASE + f"d: {{dtype: '{written}'}}\n")
    assert found.field == "d.dtype"
    assert found.fix == f"did you mean {meant}?"


def test_types_that_are_several_or_none() -> None:
    assert "dtype: e4m3" in only(BASE + "d: {dtype: fp8}\n").fix
    assert "not supported" in only(BASE + "d: {dtype: int4}\n").fix
    assert "accumulator: e4m3" in only(BASE + "accumulator: fp8\n").fix


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("sm_90", ("arch: sm_80 with --target sm_90", "arch: sm_90a", "mma.sync")),
        ("sm_87", ("arch: sm_80 with --target sm_87",)),
        ("sm_70", ("sm_75 or later",)),
        ("compute_80", ("arch: sm_80",)),
        ("'8.6'", ("arch: sm_86",)),
        ("80", ("arch: sm_80",)),
        ("H100", ("arch: sm_90a",)),
        ("ampere", ("arch: sm_80",)),
    ],
)
def test_architectures(written: str, words: tuple[str, ...]) -> None:
    found = only(BASE.replace("sm_89", written))
    assert found.field == "arch"
    assert all(word in found.fix for word in words), found.fix


@pytest.mark.parametrize(
    ("field", "written", "major"),
    [
        ("a", "row", "k"),
        ("a", "column", "m"),
        ("a", "RowMajor", "k"),
        ("b", "row", "n"),
        ("b", "col", "k"),
        ("b", "cutlass.layout.ColumnMajor", "k"),
        ("d", "row-major", "n"),
        ("c", "col", "m"),
    ],
)
def test_rows_and_columns(field: str, written: str, major: str) -> None:
    operand = "dtype: f16, " if field in "ab" else ""
    base = "".join(line for line in BASE.splitlines(keepends=True) if not line.startswith(f"{field}:"))
    found = only(f"{base}{field}: {{{operand}major: {written}}}\n")
    assert found.field == f"{field}.major"
    assert found.fix.startswith(f"use {field}.major: {major} ")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("alpha: 1.0", "argument of the call"),
        ("beta: 0", "argument of the call"),
        ("layout: nt", "a.major: m with b.major: n"),
        ("layout: tn", "a.major: k with b.major: k"),
        ("trans_b: true", "b.major: k or n"),
        ("lda: 128", "a.major: k or m"),
        ("num_warps: 4", "tiled_mma.layout: [2, 2, 1]"),
        ("num_stages: 3", "stages: 3"),
        ("m: 128", "one CTA computes"),
        ("block_m: 128", "tile: [128, 128, 32]"),
        ("acc_dtype: f32", "accumulator: f32"),
        ("tile: 128x128x32", "[128, 128, 32]"),
    ],
)
def test_fields_of_other_tools(text: str, word: str) -> None:
    assert word in only(BASE + text + "\n").fix


def test_a_matrix_of_one_tile(tmp_path: Path) -> None:
    from cutegen.matrix import load_matrix

    file = tmp_path / "matrix.yaml"
    file.write_text(BASE + "matrix: {tile: [128, 128, 32]}\n")
    with pytest.raises(ConfigError) as caught:
        load_matrix(file)
    (found,) = caught.value.violations
    assert found.field == "matrix.tile"
    assert "a list of 3 integers" in found.need
    assert found.fix == "write [[128, 128, 32]]"


@pytest.mark.parametrize(
    ("types", "arch", "accumulator", "field", "fix"),
    [
        ("bf16", "sm_80", "f16", "accumulator", "accumulator: f32"),
        ("s8", "sm_80", "f32", "accumulator", "accumulator: s32"),
        ("e4m3", "sm_80", None, "arch", "arch: sm_89"),
    ],
)
def test_the_field_that_must_change_is_named(
    types: str, arch: str, accumulator: Any, field: str, fix: str
) -> None:
    operand = Operand(dtype=types)  # type: ignore[arg-type]
    cfg = GemmConfig(arch=arch, a=operand, b=operand, accumulator=accumulator)  # type: ignore[arg-type]
    (found,) = cutegen.check(cfg)
    assert (found.rule, found.field) == ("atom-exists", field)
    assert fix in found.fix


class TestPython:
    def test_wrong_fields_are_a_config_error(self) -> None:
        with pytest.raises(ConfigError, match=r"GemmConfig\(\.\.\.\) has 3 mistakes") as caught:
            GemmConfig(arch="sm_90", a={"dtype": "fp99"}, b=Operand(dtype="f16"), stage=3)  # type: ignore
        assert isinstance(caught.value, ValueError)
        assert {v.field for v in caught.value.violations} == {"arch", "a.dtype", "stage"}
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)

    def test_parts_too(self) -> None:
        with pytest.raises(ConfigError, match="did you mean major") as caught:
            Operand(dtype="f16", majr="k")  # type: ignore[call-arg]
        assert "field of Operand" in str(caught.value)

    def test_replace(self) -> None:
        cfg = cutegen.loads(BASE)
        assert cfg.replace(tile=(64, 64, 32)).tile == (64, 64, 32)
        assert cfg.replace(a=cfg.a.replace(major="m")).a.major == "m"
        assert cfg.replace() == cfg
        with pytest.raises(ConfigError, match="did you mean tile"):
            cfg.replace(tle=(64, 64, 32))
        with pytest.raises(ConfigError, match="list of 3 integers"):
            cfg.replace(tile=(64, 64))

    def test_violations_of_rules_keep_their_place(self, tmp_path: Path) -> None:
        file = tmp_path / "k.yaml"
        file.write_text(BASE + "tile: [128, 128, 32]\nstages: 40\n")
        for run in (lambda: cutegen.plan(cutegen.load(file)), lambda: cutegen.build(file)):
            with pytest.raises(ConfigError) as caught:
                run()
            (found,) = caught.value.violations
            assert isinstance(found, LocatedViolation)
            assert found.position == f"{file}:5:9"
        other = cutegen.loads(file.read_text(), name="other")
        assert str(cutegen.check(other)[0]).startswith("other:5:9: stages:")

    def test_places_do_not_outlive_configs(self) -> None:
        from cutegen.loader import _DOCUMENTS

        cfg = cutegen.loads(BASE)
        key = id(cfg)
        assert key in _DOCUMENTS
        del cfg
        assert key not in _DOCUMENTS
