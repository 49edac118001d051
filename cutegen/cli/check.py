"""``cutegen check``: can these configs work?"""

from __future__ import annotations

import click

from cutegen.cli.common import (
    Outcome,
    attempt,
    conclude,
    configs_argument,
    json_option,
    planned,
    read_document,
)
from cutegen.cli.console import bold, bytes_text, dim, good
from cutegen.errors import ConfigError
from cutegen.loader import validate
from cutegen.yamlread import Document

__all__ = ["command"]


@click.command(name="check")
@configs_argument
@json_option
def command(configs: tuple[str, ...], as_json: bool) -> int:
    """Tell whether configs can work. Neither a compiler nor a GPU is needed.

    Of a matrix file, all cases are checked.
    """
    return conclude([attempt(path, _check) for path in configs], as_json=as_json)


def _check(outcome: Outcome) -> None:
    document = read_document(outcome.config)
    if isinstance(document.data, dict) and "matrix" in document.data:
        _check_matrix(outcome, document)
        return
    plan = planned(validate(document))
    outcome.result = {"name": plan.name, "threads": plan.threads, "smem_bytes": plan.smem_bytes}
    facts = f"{plan.threads} threads, {bytes_text(plan.smem_bytes)} of shared memory"
    outcome.lines = [f"{good('ok')}  {bold(outcome.config)}  {plan.name}  {dim(facts)}"]


def _check_matrix(outcome: Outcome, document: Document) -> None:
    from cutegen.matrix import expand
    from cutegen.matrix.run import run_cases

    matrix = expand(document)
    results = run_cases(matrix.cases, illegal=matrix.illegal)
    failed = [r for r in results if r.status == "failed"]
    violations = [v for r in failed if isinstance(r.error, ConfigError) for v in r.error.violations]
    if failed:
        count = f"{len(failed)} of {len(results)} cases cannot work"
        raise ConfigError(f"{outcome.config}: {count}:", list(dict.fromkeys(violations)))
    outcome.result = {"cases": len(results)}
    outcome.lines = [f"{good('ok')}  {bold(outcome.config)}  matrix file, {len(results)} cases"]
