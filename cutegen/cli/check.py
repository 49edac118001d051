"""``cutegen check``: can these configs work?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from cutegen.cli.common import (
    Outcome,
    attempt,
    conclude,
    configs_argument,
    json_option,
    planned,
    read_document,
    require_budget,
)
from cutegen.cli.console import bold, bytes_text, dim, good
from cutegen.cli.warn import case_warnings, warning_lines, warnings_of
from cutegen.errors import CheckFailedError, ConfigError, Violation
from cutegen.loader import validate
from cutegen.yamlread import Document

if TYPE_CHECKING:
    from cutegen.budget import BudgetError

__all__ = ["command"]


@click.command(name="check")
@configs_argument
@click.option("--strict", is_flag=True, help="Exit with 1 when there is a warning.")
@json_option
def command(configs: tuple[str, ...], strict: bool, as_json: bool) -> int:
    """Tell whether configs can work. Neither a compiler nor a GPU is needed.

    What works and is surely not meant so is a warning. Of a matrix file, all cases are checked.
    """
    return conclude([attempt(path, partial(_check, strict=strict)) for path in configs], as_json=as_json)


def _check(outcome: Outcome, *, strict: bool) -> None:
    _look_at(outcome)
    warnings = outcome.result["warnings"]
    outcome.lines += warning_lines(warnings)
    if strict and warnings:
        count = f"{len(warnings)} warning{'s' * (len(warnings) != 1)}"
        raise CheckFailedError(f"{outcome.config}: {count}, which --strict does not let pass")


def _look_at(outcome: Outcome) -> None:
    document = read_document(outcome.config)
    if isinstance(document.data, dict) and "matrix" in document.data:
        _check_matrix(outcome, document)
        return
    loaded = validate(document)
    plan = planned(loaded)
    outcome.result = {
        **{"name": plan.name, "threads": plan.threads, "smem_bytes": plan.smem_bytes},
        "warnings": warnings_of(loaded),
    }
    require_budget(loaded, plan, outcome.config)
    facts = f"{plan.threads} threads, {bytes_text(plan.smem_bytes)} of shared memory"
    outcome.lines = [f"{good('ok')}  {bold(outcome.config)}  {plan.name}  {dim(facts)}"]


def _check_matrix(outcome: Outcome, document: Document) -> None:
    from cutegen.budget import BudgetError
    from cutegen.matrix import expand
    from cutegen.matrix.run import run_cases

    matrix = expand(document)
    results = run_cases(matrix.cases, illegal=matrix.illegal)
    failed = [r for r in results if r.status == "failed"]
    illegal = [r.error for r in failed if isinstance(r.error, ConfigError)]
    if illegal:
        count = f"{len(illegal)} of {len(results)} cases cannot work"
        raise ConfigError(f"{outcome.config}: {count}:", _all_of(illegal))
    over = [r.error for r in failed if isinstance(r.error, BudgetError)]
    if over:
        count = f"{len(over)} of {len(results)} cases are over budget"
        raise BudgetError(f"{outcome.config}: {count}:", _all_of(over))
    passed = [(r.case.id, r.case.loaded) for r in results if r.status == "passed"]
    outcome.result = {"cases": len(results), "warnings": case_warnings(passed)}
    outcome.lines = [f"{good('ok')}  {bold(outcome.config)}  matrix file, {len(results)} cases"]


def _all_of(errors: Sequence[ConfigError | BudgetError]) -> tuple[Violation, ...]:
    return tuple(dict.fromkeys(violation for error in errors for violation in error.violations))
