"""Compare what the compiler used with what a config allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cutegen.arch import arch
from cutegen.config import Limits
from cutegen.errors import CheckFailedError, Violation
from cutegen.lint import accesses
from cutegen.occupancy import occupancy
from cutegen.plan import Plan

if TYPE_CHECKING:
    from cutegen.build import Resources

__all__ = ["BudgetError", "over_budget"]


class BudgetError(CheckFailedError):
    """A kernel uses more than its config's ``limits`` allow; ``violations`` holds every excess."""

    def __init__(self, message: str, violations: tuple[Violation, ...]) -> None:
        super().__init__(message)
        self.message = message
        self.violations = violations

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.message, self.violations))

    def __str__(self) -> str:
        return "\n  ".join([self.message, *(str(v) for v in self.violations)])

    def to_dict(self) -> dict[str, object]:
        """The error with its violations as a JSON-ready dictionary."""
        violations = [v.to_dict() for v in self.violations]
        return {"error": type(self).__name__, "message": self.message, "violations": violations}


def over_budget(plan: Plan, used: Resources | None = None) -> list[Violation]:
    """One violation for each budget that is exceeded.

    Args:
        plan: The kernel, whose config has the ``limits``.
        used: What the compiler used; left out: only what the plan alone shows is judged.
    """
    found = _over(_planned_rows(plan) if used is None else _built_rows(plan, used))
    least = plan.config.limits.min_ctas_per_sm
    if least is not None:
        found += _too_few_ctas(plan, used, least)
    return found + _conflicts(plan)


Row = tuple[str, int, int | None, str, str]
"""Field, value, limit, unit and way out."""

_SMALLER = "use a smaller tile or more warps"


def _planned_rows(plan: Plan) -> list[Row]:
    return [_smem_row(plan.config.limits, plan.smem_bytes)]


def _smem_row(limits: Limits, value: int) -> Row:
    fix = "use fewer stages or a smaller tile"
    return ("max_smem_bytes", value, limits.max_smem_bytes, "bytes of shared memory", fix)


def _built_rows(plan: Plan, used: Resources) -> list[Row]:
    limits, spills = plan.config.limits, used.spill_stores + used.spill_loads
    return [
        ("max_registers", used.registers, limits.max_registers, "registers", _SMALLER),
        ("max_spills", spills, limits.max_spills, "bytes of spills", f"{_SMALLER}, or lower min_blocks"),
        _smem_row(limits, used.static_smem + used.dynamic_smem),
    ]


def _over(rows: list[Row]) -> list[Violation]:
    return [
        Violation(
            rule="budget",
            field=f"limits.{field}",
            got=f"{value} {unit}",
            need=f"must be at most {limit}",
            fix=f"{fix}, or raise the limit",
        )
        for field, value, limit, unit, fix in rows
        if limit is not None and value > limit
    ]


def _too_few_ctas(plan: Plan, used: Resources | None, least: int) -> Iterator[Violation]:
    """CTAs of an SM of the config's architecture; before the build, as if a thread had few registers."""
    smem = plan.smem_bytes if used is None else used.static_smem + used.dynamic_smem
    registers = 1 if used is None else used.registers
    found = occupancy(arch(plan.arch), threads=plan.threads, registers=registers, smem=smem)
    if found.ctas < least:
        yield Violation(
            rule="budget",
            field="limits.min_ctas_per_sm",
            got=f"{found.ctas} CTAs, limited by {' and '.join(found.limited_by)}",
            need=f"must be at least {least}",
            fix="use a smaller tile, fewer stages or a larger min_blocks, or lower the limit",
        )


def _conflicts(plan: Plan) -> list[Violation]:
    most = plan.config.limits.max_conflict_ways
    shared = [a for a in accesses(plan) if a.space == "shared"] if most is not None else []
    return [
        Violation(
            rule="budget",
            field="limits.max_conflict_ways",
            got=f"{a.name}: {a.ways:g}-way bank conflicts of {a.op}",
            need=f"must be at most {most:g}",
            fix=f"leave {'epilogue' if 'D' in a.name else 'smem'} and copies to cutegen, or raise the limit",
        )
        for a in shared
        if most is not None and a.ways > most
    ]
