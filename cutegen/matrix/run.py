"""Check and build the cases of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cutegen.budget import BudgetError, over_budget
from cutegen.build import Artifact
from cutegen.emulator import EmulatorReport
from cutegen.errors import (
    ArgumentError,
    CheckFailedError,
    CompileError,
    ConfigError,
    CutegenError,
    LaunchError,
    SanitizerError,
)
from cutegen.matrix.expand import Case
from cutegen.matrix.junit import TestCase
from cutegen.plan import Plan, plan
from cutegen.render import RenderedKernel, Style, render
from cutegen.trial import Trial

__all__ = ["CaseResult", "Compiler", "over_budget_error", "run_cases"]

Compiler = Callable[[Sequence[RenderedKernel]], Sequence["Artifact | CutegenError"]]
"""Builds kernels; gives for each its artifact or what stopped it."""


@dataclass(frozen=True, kw_only=True)
class CaseResult:
    """What became of one case.

    Attributes:
        case: The case.
        status: Whether it passed; skipped: it is illegal and the file says to skip such cases.
        kernel: The kernel's name, when the config is legal.
        artifact: What was built.
        trials: What was tried on the CPU.
        seconds: How long the case took, where it was tried on the CPU.
        error: Why it did not pass.
    """

    case: Case
    status: Literal["passed", "failed", "skipped"]
    kernel: str | None = None
    artifact: Artifact | None = None
    trials: tuple[Trial, ...] = ()
    seconds: float | None = None
    error: CutegenError | None = None

    @property
    def code(self) -> int:
        """The exit code that this result asks for."""
        return self.error.exit_code if self.error is not None and self.status == "failed" else 0

    @property
    def kind(self) -> str:
        """What went wrong, in one word."""
        if isinstance(self.error, BudgetError):
            return "budget"
        if isinstance(self.error, ConfigError):
            return "illegal"
        if isinstance(self.error, CompileError):
            return "compile"
        if isinstance(self.error, SanitizerError):
            return "finding"
        if isinstance(self.error, CheckFailedError):
            return "mismatch"
        if isinstance(self.error, (ArgumentError, LaunchError)):
            return "launch"
        return "toolchain" if self.error is not None else ""

    @property
    def figures(self) -> dict[str, int]:
        """Registers, spills and shared memory when it was built; counts of runs when it was tried."""
        if self.trials:
            return {
                "runs": len(self.trials),
                "elements": sum(t.check.total for t in self.trials),
                "wrong": sum(t.check.bad for t in self.trials),
                "findings": sum(len(t.report.findings) for t in self.trials),
                **_conflicts(self.trials[0].report),
            }
        if self.artifact is None:
            return {}
        used = self.artifact.resources
        return {
            "registers": used.registers,
            "spill_bytes": used.spill_stores + used.spill_loads,
            "smem_bytes": used.static_smem + used.dynamic_smem,
        }

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON-ready dictionary."""
        found: dict[str, Any] = {
            "id": self.case.id,
            "status": self.status,
            "values": dict(self.case.values),
            "kernel": self.kernel,
            **self.figures,
        }
        if self.artifact is not None:
            found["cached"] = self.artifact.cached
            found["source"] = str(self.artifact.source)
            found["library"] = str(self.artifact.so)
            found["header"] = str(self.artifact.header)
        if self.trials:
            found["trials"] = [trial.to_dict() for trial in self.trials]
        if self.seconds is not None:
            found["seconds"] = round(self.seconds, 3)
        if self.error is not None:
            found.update(self.error.to_dict(), exit_code=self.error.exit_code)
        return found

    def test_case(self, suite: str, seconds: float) -> TestCase:
        """The result as a JUnit test."""
        first = str(self.error).splitlines() if self.error else [""]
        fault = self.status == "failed" and self.kind == "toolchain"
        return TestCase(
            name=self.case.id,
            classname=suite,
            seconds=seconds if self.seconds is None else self.seconds,
            status="error" if fault else self.status,
            kind=self.kind,
            message=" ".join(line.strip() for line in first[:2]),
            detail=str(self.error) if self.error else "",
            properties={name: str(value) for name, value in self.figures.items()},
        )


def _conflicts(report: EmulatorReport) -> dict[str, int]:
    """Wavefronts of shared memory and sectors of global memory of one run, each beside the ideal."""
    found = {}
    for space, unit in (("shared", "wavefronts"), ("global", "sectors")):
        rows = report.by_kind(space).values()
        if rows:
            found[unit] = sum(t.cost for t in rows)
            found[f"ideal_{unit}"] = sum(t.ideal for t in rows)
    return found


def run_cases(
    cases: Sequence[Case],
    *,
    illegal: Literal["fail", "skip"] = "fail",
    compiler: Compiler | None = None,
    style: Style = "resolved",
) -> list[CaseResult]:
    """Check every case and build the legal ones.

    Args:
        cases: What to build, in the order of the results.
        illegal: What an illegal case is.
        compiler: Builds kernels, for example :func:`cutegen.build.compile_many`; left out: only check.
        style: Style of the rendering.
    """
    results: dict[int, CaseResult] = {}
    plans: dict[int, Plan] = {}
    for index, case in enumerate(cases):
        try:
            legal = plan(case.loaded.config)
        except ConfigError as exc:
            error = case.loaded.located_error(exc)
            results[index] = CaseResult(
                case=case, status="skipped" if (case.illegal or illegal) == "skip" else "failed", error=error
            )
            continue
        plans[index] = legal
    built: Sequence[Artifact | CutegenError | None] = [None] * len(plans)
    if compiler is not None:
        built = compiler([render(legal, style=style) for legal in plans.values()])
    for (index, legal), outcome in zip(plans.items(), built, strict=True):
        results[index] = _judge(cases[index], legal, outcome)
    return [results[index] for index in range(len(cases))]


def _judge(case: Case, legal: Plan, outcome: Artifact | CutegenError | None) -> CaseResult:
    if isinstance(outcome, CutegenError):
        return CaseResult(case=case, status="failed", kernel=legal.name, error=outcome)
    error = over_budget_error(case, legal, outcome)
    return CaseResult(
        case=case,
        status="failed" if error else "passed",
        kernel=legal.name,
        artifact=outcome,
        error=error,
    )


def over_budget_error(case: Case, legal: Plan, artifact: Artifact | None = None) -> BudgetError | None:
    """What a case's kernel has too much of; without an artifact, as far as the plan shows it."""
    excess = over_budget(legal, None if artifact is None else artifact.resources)
    if not excess:
        return None
    located = tuple(case.loaded.located(v) for v in excess)
    return BudgetError(f"{legal.name} is over budget:", located)
