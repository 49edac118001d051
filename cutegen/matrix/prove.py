"""Prove the cases of a matrix on the CPU: compile for the emulator, run, compare, look for findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from typing import Literal

from cutegen import settings
from cutegen.building import emulated_kernel
from cutegen.config import GemmConfig
from cutegen.emulated import EmulatedArtifact
from cutegen.emulator import HostToolchain, find_host_toolchain
from cutegen.emulator import compile as compile_for_cpu
from cutegen.errors import ConfigError, CutegenError
from cutegen.matrix.expand import Case
from cutegen.matrix.run import CaseResult, over_budget_error
from cutegen.plan import Plan, plan
from cutegen.render import Style, render
from cutegen.toolchain.process import Workers, parallel_jobs
from cutegen.trial import Problem, default_problems, thread_finder, trial_error, try_kernel

__all__ = ["proof_problems", "prove_cases"]

Illegal = Literal["fail", "skip"]


def proof_problems(config: GemmConfig) -> tuple[Problem, ...]:
    """What a case is tried on: whole tiles; partial tiles, with C; and less than one tile, with alpha."""
    whole, partial, small = default_problems(config)
    return whole, replace(partial, beta=1.0), replace(small, alpha=2.0)


def prove_cases(
    cases: Sequence[Case],
    *,
    illegal: Illegal = "fail",
    style: Style = "resolved",
    seeds: Sequence[int] = (0,),
    sanitize: bool = True,
    jobs: int | None = None,
    processes: int | None = None,
    timeout: float | None = None,
    host: HostToolchain | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[CaseResult]:
    """Try every legal case; see :func:`proof_problems`.

    Args:
        cases: What to prove, in the order of the results.
        illegal: What an illegal case is.
        style: Style of the rendering.
        seeds: Of inputs and orders of threads; each problem runs with each.
        sanitize: Whether to check every access.
        jobs: Cases at a time; by default the setting, or the cores as far as free memory allows.
        processes: Worker processes of each run; by default one, for cases run side by side.
        timeout: Seconds after which a run is stopped, which fails the case.
        host: Compiler and headers; found when left out.
        progress: Called in this thread with the number of finished cases and of all.

    Raises:
        ToolchainError: A compiler or headers are missing.
    """
    tools = find_host_toolchain() if host is None else host
    results: dict[int, CaseResult] = {}
    legal: dict[int, Plan] = {}
    for index, case in enumerate(cases):
        try:
            legal[index] = plan(case.loaded.config)
        except ConfigError as exc:
            skip = (case.illegal or illegal) == "skip"
            error = case.loaded.located_error(exc)
            results[index] = CaseResult(case=case, status="skipped" if skip else "failed", error=error)

    def one(index: int) -> CaseResult:
        started = time.perf_counter()
        result = _prove(
            cases[index],
            legal[index],
            style,
            seeds,
            sanitize=sanitize,
            processes=processes or 1,
            timeout=timeout,
            host=tools,
        )
        return replace(result, seconds=time.perf_counter() - started)

    with Workers(parallel_jobs(jobs or settings.jobs())) as pool:
        futures = {pool.submit(one, index): index for index in legal}
        for future in as_completed(futures):
            results[futures[future]] = future.result()
            if progress is not None:
                progress(len(results), len(cases))
    return [results[index] for index in range(len(cases))]


def _prove(
    case: Case,
    legal: Plan,
    style: Style,
    seeds: Sequence[int],
    *,
    sanitize: bool,
    processes: int,
    timeout: float | None,
    host: HostToolchain,
) -> CaseResult:
    try:
        artifact = EmulatedArtifact(kernel=compile_for_cpu(render(legal, style=style), host=host))
        trials = try_kernel(
            emulated_kernel(legal.config, artifact, style=style),
            proof_problems(legal.config),
            seeds=seeds,
            sanitize=sanitize,
            processes=processes,
            timeout=timeout,
            thread_of=thread_finder(legal),
        )
    except CutegenError as exc:
        return CaseResult(case=case, status="failed", kernel=legal.name, error=exc)
    error = trial_error(legal.name, trials) or over_budget_error(case, legal)
    return CaseResult(
        case=case,
        status="passed" if error is None else "failed",
        kernel=legal.name,
        trials=tuple(trials),
        error=error,
    )
