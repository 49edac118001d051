"""Leaving fields out never makes a config illegal: the explicit config that it came from is the witness."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from cutegen.config import GemmConfig
from cutegen.fuzz.generate import odd_config
from cutegen.loader import dump
from cutegen.operands import derive_g2s
from cutegen.plan import plan
from cutegen.resolve import resolve
from cutegen.rules import check
from tests.support.cases import config
from tests.support.simulate import fault_of

#: Fields that say how, not what, and that may be left out.
OPEN = (
    "tile",
    "stages",
    "min_blocks",
    "fragment_buffers",
    "epilogue.store",
    "scheduler.group",
    *(f"tiled_mma.{name}" for name in ("atom", "layout", "permutation")),
    *(f"{part}.{which}" for part in ("smem", "g2s", "s2r") for which in "ab"),
    *(f"g2s.{which}.{name}" for which in "ab" for name in ("atom", "bits", "threads", "values")),
)

#: A swizzle that tears rows of ldmatrix is a mistake that is worth a word (B10), not a reason to do without.
MISTAKES = {"swizzle-keeps-rows"}


def _leave_out(data: Any, path: str) -> None:
    *parents, last = path.split(".")
    for name in parents:
        data = data.get(name, {})
    data.pop(last, None)


def _partly_open(rng: Random) -> GemmConfig:
    while check(full := odd_config(rng)):
        pass
    data = resolve(full).model_dump(exclude_none=True)
    share = rng.random()
    for path in OPEN:
        if rng.random() < share:
            _leave_out(data, path)
    return GemmConfig.model_validate(data)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_left_out_gets_a_legal_value_when_there_is_one(seed: int) -> None:
    for number in range(10):
        cfg = _partly_open(Random(100 * seed + number))
        found = [v for v in check(cfg) if v.rule not in MISTAKES]
        assert not found, "\n".join([dump(cfg), *map(str, found)])


class TestOddNumbers:
    """Cases that once were refused, blamed on values that cutegen itself had chosen."""

    def test_warps_of_one_number_side_by_side_in_another_way(self) -> None:
        """Four warps along M have too few rows each for the ldmatrix that was given; two by two have them."""
        cfg = config(
            {
                "tiled_mma.permutation": [64, 16, 8],
                "s2r": {"a": "SM75_U32x4_LDSM_N", "b": "SM75_U32x1_LDSM_N"},
            },
            tile=[128, 112, 48],
        )
        assert check(cfg) == []
        assert resolve(cfg).tiled_mma.layout == (2, 2, 1)

    def test_threads_whose_rows_end_inside_a_layout_atom(self) -> None:
        cfg = config({"b.major": "n", "tiled_mma.layout": [3, 1, 1]}, tile=[96, 128, 48])
        assert check(cfg) == []
        assert fault_of(plan(cfg)) is None
        assert resolve(cfg).g2s.b.bits == 128

    def test_a_given_copy_whose_rows_end_inside_a_layout_atom(self) -> None:
        """(16, 6) threads over 48 rows: no layout atom of 8 rows can be copied so, a whole tile can."""
        threads = {"shape": [16, 6], "stride": [1, 16]}
        cfg = config(
            {"b.major": "n", "tiled_mma.layout": [3, 1, 1], "g2s.b.threads": threads}, tile=[96, 128, 48]
        )
        assert check(cfg) == []
        assert fault_of(plan(cfg)) is None

    def test_a_given_ldmatrix_decides_the_layout(self) -> None:
        cfg = config({"a.major": "m", "s2r.a": "SM75_U32x4_LDSM_N"}, tile=[128, 128, 32])
        assert check(cfg) == []
        resolved = resolve(cfg)
        assert resolved.smem.a is not None
        assert resolved.smem.a.stride[1] == 1
        assert resolved.g2s.a.bits == 16

    def test_a_given_ldmatrix_that_needs_a_longer_k_block(self) -> None:
        cfg = config(
            {"s2r.b": "SM75_U32x4_LDSM_N", "tiled_mma.layout": [2, 2, 1]}, tile=[64, 16, 32], arch="sm_80"
        )
        assert check(cfg) == []
        assert resolve(cfg).tiled_mma.permutation == (32, 16, 32)

    def test_a_vector_in_a_layout_atom_of_one_element(self) -> None:
        one = {"shape": [1, 1], "stride": [2, 1]}
        cfg = config(
            {"smem.b": one, "g2s.b.bits": 128, "s2r.b": "UniversalCopy", "b.major": "n"}, tile=[64, 64, 32]
        )
        assert check(cfg) == []
        assert derive_g2s(resolve(cfg), "b").vector == 8


@pytest.mark.parametrize(("types", "arch"), [("s8", "sm_75"), ("u8", "sm_80"), ("e4m3", "sm_89")])
def test_8_bit_operands_may_lie_mn_major(types: str, arch: str) -> None:
    """No instruction transposes them: plain loads of single elements do."""
    operands = {"a.dtype": types, "a.major": "m", "b.dtype": types, "b.major": "n"}
    cfg = config(operands, arch=arch, tile=[64, 64, 64])
    assert check(cfg) == []
    resolved = resolve(cfg)
    assert (resolved.s2r.a, resolved.s2r.b) == ("UniversalCopy", "UniversalCopy")
    assert resolved.g2s.a.bits == 128
    assert fault_of(plan(cfg)) is None
