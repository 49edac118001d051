"""The legality rules: what cannot work is refused before the compiler starts, and nothing else.

Every rule stands in one place with its reason and its source; ``cutegen rules`` prints them from here.
"""

from __future__ import annotations

from cutegen.config import CopyG2S, GemmConfig
from cutegen.errors import Violation
from cutegen.loader import located
from cutegen.resolve import resolve
from cutegen.rules import (  # noqa: F401  # each module registers its rules
    bounds,
    collective,
    collective_tile,
    epilogue,
    g2s,
    overlap,
    partition,
    resources,
    s2r,
    smem,
    tile,
    tiled_mma,
    tma,
    types,
    wgmma,
    wgmma_fields,
)
from cutegen.rules.facts import Facts
from cutegen.rules.registry import FAMILIES, Family, Rule, rules
from cutegen.rules.repair import repaired

__all__ = ["FAMILIES", "Family", "Rule", "all_rules", "check", "judge"]


def all_rules() -> tuple[Rule, ...]:
    """Every rule, family by family."""
    return rules()


#: What holds for every mainloop.
_GENERAL_FAMILIES = ("bounds", "epilogue")
_GENERAL_RULES = ("operand-major", "align-element")
#: What two mainloops have for themselves; all other rules are about fragments, which those do not have.
_OWN_FAMILIES = {"tma_wgmma": ("wgmma", "tma"), "collective": ("collective",)}


def _applies(rule: Rule, mainloop: str | None) -> bool:
    if rule.family in _GENERAL_FAMILIES or rule.id in _GENERAL_RULES:
        return True
    own = _OWN_FAMILIES.get(mainloop or "")
    if own is not None:
        return rule.family in own
    return not any(rule.family in families for families in _OWN_FAMILIES.values())


def check(cfg: GemmConfig) -> list[Violation]:
    """Everything that makes a config impossible; an empty list means that it is legal.

    The config is resolved first. No config raises: whatever pydantic accepts is judged. Violations of a
    config that was loaded from a file carry their place in it. Beside mistakes in what a config says, those
    in what was chosen for it are left out: they are consequences.
    """
    found = judge(cfg)
    return located(cfg, repaired(cfg, found, judge) if found else found)


def judge(cfg: GemmConfig) -> list[Violation]:
    """What the rules find, with the ways out that each of them knows, untried: quicker than :func:`check`."""
    facts = Facts(cfg, resolve(cfg))
    mainloop = facts.cfg.mainloop
    for rule in rules():
        if _applies(rule, mainloop):
            facts.found.extend(v for v in rule.violations(facts) if v not in facts.found)
    if mainloop not in _OWN_FAMILIES:
        facts.found.extend(v for v in partition.derived_faults(facts) if v not in facts.found)
    return [v for v in facts.found if _is_given(cfg, v.field)] or facts.found


def _is_given(cfg: GemmConfig, field: str) -> bool:
    """Whether a config says something of a field: what was chosen beside a mistake is none of its own."""
    value: object = cfg
    for name in field.split("."):
        value = getattr(value, name, None)
    return value is not None and value != CopyG2S()
