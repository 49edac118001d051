"""Options and steps that several commands share."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cutegen.cli.console import bad, error_document, error_lines, good, print_json, say
from cutegen.errors import ConfigError, CutegenError
from cutegen.loader import LoadedConfig, decode, read_bounded, read_text, validate
from cutegen.yamlread import Document, parse

if TYPE_CHECKING:
    from cutegen.plan import Plan

__all__ = [
    "MAINLOOPS",
    "SECONDS",
    "STYLES",
    "Finite",
    "Outcome",
    "OutputPath",
    "attempt",
    "conclude",
    "config_argument",
    "configs_argument",
    "jobs_option",
    "json_option",
    "nvcc_option",
    "planned",
    "read_config",
    "read_document",
    "read_program",
    "require_budget",
    "style_option",
    "target_option",
]


class OutputPath(click.Path):
    """A file to write, or ``-`` for stdout, which counts as none given."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, or None for stdout."""
        return None if value == "-" else super().convert(value, param, ctx)


class Finite(click.FloatRange):
    """A number that is neither infinite nor none at all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"must be a finite number (got {value})", param, ctx)
        return number


#: A time limit; the upper end, three years, keeps it within what operating systems can wait for.
SECONDS = Finite(min=0, min_open=True, max=1e8)

F = TypeVar("F", bound=Callable[..., Any])

# The choices of config and render, whose import would slow the start; a test compares them.
STYLES = ("resolved", "idiomatic")
MAINLOOPS = ("simt", "direct", "multistage", "tma_wgmma", "collective")

_STDIN = "<stdin>"
_PATH = click.Path(dir_okay=True, allow_dash=True)  # the loader says what is wrong with a path

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on stdout, for errors too."
)
style_option = click.option(
    "--style",
    type=click.Choice(STYLES),
    default="resolved",
    show_default=True,
    help="resolved compiles quickest; idiomatic reads as CuTe users write it.",
)
target_option = click.option(
    "--target",
    metavar="native|sm_XX",
    default=None,
    help="GPU that the binary is for.  [default: the GPU here if it runs the config's arch, else that arch]",
)
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Most compilers at a time.  [default: bounded by cores and memory]",
)
nvcc_option = click.option(
    "--nvcc", metavar="PATH", help="The nvcc to use, or the root of its toolkit.  [default: see 'doctor']"
)


def config_argument(function: F) -> F:
    """One config file."""
    return click.argument("config", type=_PATH, metavar="CONFIG")(function)


def configs_argument(function: F) -> F:
    """One or more config files."""
    return click.argument(
        "configs", type=_PATH, nargs=-1, required=True, metavar="CONFIG...", callback=_stdin_once
    )(function)


def _stdin_once(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if value.count("-") > 1:
        raise click.BadParameter(
            "standard input (-) can be read once; a file of that name is ./-", ctx, param
        )
    return value


def read_document(path: str) -> Document:
    """The plain data of a file; ``-`` is standard input."""
    if path == "-":
        return parse(decode(_read_stdin(), _STDIN), _STDIN)
    return parse(read_text(path), path)


def read_program() -> str:
    """The program of layout algebra that standard input has."""
    return decode(_read_stdin("program"), _STDIN)


def _read_stdin(what: str = "config") -> bytes:
    if sys.stdin is None:
        raise ConfigError(f"{_STDIN}: is closed; name a file, or pipe a {what} in")
    if sys.stdin.isatty():
        say(f"reading a {what} from the terminal; Ctrl-D ends it", err=True)
    try:
        return read_bounded(sys.stdin.buffer, _STDIN)
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise ConfigError(f"{_STDIN}: cannot be read: {reason}") from None


def read_config(path: str) -> LoadedConfig:
    """Load a config file; ``-`` is standard input."""
    return validate(read_document(path))


def planned(loaded: LoadedConfig) -> Plan:
    """The plan of a config; a violation of a rule carries its place in the file.

    Raises:
        ConfigError: The config breaks a rule.
    """
    from cutegen.plan import plan

    try:
        return plan(loaded.config)
    except ConfigError as exc:
        error = loaded.located_error(exc)
        raise ConfigError(f"{loaded.document.name}: {error.message}", error.violations) from None


def require_budget(loaded: LoadedConfig, plan: Plan, name: str) -> None:
    """Compare a config's ``limits`` with what its plan shows.

    Raises:
        BudgetError: One of them is exceeded.
    """
    from cutegen.budget import BudgetError, over_budget

    excess = tuple(loaded.located(v) for v in over_budget(plan))
    if excess:
        raise BudgetError(f"{name}: the kernel is over budget:", excess)


@dataclass(kw_only=True)
class Outcome:
    """What a command made of one config.

    Attributes:
        config: The config file as the user named it.
        result: JSON-ready facts.
        lines: The same for people.
        error: Why it failed, if it did.
    """

    config: str
    result: dict[str, Any] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    error: CutegenError | None = None

    @property
    def code(self) -> int:
        """The exit code that this outcome asks for."""
        return self.error.exit_code if self.error else 0

    def document(self) -> dict[str, Any]:
        """The outcome as a JSON-ready document."""
        end = error_document(self.error) if self.error else {"ok": True, "exit_code": 0}
        return {"config": self.config, **self.result, **end}


def attempt(config: str, action: Callable[[Outcome], None]) -> Outcome:
    """Run ``action`` for one config and keep its error, so that the other configs have their turn."""
    outcome = Outcome(config=config)
    try:
        action(outcome)
    except CutegenError as exc:
        outcome.error = exc
    return outcome


def conclude(outcomes: Iterable[Outcome], *, as_json: bool) -> int:
    """Print all outcomes; the exit code is the highest that one of them asks for."""
    listed = list(outcomes)
    code = max((o.code for o in listed), default=0)
    failed = [o for o in listed if o.error is not None]
    if as_json:
        document: dict[str, Any] = {"ok": not failed, "exit_code": code}
        if failed:
            documents = [error_document(o.error) for o in failed if o.error]
            document["error"] = documents[0]["error"]
            document["message"] = "\n".join(dict.fromkeys(str(d["message"]) for d in documents))
            document["violations"] = [v for d in documents for v in d["violations"]]
        document["configs"] = [o.document() for o in listed]
        print_json(document)
        return code
    told: set[str] = set()
    for outcome in listed:
        for line in outcome.lines:
            say(line)
        if outcome.error is not None and str(outcome.error) not in told:
            told.add(str(outcome.error))  # what is wrong with the machine is said once, not for each config
            for line in error_lines(outcome.error):
                say(line, err=True)
    if len(listed) > 1:
        words = [good(f"{len(listed) - len(failed)} ok")] + ([bad(f"{len(failed)} failed")] if failed else [])
        say(", ".join(words), err=True)
    return code
