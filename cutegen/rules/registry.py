"""What a rule is, and the list of all of them.

A rule is a generator of facts: a function that yields one :class:`Finding` for each thing that makes
a config impossible. It registers itself with :func:`rule` and takes all that it needs from
:class:`~cutegen.rules.facts.Facts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from cutegen.errors import Violation
from cutegen.rules.facts import Facts, OperandFacts

__all__ = ["FAMILIES", "Family", "Finding", "Rule", "operand_rule", "rule", "rules"]

Family = Literal[
    "bounds",
    "types",
    "tile",
    "tiled_mma",
    "smem",
    "g2s",
    "s2r",
    "resources",
    "epilogue",
    "partition",
    "wgmma",
    "tma",
    "collective",
]

#: Families in the order in which their rules run and are listed, with what they are about.
FAMILIES: dict[Family, str] = {
    "bounds": "integers that can be extents, strides and counts at all",
    "types": "element types, majors, MMA atom, arch and mainloop against each other",
    "tile": "the CTA tile against the MMA",
    "tiled_mma": "atoms side by side, and the permutation",
    "smem": "shared-memory layouts and swizzles",
    "g2s": "copies from global to shared memory",
    "s2r": "copies from shared memory to registers",
    "resources": "stages, shared memory, threads and registers",
    "epilogue": "scale, convert, store, and the order of CTAs",
    "partition": "each thread's share as a CuTe layout",
    "wgmma": "warpgroup MMA: types, tile, warpgroups, shared memory and registers of tma_wgmma",
    "tma": "bulk copies and clusters of tma_wgmma",
    "collective": "what CUTLASS's collective builders take",
}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a rule found; see :class:`~cutegen.errors.Violation` for the fields."""

    field: str
    got: str
    need: str
    fix: str


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One legality rule.

    Attributes:
        id: Stable identifier, as violations carry it.
        family: What the rule is about.
        reason: Why a config that breaks it cannot work, in plain words.
        source: Where that is written down.
    """

    id: str
    family: Family
    reason: str
    source: str
    find: Callable[[Facts], Iterator[Finding]] = field(repr=False, compare=False)

    def violations(self, facts: Facts) -> Iterator[Violation]:
        """Every violation of this rule."""
        for found in self.find(facts):
            yield Violation(rule=self.id, field=found.field, got=found.got, need=found.need, fix=found.fix)

    def to_dict(self) -> dict[str, str]:
        """The rule as a JSON-ready dictionary."""
        return {"id": self.id, "family": self.family, "reason": self.reason, "source": self.source}


_RULES: dict[str, Rule] = {}

Check = Callable[[Facts], Iterator[Finding]]
OperandCheck = Callable[[OperandFacts], Iterator[Finding]]


def rules() -> tuple[Rule, ...]:
    """All rules, family by family."""
    order = list(FAMILIES)
    return tuple(sorted(_RULES.values(), key=lambda r: order.index(r.family)))


def _register(id: str, family: Family, reason: str, source: str, find: Check) -> None:
    if id in _RULES:
        raise RuntimeError(f"two rules are called {id}")
    _RULES[id] = Rule(id=id, family=family, reason=reason, source=source, find=find)


def rule(id: str, family: Family, *, reason: str, source: str) -> Callable[[Check], Check]:
    """Register a rule over the whole config."""

    def register(find: Check) -> Check:
        _register(id, family, reason, source, find)
        return find

    return register


def operand_rule(
    id: str, family: Family, *, reason: str, source: str
) -> Callable[[OperandCheck], OperandCheck]:
    """Register a rule that is asked once for A and once for B."""

    def register(find: OperandCheck) -> OperandCheck:
        def both(facts: Facts) -> Iterator[Finding]:
            for operand in facts.operands:
                yield from find(operand)

        _register(id, family, reason, source, both)
        return find

    return register
