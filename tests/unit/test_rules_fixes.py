"""The way out that a message names is one: applied to the config, it makes it legal."""

from __future__ import annotations

from random import Random

import pytest

from cutegen.config import GemmConfig
from cutegen.errors import Violation
from cutegen.fuzz.generate import odd_config, sparse_config
from cutegen.loader import dump
from cutegen.rules import check
from tests.support.cases import base
from tests.support.fixes import fixed_configs, ways_out
from tests.support.rule_cases import CASES, Case


def describe(cfg: GemmConfig, violation: Violation) -> str:
    return f"{violation}\n{ways_out(violation)}\n{dump(cfg)}"


def repaired(cfg: GemmConfig, rounds: int = 6) -> bool:
    """Whether following ways out, each of which removes its violation, leads to a legal config."""
    found = check(cfg)
    if not found or rounds == 0:
        return not found
    return any(
        repaired(after, rounds - 1)
        for _, after in fixed_configs(cfg, found[0])
        if found[0] not in check(after)
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_way_out_is_legal(case: Case) -> None:
    for violation in check(case.broken):
        assert ways_out(violation), str(violation)
    assert repaired(case.broken), "\n".join(str(v) for v in check(case.broken))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_way_out_removes_its_violation(case: Case) -> None:
    for violation in check(case.broken):
        for way, after in fixed_configs(case.broken, violation):
            assert violation not in check(after), f"{way}: {violation}"


def broken_ways(cfg: GemmConfig) -> list[str]:
    """The ways out of a config's violations that do not remove them, or break something else."""
    found = check(cfg)
    known = {(v.rule, v.field) for v in found}
    return [
        f"{violation}\n{way}"
        for violation in found
        for way, after in fixed_configs(cfg, violation)
        if not {(v.rule, v.field) for v in check(after)} <= known - {(violation.rule, violation.field)}
    ]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_way_out_breaks_anything_else(case: Case) -> None:
    assert broken_ways(case.broken) == []


@pytest.mark.parametrize("seed", range(6))
def test_no_way_out_of_a_random_config_breaks_anything_else(seed: int) -> None:
    for number in range(8):
        rng = Random(1000 * seed + number)
        for make in (sparse_config, odd_config):
            cfg = make(rng)
            if len(check(cfg)) in (1, 2):  # of more, the trials may run out
                assert broken_ways(cfg) == [], dump(cfg)


@pytest.mark.parametrize("seed", range(6))
def test_random_configs_can_be_repaired(seed: int) -> None:
    rng = Random(seed)
    for _ in range(40):
        for make in (sparse_config, odd_config):
            cfg = make(rng)
            found = check(cfg)
            if found:
                assert repaired(cfg, max(6, len(found) + 2)), "\n".join(describe(cfg, v) for v in found)


def test_ways_are_read_from_the_text() -> None:
    violation = Violation(
        rule="r",
        field="f",
        got="g",
        need="n",
        fix="use s2r.a: UniversalCopy, tile: [8, 64, 32] with g2s.a: {atom: X, bits: 8}, or leave smem.a out",
    )
    assert ways_out(violation) == [
        {"s2r.a": "UniversalCopy"},
        {"tile": [8, 64, 32], "g2s.a": {"atom": "X", "bits": 8}},
        {"smem.a": None},
    ]
    assert ways_out(check(base(stages=11))[0])[0] == {"stages": 10}
