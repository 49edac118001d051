"""Compare what the compiler used with what a config allows."""

from __future__ import annotations

from cutegen.build import Resources
from cutegen.config import Limits
from cutegen.errors import CheckFailedError, Violation

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


def over_budget(limits: Limits, used: Resources) -> list[Violation]:
    """One violation for each budget that is exceeded."""
    rows = (
        (
            "max_registers",
            used.registers,
            limits.max_registers,
            "registers",
            "use a smaller tile or more warps",
        ),
        (
            "max_spills",
            used.spill_stores + used.spill_loads,
            limits.max_spills,
            "bytes of spills",
            "use a smaller tile or more warps, or lower min_blocks",
        ),
        (
            "max_smem_bytes",
            used.static_smem + used.dynamic_smem,
            limits.max_smem_bytes,
            "bytes of shared memory",
            "use fewer stages or a smaller tile",
        ),
    )
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
