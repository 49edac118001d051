"""Try one case: does an accepted config work, and does a refused one not?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cutegen.build import compile_kernel
from cutegen.building import emulated_kernel
from cutegen.emulated import EmulatedArtifact
from cutegen.emulator import HostToolchain
from cutegen.emulator import compile as compile_for_cpu
from cutegen.errors import ArgumentError, CompileError, ConfigError, LaunchError
from cutegen.fuzz.case import Case, Failure, problems_of
from cutegen.loader import dump, loads
from cutegen.plan import Plan, derive, plan
from cutegen.render import RenderedKernel, render, styles_of
from cutegen.resolve import resolve
from cutegen.rules import check
from cutegen.toolchain import Toolchain
from cutegen.trial import Problem, Trial, try_kernel

__all__ = ["NOT_FORCED", "Probe", "Prober", "Tools"]

#: Rules whose reason neither the emulator nor nvcc can show within a run, and why.
NOT_FORCED: dict[str, str] = {
    "accumulators-compile": "nvcc needs minutes and gigabytes for what it refuses",
    "fragment-buffers": "the second buffer would never be used; the kernel is right and larger than it says",
    "g2s-align": "what the user promises about pointers and strides may hold by chance",
    "tma-align": "likewise",
    "tma-store": "likewise; another store than the one that was asked for would be taken",
    "wgmma-registers": "the emulator has registers without end, and ptxas spills what does not fit",
    "wgmma-promote": "sums are promoted after each stage, whatever the number says",
    "semaphore": "the emulator starts CTAs until none waits; a GPU that holds too few of them may hang",
    "wgmma-unused-fields": "the kernel is right and has none of what these fields ask for",
    "tma-wgmma-only": "likewise",
    "extent-limit": "the kernel would take hours to compile or to run",
}


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What cases are tried with.

    Attributes:
        host: Compiler and headers of the emulator.
        nvcc: Compilers for GPUs; None: accepted kernels are not compiled for one.
        timeout: Seconds of one run.
    """

    host: HostToolchain
    nvcc: Toolchain | None = None
    timeout: float = 300.0


class Prober:
    """Tries cases.

    Args:
        tools: What they are tried with.
    """

    def __init__(self, tools: Tools) -> None:
        self.tools = tools

    def __call__(self, case: Case) -> Failure | None:
        """What is wrong with a case, or None."""
        for config in case.companions:
            if (failure := self._on_paper(replace(case, config=config, companions=()))) is not None:
                return failure
        case = replace(case, companions=())
        if case.expectation == "refused":
            return self._force(case)
        try:
            planned = self._plan(case)
            rendered = self._render(case, planned)
            self._reload(case, planned, rendered)
            if self.tools.nvcc is not None:
                self._nvcc(case, rendered, self.tools.nvcc)
            self._run(case, planned, rendered)
        except _Found as found:
            return found.failure
        return None

    def _on_paper(self, case: Case) -> Failure | None:
        """What is wrong with a config up to its text, in both styles."""
        try:
            for style in styles_of(resolve(case.config).mainloop):
                styled = replace(case, expectation="accepted", style=style)
                planned = self._plan(styled)
                self._reload(styled, planned, self._render(styled, planned))
        except _Found as found:
            return found.failure
        return None

    def _plan(self, case: Case) -> Plan:
        try:
            return plan(case.config)
        except ConfigError as exc:
            raise _Found(case, "check", exc.violations[0].rule if exc.violations else "", str(exc)) from None
        except Exception as exc:
            raise _Found(case, "plan", type(exc).__name__, f"plan: {type(exc).__name__}: {exc}") from exc

    @staticmethod
    def _render(case: Case, planned: Plan) -> RenderedKernel:
        try:
            return render(planned, style=case.style)
        except Exception as exc:
            text = f"render: {type(exc).__name__}: {exc}"
            raise _Found(case, "render", type(exc).__name__, text) from exc

    @staticmethod
    def _reload(case: Case, planned: Plan, rendered: RenderedKernel) -> None:
        """The config that ``explain`` prints, with every field filled in, is the same kernel."""
        again = loads(dump(planned.config))
        if found := check(again):
            text = f"the resolved config is refused: {found[0]}"
            raise _Found(case, "reload", found[0].rule, text)
        if render(plan(again), style=case.style).text != rendered.text:
            raise _Found(case, "reload", "text", "the resolved config renders another kernel")

    def _nvcc(self, case: Case, rendered: RenderedKernel, toolchain: Toolchain) -> None:
        try:
            compile_kernel(rendered, toolchain=toolchain)
        except CompileError as exc:
            raise _Found(case, "nvcc", "", f"nvcc: {exc.first_error}") from None

    def _run(self, case: Case, planned: Plan, rendered: RenderedKernel) -> None:
        try:
            kernel = compile_for_cpu(rendered, host=self.tools.host)
        except CompileError as exc:
            raise _Found(case, "compile", "", f"host compiler: {exc.first_error}") from None
        config = planned.config
        callable_kernel = emulated_kernel(config, EmulatedArtifact(kernel=kernel), style=case.style)
        for problem in problems_of(case, config):
            for order in case.orders:
                try:
                    (trial,) = try_kernel(
                        callable_kernel, [problem], seeds=[order], processes=1, timeout=self.tools.timeout
                    )
                except (LaunchError, ArgumentError) as exc:
                    where = replace(case, problems=(problem,), orders=(order,))
                    raise _Found(where, "launch", type(exc).__name__, str(exc)) from None
                self._judge(case, problem, order, trial)

    @staticmethod
    def _judge(case: Case, problem: Problem, order: int, trial: Trial) -> None:
        where = replace(case, problems=(problem,), orders=(order,))
        if trial.report.findings:
            first = trial.report.findings[0]
            raise _Found(where, "finding", first.kind, f"{problem}, order {order}: {first}")
        if not trial.check.ok:
            raise _Found(where, "numbers", "", f"{problem}, order {order}: {trial.check}")

    def _force(self, case: Case) -> Failure | None:
        """A refused config is built in spite of the rules: a failure if it works after all."""
        violations = check(case.config)
        if not violations or {v.rule for v in violations} & set(NOT_FORCED):
            return None
        try:
            planned = derive(resolve(case.config))
            rendered = render(planned, style=case.style)
        except Exception:  # whatever a config without sense makes the derivation raise
            return None
        try:
            if self.tools.nvcc is not None:
                self._nvcc(case, rendered, self.tools.nvcc)
            self._run(case, planned, rendered)
        except _Found:
            return None
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return None  # shapes that its alignments ask for do not exist
        rules = ", ".join(sorted({v.rule for v in violations}))
        return Failure(
            case=case,
            kind="refused",
            detail=rules,
            message=f"[{rules}] refuses it, and it works: {violations[0]}",
        )


class _Found(Exception):
    """A failure on its way out of the steps."""

    def __init__(self, case: Case, kind: str, detail: str, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(case=case, kind=kind, detail=detail, message=message)


Probe = Callable[[Case], Failure | None]
