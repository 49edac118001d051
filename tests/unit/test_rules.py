"""Every rule: what breaks it and nothing else, the legal config next to it, and the rules as a list."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from random import Random

import cutlass_library
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutegen.operands
from cutegen.config import GemmConfig
from cutegen.errors import Violation
from cutegen.fuzz.generate import odd_config
from cutegen.resolve import resolve
from cutegen.rules import FAMILIES, Rule, all_rules, check, judge
from tests.support.cases import base
from tests.support.config_gen import wild_config
from tests.support.rule_cases import CASES, Case


def rules_of(violations: list[Violation]) -> set[str]:
    return {v.rule for v in violations}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_breaks_this_rule_only(case: Case) -> None:
    found = check(case.broken)
    assert rules_of(found) == {case.rule}, "\n".join(map(str, found))
    assert case.field in {v.field for v in found}
    for word in case.words:
        assert any(word in str(v) for v in found), f"{word} in {found[0]}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_its_neighbour_is_legal(case: Case) -> None:
    assert check(case.legal) == []


#: Rules that nothing can break at will, and why.
UNBROKEN = {
    "field-resolved": "a safety net: some other rule explains every field without a value",
    "tma-box": "a safety net: every tile that fits shared memory can be cut into boxes",
    "smem-atom-keeps-partition": "see test_rules_sound",
    "partition-is-layout": "see test_rules_sound",
}


def test_every_rule_has_a_case() -> None:
    assert {c.rule for c in CASES} | set(UNBROKEN) == {r.id for r in all_rules()}


class TestRules:
    def test_ids_are_unique_and_speak(self) -> None:
        ids = [r.id for r in all_rules()]
        assert len(set(ids)) == len(ids)
        assert all(i == i.lower() and "_" not in i and " " not in i for i in ids)

    def test_reasons_and_sources_are_sentences(self) -> None:
        for rule in all_rules():
            assert rule.reason.endswith("."), rule.id
            assert len(rule.reason) > 40, rule.id
            assert len(rule.source) > 10, rule.id
            assert rule.family in FAMILIES

    @pytest.mark.parametrize("rule", all_rules(), ids=lambda r: r.id)
    def test_headers_say_what_sources_quote(self, rule: Rule) -> None:
        root = Path(cutlass_library.__file__).parent / "source"
        named = [root / path for path in re.findall(r"include/cut\S+?\.hpp", rule.source)]
        if "mma_sm" in rule.source or "mma_traits_sm" in rule.source:
            named += [p for p in (root / "include/cute").rglob("mma_*.hpp") if p.name in rule.source]
        for path in named:
            assert path.is_file(), path
        text = "".join(path.read_text() for path in named)
        for quote in re.findall(r'"([^"]+)"', rule.source):
            assert quote in text, quote

    def test_they_are_listed_family_by_family(self) -> None:
        families = [r.family for r in all_rules()]
        order = list(FAMILIES)
        assert families == sorted(families, key=order.index)
        assert set(families) == set(FAMILIES)

    def test_as_data(self) -> None:
        rule = all_rules()[0]
        assert set(rule.to_dict()) == {"id", "family", "reason", "source"}

    def test_faults_of_derived_partitions_are_rules(self) -> None:
        known = {r.id for r in all_rules()}
        package = Path(cutegen.operands.__file__).parent
        named = {
            node.args[0].value
            for path in package.glob("*.py")
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", "") in ("fault", "_fault")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        }
        assert named
        assert named <= known


class TestCheck:
    def test_all_violations_at_once(self) -> None:
        broken = base(
            {
                "b.major": "m",
                "smem.a.swizzle": [3, 3, 2],
                "g2s.a.bits": 64,
                "g2s.b.values": {"shape": [1, 4]},
                "s2r.b": "SM75_U16x8_LDSM_T",
                "min_blocks": 99,
            },
            stages=20,
            accumulator="f16",
        )
        assert rules_of(check(broken)) >= {
            "operand-major",
            "atom-types",
            "swizzle-shift",
            "g2s-width",
            "g2s-values-fill",
            "s2r-major",
            "min-blocks-resident",
        }

    def test_nothing_twice(self) -> None:
        found = check(base({"a.dtype": "s8", "b.dtype": "s8"}))
        assert len(found) == len(set(found))

    def test_the_resolved_config_gets_the_same_verdict(self) -> None:
        for case in CASES:
            assert check(resolve(case.legal)) == []

    def test_callers_get_a_list_of_their_own(self) -> None:
        check(base(stages=20)).clear()
        assert check(base(stages=20))

    @settings(max_examples=400)
    @given(st.randoms(use_true_random=False))
    def test_no_config_raises(self, rng: Random) -> None:
        cfg = wild_config(rng)
        found = check(cfg) if rng.random() < 0.1 else judge(cfg)
        assert all(v.field and v.got and v.need and v.fix for v in found)
        assert "field-resolved" not in rules_of(found)

    @pytest.mark.parametrize("seed", range(4))
    def test_no_odd_config_raises(self, seed: int) -> None:
        rng = Random(seed)
        for _ in range(40):
            assert "field-resolved" not in rules_of(judge(odd_config(rng)))


def test_a_mistake_has_no_consequences_for_fields_that_nobody_wrote() -> None:
    operand = {"dtype": "tf32"}
    given = GemmConfig(arch="sm_80", a=operand, b=operand, tile=(128, 64, 30), stages=4)
    assert [v.field for v in check(given)] == ["tile"]
    assert {v.field for v in check(given.replace(s2r={"a": "SM75_U32x4_LDSM_N"}))} == {"tile", "s2r.a"}


def test_a_copy_of_which_nothing_is_said_is_not_given() -> None:
    operand = {"dtype": "f16"}
    cfg = GemmConfig(
        arch="sm_80", mainloop="multistage", a=operand, b=operand, tile=(64, 24, 32), stages=100,
        tiled_mma={"layout": (1, 3, 1)},
    )  # fmt: skip
    alone = cfg.replace(stages=None)
    assert {v.field for v in judge(alone)} == {"g2s.a"}
    assert {v.field for v in judge(cfg)} == {"stages"}
