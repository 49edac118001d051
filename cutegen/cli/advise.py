"""``cutegen advise``: better values, each with what it costs now and then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutegen.cli.common import Outcome, attempt, conclude, configs_argument, json_option, planned, read_config
from cutegen.cli.console import bold, dim, good
from cutegen.errors import ConfigError

if TYPE_CHECKING:
    from cutegen.advise import Proposal

__all__ = ["command", "proposal_words"]

_WORDS = {
    "wavefronts": "wavefronts of shared memory a k-tile",
    "sectors": "sectors of global memory a k-tile",
    "output": "wavefronts and sectors of the output tile",
    "copies": "copies of a thread a k-tile",
    "reads": "reads of a thread a k-block",
    "stages": "stages",
    "ctas_per_sm": "CTAs per SM",
    "smem_bytes": "bytes of shared memory",
}


@click.command(name="advise")
@configs_argument
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the config with all proposals there.",
)
@json_option
def command(configs: tuple[str, ...], output: Path | None, as_json: bool) -> int:
    """Propose better layouts, copies, stages and stores for what configs say. No compiler is needed.

    A proposal makes at least one figure better and none worse. What a config leaves out is chosen well
    already.
    """
    if output == Path("-"):
        raise click.UsageError("-o takes a file; the proposals are printed anyway")
    if output is not None and len(configs) > 1:
        raise click.UsageError("-o takes the proposals for one config; name one CONFIG")
    return conclude([attempt(path, lambda o: _advise(o, output)) for path in configs], as_json=as_json)


def _advise(outcome: Outcome, output: Path | None) -> None:
    from cutegen.advise import advise
    from cutegen.loader import dump
    from cutegen.plan import KernelPlan

    loaded = read_config(outcome.config)
    plan = planned(loaded)
    choice = isinstance(plan, KernelPlan)
    found = advise(loaded.config) if choice else []
    outcome.result = {"name": plan.name, "proposals": [proposal.to_dict() for proposal in found]}
    outcome.result["output"] = None if output is None else str(output)
    if found:
        outcome.lines = [bold(outcome.config), *(line for one in found for line in _lines(one))]
    else:
        nothing = "nothing better was found" if choice else f"{plan.config.mainloop} leaves no choice"
        outcome.lines = [f"{good('ok')}  {bold(outcome.config)}  {dim(nothing)}"]
    if output is not None:
        try:
            output.write_text(dump(found[-1].config if found else loaded.config), encoding="utf-8")
        except OSError as exc:
            raise ConfigError(
                f"-o: {output} cannot be written: {exc.strerror or exc}; name another file"
            ) from None


def _lines(proposal: Proposal) -> list[str]:
    change, figures = proposal_words(proposal)
    return [f"  {change}", *(dim(f"      {line}") for line in figures)]


def proposal_words(proposal: Proposal) -> tuple[str, list[str]]:
    """What to change, and the figures before and after."""
    from cutegen.yamlwrite import flow

    said = [
        f"leave {path} out" if value is None else f"use {path}: {flow(value)}"
        for path, value in proposal.change.items()
    ]
    return " with ".join(said), _differences(proposal.before.to_dict(), proposal.after.to_dict())


def _differences(before: dict[str, int], after: dict[str, int]) -> list[str]:
    changed = [name for name in before if before[name] != after[name]]
    return [f"{_WORDS[name]}: {before[name]} -> {after[name]}" for name in changed]
