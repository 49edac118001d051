"""Defaults of sm_90a: who gets tma_wgmma without a word, and that what it fills in works if anything does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from operator import attrgetter
from random import Random
from typing import Any

import pytest

from cutegen.config import GemmConfig
from cutegen.dtypes import dtype
from cutegen.fuzz.generate import sparse_config
from cutegen.fuzz.hopper import wgmma_data
from cutegen.loader import dump
from cutegen.resolve import resolve
from cutegen.resources_wgmma import most_stages
from cutegen.rules import check, judge
from cutegen.wgmma_atoms import WGMMA_ATOMS
from tests.support.cases import config

ATOM = "SM90_64x256x16_F32F16F16_SS"
S8 = {"a.dtype": "s8", "b.dtype": "s8"}
LAYOUTS = [(1, 1, 1), (2, 1, 1), (3, 1, 1), (1, 2, 1), (1, 3, 1)]


def hopper_config(rng: Random) -> GemmConfig:
    """A config of tma_wgmma with few fields given, any of those that it has."""
    data: dict[str, Any] = wgmma_data(rng)
    element = data["a"]["dtype"]
    mma: dict[str, Any] = {}
    if rng.random() < 0.2:
        mma["layout"] = rng.choice(LAYOUTS)
    if rng.random() < 0.2:
        mma["atom"] = rng.choice([name for name, a in WGMMA_ATOMS.items() if a.a == a.b == element])
    elif element in ("f16", "e4m3") and rng.random() < 0.2:
        data["accumulator"] = "f16"
    for name in "abd":
        if rng.random() < 0.1:
            data[name]["align"] = rng.choice([4, 8])
    return GemmConfig.model_validate({**data, "tiled_mma": mma})


def with_mainloop(cfg: GemmConfig, mainloop: str | None) -> GemmConfig:
    return cfg.model_copy(update={"mainloop": mainloop})


class TestWhoGetsIt:
    @pytest.mark.parametrize("seed", range(6))
    def test_where_it_would_be_accepted(self, seed: int) -> None:
        """A layout of the MMA may count warps: who gives it says which mainloop it is for.

        So does a tile that needs swapped operands: other mainloops take it as it is.
        """
        rng = Random(seed)
        for _ in range(40):
            for cfg in (hopper_config(rng), sparse_config(rng, archs=("sm_90a",))):
                named = with_mainloop(cfg, "tma_wgmma")
                by_tile = resolve(named).swap_ab and not cfg.swap_ab
                if cfg.tiled_mma.layout is None and not by_tile and not judge(named):
                    assert resolve(with_mainloop(cfg, None)) == resolve(named), dump(cfg)

    @pytest.mark.parametrize("seed", range(6))
    def test_never_instead_of_one_that_works(self, seed: int) -> None:
        rng = Random(seed)
        for _ in range(40):
            for cfg in (hopper_config(rng), sparse_config(rng, archs=("sm_90a",))):
                left_out = with_mainloop(cfg, None)
                if resolve(left_out).mainloop == "tma_wgmma" and not judge(with_mainloop(cfg, "multistage")):
                    assert check(left_out) == [], dump(cfg)

    @pytest.mark.parametrize(
        "given",
        [
            {"schedule": "cooperative"},
            {"cluster": [2, 1, 1]},
            {"scheduler.kind": "persistent"},
            {"epilogue.store": "tma"},
            {"tiled_mma.atom": "SM90_64x128x16_F32F16F16_SS"},
        ],
        ids=str,
    )
    def test_where_only_it_has_what_is_given(self, given: dict[str, Any]) -> None:
        """Even where it cannot work: the message is about what was given then."""
        for align in (16, 4):
            assert resolve(config(given | {"a.align": align}, arch="sm_90a")).mainloop == "tma_wgmma"

    @pytest.mark.parametrize(
        "given",
        [
            {"smem.a": {"shape": [8, 64], "stride": [64, 1], "swizzle": [3, 3, 3]}},
            {"g2s.b.bits": 64},
            {"s2r.a": "SM75_U32x4_LDSM_N"},
            {"tiled_mma.layout": [2, 1, 1]},
            {"tiled_mma.atom": "SM80_16x8x16_F32F16F16F32_TN"},
            {"fragment_buffers": 1},
            {"min_blocks": 1},
            {"epilogue.store": "smem"},
            {"stages": 1},
            {"a.align": 8},
        ],
        ids=str,
    )
    def test_not_where_it_lacks_what_is_given(self, given: dict[str, Any]) -> None:
        cfg = config(given, arch="sm_90a")
        assert resolve(cfg).mainloop == "multistage"
        assert check(cfg) == []


def fillings(cfg: GemmConfig) -> Iterator[GemmConfig]:
    """The config with all combinations of values in the fields that it leaves open, of large steps."""
    size = dtype(cfg.a.dtype).bytes
    atom = WGMMA_ATOMS.get(cfg.tiled_mma.atom or "")
    columns = [n * atom.shape[1] for n in (1, 2, 3)] if atom else [8, 24, 32, 64, 96, 192, 256, 384]
    tiles = product((64, 128, 192, 256), columns, (32 // size, 128 // size))
    for tile, schedule, layout, store in product(
        [cfg.tile] if cfg.tile else tiles,
        [cfg.schedule] if cfg.schedule else ["cooperative", "pingpong"],
        [cfg.tiled_mma.layout] if cfg.tiled_mma.layout else LAYOUTS,
        [cfg.epilogue.store] if cfg.epilogue.store else ["direct", "tma"],
    ):
        mma = cfg.tiled_mma.model_copy(update={"layout": layout})
        epilogue = cfg.epilogue.model_copy(update={"store": store})
        update = {"tile": tile, "schedule": schedule, "tiled_mma": mma, "epilogue": epilogue}
        yield cfg.model_copy(update=update | {"stages": cfg.stages or 2})


class TestWhatItFills:
    @pytest.mark.parametrize("seed", range(6))
    def test_works_whenever_some_choice_does(self, seed: int) -> None:
        rng = Random(seed)
        for _ in range(30):
            cfg = hopper_config(rng)
            if check(cfg):
                assert all(judge(filled) for filled in fillings(cfg)), dump(cfg)

    @pytest.mark.parametrize(
        ("given", "chosen"),
        [
            ({"tiled_mma.layout": [3, 1, 1]}, {"tile": (192, 192, 64)}),
            ({"tiled_mma.layout": [1, 3, 1]}, {"tile": (128, 192, 64)}),
            ({"tiled_mma.layout": [1, 3, 1], "stages": 30}, {"tile": (128, 96, 16)}),
            ({"tiled_mma.atom": ATOM, "schedule": "pingpong"}, {"tile": (64, 256, 64)}),
            ({"tiled_mma.atom": ATOM, "cluster": [2, 1, 1]}, {"tile": (128, 256, 64)}),
            ({"schedule": "pingpong"}, {"tile": (128, 192, 64)}),
            ({"stages": 5}, {"tile": (128, 192, 64), "schedule": "pingpong"}),
            ({"stages": 16}, {"tile": (128, 256, 16)}),
            ({"tile": [192, 256, 128]}, {"stages": 2, "epilogue.store": "direct"}),
            ({"tile": [64, 72, 64]} | S8, {"tiled_mma.layout": (1, 3, 1), "schedule": "cooperative"}),
            (
                {"tile": [64, 48, 64], "schedule": "cooperative", "epilogue.store": "tma", "d.dtype": "s8"}
                | S8,
                {"tiled_mma.layout": (1, 1, 1)},
            ),
        ],
        ids=str,
    )
    def test_gives_way_to_what_is_given(self, given: dict[str, Any], chosen: dict[str, Any]) -> None:
        cfg = config(given, arch="sm_90a", mainloop="tma_wgmma")
        assert check(cfg) == []
        assert {field: attrgetter(field)(resolve(cfg)) for field in chosen} == chosen

    def test_a_single_stage_is_all_that_is_wrong_where_it_is_given(self) -> None:
        found = check(config(arch="sm_90a", schedule="pingpong", stages=1))
        assert [v.rule for v in found] == ["wgmma-stages"]

    def test_nothing_where_numbers_are_impossible(self) -> None:
        cfg = config(arch="sm_90a", tile=[2**63, 128, 64], stages=2)
        assert resolve(cfg).mainloop == "multistage"
        assert resolve(with_mainloop(cfg, "tma_wgmma")).tiled_mma.atom is None

    def test_two_warpgroups_share_the_preferred_tile(self) -> None:
        resolved = resolve(config(arch="sm_90a"))
        assert (resolved.tile, resolved.schedule) == ((128, 256, 64), "cooperative")
        assert (resolved.tiled_mma.layout, resolved.epilogue.store) == ((2, 1, 1), "tma")
        assert resolved.stages == most_stages(resolved) == 4

    def test_the_accumulator_is_that_of_a_given_operation(self) -> None:
        cfg = config({"tiled_mma.atom": "SM90_64x192x16_F16F16F16_SS"}, arch="sm_90a")
        assert resolve(cfg).accumulator == "f16"
        assert check(cfg) == []
