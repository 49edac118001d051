"""``cutegen report``: one HTML page about a kernel, or about two side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.common import OutputPath, configs_argument, json_option, planned, read_config
from cutegen.cli.console import print_json, say, size_text
from cutegen.cli.explain_shape import Shape
from cutegen.cli.output import emit
from cutegen.errors import ConfigError

if TYPE_CHECKING:
    from cutegen.plan import Plan
    from cutegen.report import Subject

__all__ = ["command"]

_MOST = 2


@click.command(name="report")
@configs_argument
@click.option(
    "-o",
    "--output",
    type=OutputPath(),
    metavar="FILE",
    help="HTML file to write instead of stdout.",
)
@click.option("--shape", type=Shape(), help="Say what the kernels make of this problem.")
@json_option
def command(
    configs: tuple[str, ...], output: Path | None, shape: tuple[int, int, int] | None, as_json: bool
) -> None:
    """Write an interactive page: config, costs, occupancy, who holds which element and where it lies, source.

    The page is one file that needs no network. With two configs it marks what differs. Neither a compiler nor
    a GPU is needed; registers are the compiler's if the kernel is in the cache. A config that breaks a rule
    gets a page that says so, and exit code 2.
    """
    from cutegen.report import page

    if len(configs) > _MOST:
        raise click.UsageError(f"a report is about one config or two (got {len(configs)})")
    errors: list[ConfigError] = []
    subjects = [_subject(config, shape, errors) for config in configs]
    text = page(subjects)
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8")
        except OSError as exc:
            raise ConfigError(f"-o: {output} cannot be written: {exc.strerror}; name another file") from None
    if not as_json and output is None:
        emit(text, nl=False)
    elif not as_json:
        say(f"wrote {output} ({size_text(len(text.encode()))})", err=True)
    if errors:  # the page says so too
        message = "\n".join(error.message for error in errors)
        raise ConfigError(message, [violation for error in errors for violation in error.violations])
    if as_json:
        print_json(_document(configs, subjects, output, text))


def _document(
    configs: tuple[str, ...], subjects: list[Subject], output: Path | None, text: str
) -> dict[str, Any]:
    from cutegen.report import tables

    return {
        "ok": True,
        "output": output,
        "bytes": len(text.encode()),
        "text": text if output is None else None,
        "differences": [
            {"table": found.title, "rows": rows} for found in tables(subjects) if (rows := found.differing)
        ],
        "kernels": [_kernel(config, one) for config, one in zip(configs, subjects, strict=True)],
    }


def _kernel(config: str, subject: Subject) -> dict[str, Any]:
    room, built = subject.room, subject.built
    return {
        "config": config,
        "name": subject.plan.name if subject.plan else None,
        "warnings": list(subject.warnings),
        "occupancy": room.found.to_dict() if room else None,
        "resources": built.resources if built else None,
    }


def _subject(config: str, shape: tuple[int, int, int] | None, errors: list[ConfigError]) -> Subject:
    """Everything that the page says of a config; what is wrong with it is put to the errors."""
    from cutegen.cli.explain import fact_rows
    from cutegen.cli.warn import warnings_of
    from cutegen.report import merged, refused, subject

    loaded = read_config(config)
    label = "stdin" if config == "-" else Path(config).name
    try:
        plan = planned(loaded)
    except ConfigError as error:
        errors.append(error)
        return refused(label, loaded, error)
    return subject(
        label,
        loaded,
        plan,
        facts=merged(fact_rows(plan)),
        warnings=warnings_of(loaded),
        advice=_advice(loaded.config, plan),
        workload=merged(_workload(plan, shape)) if shape else {},
    )


def _advice(cfg: Any, plan: Plan) -> list[Any]:
    from cutegen.advise import advise
    from cutegen.cli.advise import proposal_words
    from cutegen.plan import KernelPlan
    from cutegen.report import Advice

    words = [proposal_words(one) for one in advise(cfg)] if isinstance(plan, KernelPlan) else []
    return [Advice(change=change, figures=tuple(figures)) for change, figures in words]


def _workload(plan: Plan, shape: tuple[int, int, int]) -> list[list[str]]:
    from cutegen.cli.explain_shape import workload_rows
    from cutegen.workload import workload

    found = workload(plan, *shape)
    if found is None:
        name = " x ".join(map(str, shape))
        return [[name, f"no card of {plan.arch} is known here, so --shape says nothing"]]
    return workload_rows(found)
