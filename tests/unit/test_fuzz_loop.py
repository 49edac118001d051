"""The fuzzer's own logic, with probes that stand in for compilers."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest

from cutegen.config import GemmConfig
from cutegen.fuzz import NOT_FORCED, Case, Choices, Failure, fuzz, make_case, minimise, repro
from cutegen.fuzz.case import problems_of
from cutegen.fuzz.probe import Prober
from cutegen.loader import loads, to_data
from cutegen.plan import derive, plan
from cutegen.resolve import resolve
from cutegen.rules import all_rules, check
from cutegen.trial import Problem, steps
from tests.support.cases import base
from tests.support.cli import document, invoke


def failure_of(case: Case, kind: str = "numbers", detail: str = "") -> Failure:
    return Failure(case=case, kind=kind, detail=detail, message="wrong")


class TestCases:
    def test_a_seed_is_a_case(self) -> None:
        assert make_case(7) == make_case(7)
        assert make_case(7)[0].config != make_case(9)[0].config

    def test_accepted_and_refused_ones_are_what_they_are_called(self) -> None:
        seen = set()
        for seed in range(14):
            case, drawn = make_case(seed)
            rules = {v.rule for v in check(case.config)}
            assert len(rules) == (case.expectation == "refused")
            assert drawn["drawn"] == drawn["accepted"] + drawn["refused"]
            assert not any(check(c) for c in case.companions)
            seen.add((case.expectation, case.style))
        assert {e for e, _ in seen} == {"accepted", "refused"}
        assert {s for _, s in seen} == {"resolved", "idiomatic"}

    def test_a_config_that_cannot_be_judged_is_a_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_verdict(config: GemmConfig) -> Any:
            raise IndexError("of a fault in cutegen")

        for name in ("case.judge", "probe.plan"):
            monkeypatch.setattr(f"cutegen.fuzz.{name}", no_verdict)
        summary = fuzz(Prober(None), seed=5, count=2)  # type: ignore[arg-type]
        assert summary.drawn == 0
        assert [(f.kind, f.detail) for f in summary.failures] == [("plan", "IndexError")] * 2
        assert shlex.split(summary.failures[0].repro)[:3] == ["cutegen", "fuzz", "--config"]

    def test_choices(self) -> None:
        choices = Choices(archs=("sm_75",), mainloops=("direct",), styles=("idiomatic",))
        case, _ = make_case(2, choices)
        assert (case.config.arch, case.config.mainloop, case.style) == ("sm_75", "direct", "idiomatic")

    def test_hopper(self) -> None:
        choices = Choices(mainloops=("tma_wgmma",))
        for seed in range(6):
            case, _ = make_case(seed, choices)
            assert (case.config.mainloop, case.config.arch, case.style) == ("tma_wgmma", "sm_90a", "resolved")

    def test_problems_are_even_and_odd_with_factors(self) -> None:
        problems = problems_of(Case(seed=3, config=base()), resolve(base()))
        assert problems[0].m % 128 == problems[0].n % 128 == 0
        assert problems[1].m % 128 != 0
        assert problems[2].k < 32
        assert len({(p.alpha, p.beta) for p in problems}) == 3

    def test_problems_fit_the_alignments_of_small_tiles(self) -> None:
        """``stages + 2`` k-tiles of one element are no multiple of 16 bytes."""
        text = "{arch: sm_80, mainloop: simt, a: {dtype: f32}, b: {dtype: f32}, tile: [32, 32, 1], stages: 3}"
        config = resolve(loads(text))
        for problem in problems_of(Case(seed=1, config=config), config):
            for extent, step in zip((problem.m, problem.n, problem.k), steps(config), strict=True):
                assert extent % step == 0, problem

    def test_rules_that_are_taken_at_their_word_exist(self) -> None:
        assert set(NOT_FORCED) <= {r.id for r in all_rules()}


class TestRepro:
    def test_it_is_a_command_that_reads_back(self) -> None:
        case = Case(
            seed=5,
            config=base({"smem.a.swizzle": "none"}),
            style="idiomatic",
            problems=(Problem(m=8, n=8, k=8), Problem(m=1, n=2, k=3, alpha=2.0, beta=-1.0)),
            orders=(0, 6),
        )
        words = shlex.split(repro(case, nvcc=True))
        assert words[:2] == ["cutegen", "fuzz"]
        assert words[4:] == [
            *("--style", "idiomatic", "--problem", "8,8,8", "--problem", "1,2,3,2,-1"),
            *("--orders", "0,6", "--nvcc"),
        ]
        assert loads(words[3]) == case.config
        assert "\n" not in repro(case)

    def test_refused_configs_are_forced(self) -> None:
        assert "--force" in repro(Case(seed=0, config=base(), expectation="refused"))


class TestMinimise:
    def test_only_what_the_failure_needs_is_left(self) -> None:
        """A fault that needs stages of at least 3 and N beyond 40."""

        def probe(case: Case) -> Failure | None:
            problem = case.problems[0]
            config = resolve(case.config)
            bad = (config.stages or 0) >= 3 and problem.n > 40
            return failure_of(case) if bad else None

        case = Case(
            seed=1,
            config=resolve(base(stages=5)),
            style="idiomatic",
            problems=(Problem(m=256, n=256, k=160, alpha=2.0, beta=-1.0),),
            orders=(9,),
        )
        found = minimise(failure_of(case), probe, attempts=400)
        assert found.found_in == case
        assert (found.case.style, found.case.orders) == ("resolved", (0,))
        (problem,) = found.case.problems
        assert (problem.m, problem.k, problem.alpha, problem.beta) == (1, 8, 1.0, 0.0)
        assert problem.n == 48  # rows of D are aligned to 8 elements
        data = to_data(found.case.config)
        assert set(data) <= {"arch", "a", "b", "stages", "mainloop", "scheduler"}
        assert (resolve(found.case.config).stages or 0) >= 3

    def test_another_failure_is_not_mistaken_for_it(self) -> None:
        def probe(case: Case) -> Failure | None:
            given = case.config.tile is not None
            return failure_of(case, "finding", "race-raw" if given else "race-war")

        case = Case(seed=1, config=resolve(base()), problems=(Problem(m=8, n=8, k=8),))
        found = minimise(failure_of(case, "finding", "race-raw"), probe)
        assert found.case.config.tile is not None

    def test_accepted_configs_stay_accepted_and_refused_ones_refused(self) -> None:
        tried: list[Case] = []

        def probe(case: Case) -> Failure | None:
            tried.append(case)
            return failure_of(case, "refused", "stages-fit")

        config = base(stages=40)
        case = Case(seed=1, config=config, expectation="refused", problems=(Problem(m=8, n=8, k=8),))
        minimise(failure_of(case, "refused", "stages-fit"), probe, attempts=30)
        assert tried
        assert {v.rule for c in tried for v in check(c.config)} == {"stages-fit"}

    def test_the_budget_is_kept(self) -> None:
        times = iter(range(1000))
        case = Case(seed=1, config=resolve(base()))
        found = minimise(failure_of(case), failure_of, seconds=10, clock=lambda: float(next(times)))
        assert found.steps <= 10
        assert minimise(failure_of(case), failure_of, attempts=3).steps == 3


class TestLoop:
    def test_counts(self) -> None:
        seen: list[int] = []

        def probe(case: Case) -> Failure | None:
            seen.append(case.seed)
            return failure_of(case) if case.seed == 12 else None

        told: list[int] = []
        summary = fuzz(
            probe,
            seed=10,
            count=4,
            minimise_seconds=0,
            progress=lambda s, f: told.append(s.cases if f is None else -s.cases),
        )
        assert seen == [10, 11, 12, 13]
        assert told == [1, 2, -3, 4]
        assert (summary.cases, summary.ok, len(summary.failures)) == (4, False, 1)
        assert summary.forced + sum(summary.styles.values()) == 4
        assert summary.drawn == summary.accepted + summary.refused
        assert summary.to_dict()["failures"][0]["repro"].startswith("cutegen fuzz --config ")

    def test_time(self) -> None:
        clock = iter(range(0, 10_000, 4))
        summary = fuzz(lambda case: None, seconds=20, jobs=2, clock=lambda: float(next(clock)))
        assert 1 <= summary.cases <= 5

    def test_a_kind_is_minimised_once(self) -> None:
        tried: list[Case] = []

        def probe(case: Case) -> Failure | None:
            tried.append(case)
            return failure_of(case)

        summary = fuzz(probe, seed=4, count=2, minimise_seconds=1)
        assert summary.failures[0].found_in is not None
        assert summary.failures[1].found_in is None


class TestProber:
    def prober(self) -> Prober:
        return Prober(None)  # type: ignore[arg-type]

    def test_companions_are_tried_on_paper(self, monkeypatch: pytest.MonkeyPatch) -> None:
        prober = self.prober()
        monkeypatch.setattr(prober, "_run", lambda *_: None)
        monkeypatch.setattr("cutegen.fuzz.probe.Tools", None)
        prober.tools = type("T", (), {"nvcc": None})()
        assert prober(Case(seed=0, config=base(), companions=(base(stages=2),))) is None
        found = prober(Case(seed=0, config=base(), companions=(base(stages=99),)))
        assert found is not None
        assert (found.kind, found.detail) == ("check", "stages-fit")
        assert found.case.config == base(stages=99)

    def test_a_resolved_config_that_is_another_kernel(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = plan

        def wrong(config: GemmConfig) -> Any:
            planned = real(config)
            if config.stages is not None and config.tile is not None and config.c.align is not None:
                return replace(planned, pitch=planned.pitch + 8)
            return planned

        prober = self.prober()
        prober.tools = type("T", (), {"nvcc": None})()
        monkeypatch.setattr("cutegen.fuzz.probe.plan", wrong)
        found = prober(Case(seed=0, config=base()))
        assert found is not None
        assert (found.kind, found.detail) == ("reload", "text")

    def test_what_cannot_be_derived_is_rightly_refused(self) -> None:
        case = Case(seed=0, config=base({"smem.a.shape": [7, 32]}), expectation="refused")
        assert self.prober()(case) is None

    def test_an_unchecked_plan_is_the_checked_one(self) -> None:
        assert derive(resolve(base())) == plan(base())


def test_the_command_line_is_checked() -> None:
    assert invoke("fuzz", "--force").exit_code == 2
    assert "--force and --problem go with --config" in invoke("fuzz", "--problem", "1,2,3").output
    config = "{arch: sm_80, a: {dtype: f16}, b: {dtype: f16}}"
    for text in ("1,2", "1,2,3,4", "a,b,c", "-1,2,3"):
        assert invoke("fuzz", "--config", config, "--problem", text).exit_code == 2
    found = document("fuzz", "--config", "{arch: sm_80, a: {dtype: f16}}", "--json")
    assert (found["ok"], found["exit_code"]) == (False, 2)
    refused = invoke("fuzz", "--config", "{arch: sm_80, a: {dtype: f16}, b: {dtype: f16}, stages: 9999}")
    assert refused.exit_code == 2
    assert "9999" in refused.output
    legal = invoke("fuzz", "--force", "--config", config)
    assert legal.exit_code == 2
    assert "the rules accept this config" in legal.output


def test_no_case_is_no_failure() -> None:
    found = document("fuzz", "--count", "0", "--json")
    assert (found["ok"], found["cases"], found["failures"]) == (True, 0, [])
