"""One case of a fuzz run: a config, how it is rendered, and what it is tried on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal, get_args

from cutegen.config import GemmConfig
from cutegen.fuzz.generate import legal_config, odd_config, sparse_config
from cutegen.loader import to_data
from cutegen.plan import derive
from cutegen.render import Style, styles_of
from cutegen.resolve import resolve
from cutegen.rules import judge
from cutegen.trial import Problem, default_problems
from cutegen.yamlwrite import flow

__all__ = ["Case", "Choices", "Expectation", "Failure", "make_case", "problems_of", "repro"]

Expectation = Literal["accepted", "refused"]

_REFUSED_SHARE = 0.2
_PATIENCE = 400
_COMPANIONS = 4


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is tried.

    Attributes:
        seed: What it was made from.
        config: The config, as it was made or minimised.
        expectation: Whether the rules accept it and it must work, or refuse it and it must not.
        style: How it is rendered.
        problems: What is computed; empty: chosen for the config.
        orders: Seeds of inputs and orders of threads.
        companions: Accepted configs that are planned and rendered, but not compiled.
    """

    seed: int
    config: GemmConfig
    expectation: Expectation = "accepted"
    style: Style = "resolved"
    problems: tuple[Problem, ...] = ()
    orders: tuple[int, ...] = (0,)
    companions: tuple[GemmConfig, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A case that did not do what it must.

    Attributes:
        case: The case.
        kind: What failed: ``check``, ``plan``, ``render``, ``reload``, ``compile``, ``nvcc``, ``launch``,
            ``numbers``, ``finding``, or ``refused`` for a config that works though the rules refuse it.
        detail: For the minimiser: what must stay the same, such as the kind of finding or the rule.
        message: What happened, in words.
        found_in: The case that it was minimised from; None before.
        steps: Cases that the minimiser tried.
    """

    case: Case
    kind: str
    detail: str
    message: str
    found_in: Case | None = None
    steps: int = 0

    @property
    def repro(self) -> str:
        """A command that shows it again."""
        return repro(self.case, nvcc=self.kind == "nvcc")

    def to_dict(self) -> dict[str, Any]:
        """The failure as a JSON-ready dictionary."""
        return {
            "kind": self.kind,
            "detail": self.detail,
            "message": self.message,
            "seed": self.case.seed,
            "expectation": self.case.expectation,
            "style": self.case.style,
            "config": to_data(self.case.config),
            "problems": [[p.m, p.n, p.k, p.alpha, p.beta] for p in self.case.problems],
            "repro": self.repro,
            "found_in": to_data(self.found_in.config) if self.found_in else None,
            "steps": self.steps,
        }


def repro(case: Case, *, nvcc: bool = False) -> str:
    """A command of one line that tries a case again."""
    data = case.config.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    words = ["cutegen", "fuzz", "--config", flow(data)]
    if case.expectation == "refused":
        words.append("--force")
    if case.style != "resolved":
        words += ["--style", case.style]
    for p in case.problems:
        text = f"{p.m},{p.n},{p.k}"
        if (p.alpha, p.beta) != (1.0, 0.0):
            text += f",{p.alpha:g},{p.beta:g}"
        words += ["--problem", text]
    if case.orders != (0,):
        words += ["--orders", ",".join(map(str, case.orders))]
    if nvcc:
        words.append("--nvcc")
    return shlex.join(words)


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What random configs are made of.

    Attributes:
        archs: Architectures to choose from; empty: all.
        mainloops: Mainloops to choose from; empty: all.
        styles: Styles to choose from; the first is taken three times in four.
    """

    archs: tuple[str, ...] = ()
    mainloops: tuple[str, ...] = ()
    styles: tuple[Style, ...] = get_args(Style)


def make_case(seed: int, choices: Choices | None = None) -> tuple[Case, dict[str, int]]:
    """The case of a seed, and how many configs were drawn, accepted and refused until it was found.

    Even seeds leave most fields to cutegen, odd ones spell out all fields with odd values among them; now and
    then a config is taken that exactly one rule refuses, and of which a plan can be derived all the same. A
    config that cannot even be judged is the case, expected to be accepted.
    """
    choices = choices or Choices()
    rng = Random(seed)
    keep: dict[str, Any] = {"archs": choices.archs, "mainloops": choices.mainloops}
    style = choices.styles[-1] if rng.random() < 0.25 else choices.styles[0]
    drawn = {"drawn": 0, "accepted": 0, "refused": 0}
    companions: list[GemmConfig] = []
    refused = rng.random() < _REFUSED_SHARE
    odd = refused or seed % 2 == 1
    chosen: Case | None = None
    while chosen is None or len(companions) < _COMPANIONS:
        config = odd_config(rng, **keep) if odd else sparse_config(rng, **keep)
        rules = refusals(config)
        if rules is None:
            return Case(seed=seed, config=config), drawn
        drawn["drawn"] += 1
        drawn["refused" if rules else "accepted"] += 1
        if drawn["drawn"] > _PATIENCE:
            config, rules, refused = legal_config(rng, **keep), set(), False
        if chosen is None and refused and len(rules) == 1 and _derivable(config):
            chosen = Case(seed=seed, config=config, expectation="refused")
        elif chosen is None and not refused and not rules:
            chosen = Case(seed=seed, config=config, orders=(0, seed % 1000 + 1))
            if style in styles_of(resolve(config).mainloop):
                chosen = replace(chosen, style=style)
        elif not rules:
            companions.append(config)
    return replace(chosen, companions=tuple(companions)), drawn


def refusals(config: GemmConfig) -> set[str] | None:
    """Rules that refuse a config; None if it cannot be judged, a fault at which a probe arrives as well."""
    try:
        return {v.rule for v in judge(config)}
    except Exception:  # whatever the fault raises
        return None


def _derivable(config: GemmConfig) -> bool:
    """Whether a plan comes of a refused config: only then can it be shown not to work."""
    try:
        derive(resolve(config))
    except Exception:  # whatever a config without sense makes the derivation raise
        return False
    return True


def problems_of(case: Case, config: GemmConfig) -> tuple[Problem, ...]:
    """What a case is tried on: its own problems, or some of even and odd sizes and factors.

    Args:
        case: The case.
        config: Its resolved config.
    """
    if case.problems:
        return case.problems
    rng = Random(case.seed)
    whole, partial, small = default_problems(config)
    chosen = [whole, partial, small]
    factors = rng.sample([(1.0, 0.0), (1.0, 1.0), (2.0, -1.0), (-1.0, 0.0)], 3)
    return tuple(
        Problem(m=p.m, n=p.n, k=p.k, alpha=alpha, beta=beta)
        for p, (alpha, beta) in zip(chosen, factors, strict=True)
    )
