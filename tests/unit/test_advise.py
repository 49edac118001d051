"""Proposals: better by the figures, legal, and none that is worse."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from cutegen.advise import Figures, advise, figures
from cutegen.config import GemmConfig
from cutegen.fuzz.generate import odd_config
from cutegen.lint.review import Review
from cutegen.loader import dump, load
from cutegen.plan import KernelPlan, plan
from cutegen.rules import check
from tests.support.cases import base
from tests.support.cli import GOOD, document, invoke

pytestmark = pytest.mark.unit

EXAMPLES = Path(__file__).parents[2] / "examples"
PLAIN = {"shape": [8, 32], "stride": [32, 1]}


def changes(**patches: Any) -> dict[str, Any]:
    return {path: value for proposal in advise(base(patches)) for path, value in proposal.change.items()}


def test_a_swizzle() -> None:
    (found,) = advise(base({"smem.a": PLAIN}))
    assert found.change == {"smem.a.swizzle": (2, 3, 3)}
    assert (found.before.wavefronts, found.after.wavefronts) == (5 * 128, 2 * 128)  # A four times, B once


def test_padding_where_no_swizzle_helps() -> None:
    # Rows of 24 halves: what a swizzle exchanges of them lies in the next row.
    odd = {"shape": [8, 48], "stride": [48, 1]}
    found = advise(base({"tile": [128, 128, 48], "smem.a": odd, "smem.b": odd, "g2s.a": {}, "g2s.b": {}}))
    assert found
    after = found[-1].after
    assert after.wavefronts == 2 * 128 * 48 * 2 * 2 // 128  # each operand is read by two warps


def test_wide_copies() -> None:
    found = changes(**{"g2s.a": {"atom": "SM80_CP_ASYNC_CACHEALWAYS", "bits": 64}})
    assert found == {"g2s.a": None}


def test_stages_and_store() -> None:
    found = changes(**{"stages": 1, "epilogue.store": "direct"})
    assert found["epilogue.store"] == "smem"
    assert found["stages"] > 1


def test_nothing_to_do() -> None:
    assert advise(base()) == []
    left_out = GemmConfig.model_validate({"arch": "sm_80", "a": {"dtype": "bf16"}, "b": {"dtype": "bf16"}})
    assert advise(left_out) == []


def test_worse_in_one_figure_is_not_better() -> None:
    now = figures(Review(base()))
    names = ("wavefronts", "sectors", "output", "copies", "reads")

    def but(**other: int) -> Figures:
        return Figures(**(now.to_dict() | other))

    assert not now.better_than(now)
    for name in names:
        assert but(**{name: 0}).better_than(now)
        assert not but(**{name: 0}, stages=0).better_than(now)
        assert not but(**{name: 0}, ctas_per_sm=0).better_than(now)
        assert not but(**{name: 10**6}, stages=100).better_than(now)


def configs() -> list[GemmConfig]:
    found = [load(path) for path in sorted(EXAMPLES.glob("*.yaml")) if "matrix" not in path.stem]
    for seed in range(12):
        cfg = odd_config(Random(seed))
        if not check(cfg):
            found.append(cfg)
    return [cfg for cfg in found if isinstance(plan(cfg), KernelPlan)]


def test_every_proposal_is_legal_and_better() -> None:
    proposals = 0
    for cfg in configs():
        before = figures(Review(cfg))
        for proposal in advise(cfg):
            proposals += 1
            assert proposal.before == before, dump(cfg)
            assert check(proposal.config) == [], dump(proposal.config)
            assert proposal.after == figures(Review(proposal.config))
            assert proposal.after.better_than(before), (dump(cfg), proposal.change)
            before = proposal.after
    assert proposals > 5


def test_command(tmp_path: Path) -> None:
    path, better = tmp_path / "k.yaml", tmp_path / "better.yaml"
    path.write_text(GOOD + "smem: {a: {shape: [8, 32], stride: [32, 1]}}\n")
    found = invoke("advise", str(path), "-o", str(better))
    assert found.exit_code == 0
    assert "  use smem.a.swizzle: [2, 3, 3]\n" in found.stdout
    assert "      wavefronts of shared memory a k-tile: 640 -> 256\n" in found.stdout
    assert "nothing better was found" in invoke("advise", str(better)).stdout
    (proposal,) = document("advise", str(path), "--json")["configs"][0]["proposals"]
    assert proposal["change"] == {"smem.a.swizzle": [2, 3, 3]}
    assert invoke("advise", str(path), "-o", str(tmp_path / "no" / "x")).exit_code == 2
    assert invoke("advise", str(path), str(better), "-o", str(better)).exit_code == 2
    hopper = invoke("advise", str(EXAMPLES / "hopper" / "single.yaml"))
    assert "tma_wgmma leaves no choice" in hopper.stdout
