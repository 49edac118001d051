"""Both directions, over random configs: what the rules accept computes right, what they refuse does not work.

``simulate`` runs a plan's data movement in Python and says what would land in the wrong place. It knows the
mainloops that partition tiles among threads; tma_wgmma runs on the emulator, in ``tests/emulated``.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from cutegen.config import GemmConfig
from cutegen.fuzz.generate import PARTITIONED, odd_config, sparse_config
from cutegen.layout import Layout
from cutegen.layout.partition import consists_of_runs
from cutegen.loader import dump
from cutegen.operands import PlanFault
from cutegen.plan import KernelPlan, plan
from cutegen.rules import check
from tests.support.cases import AUTO, M_MAJOR, base, config
from tests.support.simulate import fault_of

#: Rules whose reason is no data movement: limits of the chip, of the compiler, of what a user promised.
NOT_SIMULATED = {
    "accumulators-compile",
    "epilogue-fits",
    "fragment-buffers",
    "g2s-align",
    "g2s-atom-arch",
    "g2s-width",
    "stages-fit",
}


@pytest.mark.parametrize("seed", range(24))
def test_an_odd_config_that_is_accepted_computes_right(seed: int) -> None:
    rng = Random(seed)
    while check(cfg := odd_config(rng, mainloops=PARTITIONED)):
        pass
    assert fault_of(plan(cfg)) is None, dump(cfg)


@pytest.mark.parametrize("seed", range(12))
def test_a_config_with_few_fields_computes_right(seed: int) -> None:
    rng = Random(1000 + seed)
    while check(cfg := sparse_config(rng, mainloops=PARTITIONED)):
        pass
    assert fault_of(plan(cfg)) is None, dump(cfg)


def derived(cfg: GemmConfig, patch: pytest.MonkeyPatch) -> KernelPlan | None:
    """The plan of a config that the rules refuse; None when there is none."""
    module = importlib.import_module("cutegen.plan")
    with patch.context() as unchecked:
        unchecked.setattr(module, "check", lambda _: [])
        try:
            return module._plan.__wrapped__(cfg)
        except (PlanFault, ArithmeticError, LookupError, TypeError, ValueError):
            return None


@pytest.mark.parametrize("seed", range(6))
def test_a_config_that_one_rule_refuses_cannot_work(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    for _ in range(40):
        cfg = odd_config(rng, mainloops=PARTITIONED)
        found = check(cfg)
        rules = {v.rule for v in found}
        if len(rules) != 1 or rules & NOT_SIMULATED:
            continue
        unchecked = derived(cfg, monkeypatch)
        assert unchecked is None or fault_of(unchecked) is not None, f"{found[0]}\n{dump(cfg)}"


class TestTheSimulatorCanFail:
    """Each kind of wrong plan is found, or the tests above would mean nothing."""

    @staticmethod
    def spoilt(which: str, **changes: Any) -> str | None:
        good = plan(base())
        operand = good.a
        part = getattr(operand, which)
        return fault_of(replace(good, a=replace(operand, **{which: replace(part, **changes)})))

    def test_the_good_plan(self) -> None:
        assert fault_of(plan(base())) is None

    def test_a_copy_that_misses_rows(self) -> None:
        assert "twice" in str(self.spoilt("copy", step_mn=Layout(4, 16)))

    def test_a_copy_past_the_tile(self) -> None:
        assert "past the tile" in str(self.spoilt("copy", step_mn=Layout(4, 64)))

    def test_a_wrong_xor_mask(self) -> None:
        view = plan(base()).a.read
        assert view is not None
        assert self.spoilt("read", view=replace(view.view, mask=0)) is not None

    def test_swapped_rows_of_ldmatrix(self) -> None:
        read = plan(base()).a.read
        assert read is not None
        table = Layout(((8, 2, 2), 2, 2), ((32, 8, 256), 512, 0))
        assert self.spoilt("read", view=replace(read.view, thread=table)) is not None

    def test_transposed_ldmatrix(self) -> None:
        assert self.spoilt("read", op="SM75_U16x8_LDSM_T") is not None

    def test_fragments_in_another_order(self) -> None:
        assert plan(base()).a.fragments.layout.size == 32
        assert self.spoilt("fragments", layout=Layout((8, (2, 2), 1), (1, (16, 8), 0))) is not None

    def test_an_output_in_the_wrong_place(self) -> None:
        good = plan(base())
        moved = replace(good.output, thread_n=Layout(((4, 8), 2, 2), ((2, 0), 8, 0)))
        assert fault_of(replace(good, output=moved)) is not None

    def test_another_swizzle_for_reading(self) -> None:
        good = plan(base())
        other = plan(base({"smem.a.swizzle": [1, 3, 3]}))
        assert fault_of(replace(good, a=replace(good.a, read=other.a.read))) is not None


class TestDerivedFaults:
    """Rules of the family ``partition``, on configs that a random search found."""

    def test_layout_atom_that_cuts_a_run(self) -> None:
        smem = {"shape": [4, 48], "stride": [64, 1]}
        case = config(
            {"smem.b": smem, "g2s.b": {"atom": "SM80_CP_ASYNC_CACHEALWAYS", "bits": 32}},
            a={"dtype": "s8"},
            b={"dtype": "s8"},
            tile=[128, 160, 96],
            tiled_mma={"layout": [2, 4, 1]},
        )
        found = {v.rule: v for v in check(case)}
        # That no ldmatrix fits either is a consequence for a field that the config leaves out.
        assert set(found) == {"smem-atom-keeps-partition"}
        assert found["smem-atom-keeps-partition"].field == "smem.b.shape"
        fixed = "smem.b: {shape: [8, 32], stride: [32, 1], swizzle: [1, 4, 3]}"
        assert all(fixed in v.fix for v in found.values())

    def test_steps_that_are_no_layout(self) -> None:
        case = config(
            {
                "tiled_mma.layout": [2, 2, 1],
                "tiled_mma.permutation": [32, 32, {"shape": [12, 2, 2], "stride": [2, 24, 1]}],
            },
            mainloop="direct",
            tile=[96, 128, 48],
        )
        assert "partition-is-layout" in {v.rule for v in check(case)}

    def test_a_permutation_is_fine_where_no_ldmatrix_needs_rows(self) -> None:
        torn = {"tiled_mma.permutation": [32, 32, {"shape": [2, 8], "stride": [8, 1]}]}
        assert {v.rule for v in check(base(torn))} == {"s2r-row-contiguous"}
        assert check(base(torn | {"s2r": AUTO})) == []


class TestGapsOfLayoutAtoms:
    """A stride of several rows leaves gaps that other atoms fill; CuTe overlaps atoms that do not divide."""

    @pytest.mark.parametrize("rows", [1, 2, 4, 8, 16])
    def test_gaps_that_divide_are_fine(self, rows: int) -> None:
        cfg = base({"smem.a": {"shape": [8, 32], "stride": [32 * rows, 1]}})
        assert check(cfg) == []
        assert fault_of(plan(cfg)) is None

    @pytest.mark.parametrize("rows", [3, 5, 6])
    def test_gaps_that_do_not_are_refused(self, rows: int) -> None:
        cfg = base({"smem.a": {"shape": [8, 32], "stride": [32 * rows, 1]}})
        assert {v.rule for v in check(cfg)} == {"smem-gap-tiles"}

    def test_atoms_that_all_fit_into_a_gap_need_not_fill_it(self) -> None:
        """tile_to_shape puts 16 atoms into gaps of 17; of 15 x 8 rows the last would overlap."""
        for rows, legal in ((17, True), (15, False)):
            cfg = base({"smem.a": {"shape": [8, 32], "stride": [32 * rows, 1]}}, stages=1)
            assert (check(cfg) == []) == legal
            if legal:
                assert fault_of(plan(cfg)) is None

    @pytest.mark.parametrize("pad", [8, 16, 24])
    def test_padding_shorter_than_a_row_is_fine(self, pad: int) -> None:
        cfg = base({"smem.a": {"shape": [8, 32], "stride": [32 + pad, 1]}})
        assert check(cfg) == []
        assert fault_of(plan(cfg)) is None


def test_vectors_longer_than_the_contiguous_extent_are_refused() -> None:
    """Found by the fuzzer: vectors along M of a K-major A with BLK_K = 1, whose swizzle is left open."""
    g2s = {
        "atom": "SM80_CP_ASYNC_CACHEGLOBAL",
        "bits": 128,
        "threads": {"shape": [8, 1], "stride": [1, 8]},
        "values": {"shape": [8, 1]},
    }
    cfg = GemmConfig(
        arch="sm_80",
        mainloop="simt",
        a={"dtype": "f16", "major": "k"},
        b={"dtype": "f16", "major": "n"},
        tile=(64, 8, 1),
        tiled_mma={"layout": (2, 4, 1)},
        smem={"a": {"shape": [64, 1], "stride": [1, 72]}},
        g2s={"a": g2s},
    )
    (found,) = check(cfg)
    assert (found.rule, found.field) == ("g2s-vector-contiguous", "g2s.a.values")


@pytest.mark.parametrize(
    ("offsets", "run", "whole"),
    [
        ((0, 1, 8, 9), 2, True),
        ((0, 1, 8, 9), 4, False),
        ((0, 1, 2), 2, False),
        ((0,), 8, False),
        ((), 4, True),
    ],
)
def test_runs_are_whole(offsets: tuple[int, ...], run: int, whole: bool) -> None:
    assert consists_of_runs(offsets, run) is whole


def test_both_majors_of_both_operands_compute_right() -> None:
    for a in "km":
        for b in "kn":
            cfg = config({"a.major": a, "b.major": b}, tile=[64, 64, 32])
            assert check(cfg) == []
            assert fault_of(plan(cfg)) is None
    assert fault_of(plan(base(M_MAJOR))) is None
