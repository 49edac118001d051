"""``cutegen fuzz``: random configs against the rules."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from cutegen.arch import ARCHS
from cutegen.cli.common import MAINLOOPS, SECONDS, STYLES, Finite, json_option
from cutegen.cli.console import bad, bold, dim, good, print_json, say, warn
from cutegen.errors import ConfigError
from cutegen.yamlread import parse

if TYPE_CHECKING:
    from cutegen.config import GemmConfig
    from cutegen.fuzz import Case, Failure, Summary, Tools
    from cutegen.render import Style
    from cutegen.trial import Problem

__all__ = ["command"]

_SECONDS = 60.0


def _problem(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Problem, ...]:
    from cutegen.trial import Problem

    found = []
    for value in values:
        parts = value.split(",")
        try:
            m, n, k = (int(x) for x in parts[:3])
            alpha, beta = (float(x) for x in (*parts[3:], "1", "0")[:2]) if len(parts) != 4 else (0.0, 0.0)
            if len(parts) not in (3, 5) or min(m, n, k) < 0:
                raise ValueError
        except ValueError:
            raise click.BadParameter(
                f"must be M,N,K or M,N,K,ALPHA,BETA (got {value!r})", ctx, param
            ) from None
        found.append(Problem(m=m, n=n, k=k, alpha=alpha, beta=beta))
    return tuple(found)


def _orders(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    try:
        return tuple(int(x) for x in value.split(",")) if value else (0,)
    except ValueError:
        raise click.BadParameter(f"must be numbers with commas between (got {value!r})", ctx, param) from None


@click.command(name="fuzz")
@click.option(
    "--seconds",
    type=Finite(min=0, max=1e8),
    help=f"Begin no case after this time.  [default: {_SECONDS:g}, or until --count]",
)
@click.option("--count", type=click.IntRange(min=0), help="Most cases to try.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The first seed.")
@click.option(
    "--device", type=click.Choice(["cpu"]), default="cpu", show_default=True, help="Where kernels run."
)
@click.option("--nvcc", is_flag=True, help="Compile each accepted kernel with nvcc, too.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Cases at a time.")
@click.option("--arch", "archs", multiple=True, type=click.Choice(list(ARCHS)), help="Only such configs.")
@click.option(
    "--mainloop",
    "mainloops",
    multiple=True,
    type=click.Choice(MAINLOOPS),
    help="Only such configs.",
)
@click.option(
    "--style",
    type=click.Choice(STYLES),
    help="Only this style.  [default: resolved, and idiomatic for one case in four]",
)
@click.option(
    "--minimise",
    type=Finite(min=0, max=1e8),
    default=240.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to make a failure smaller; 0: not at all.",
)
@click.option("--timeout", type=SECONDS, default=300.0, help="Seconds of a run.")
@click.option("--config", "text", metavar="YAML", help="Try this config once, as failures print it.")
@click.option("--force", is_flag=True, help="With --config: the rules refuse it; try whether it works.")
@click.option(
    "--problem",
    "problems",
    multiple=True,
    callback=_problem,
    metavar="M,N,K[,ALPHA,BETA]",
    help="With --config: what to compute.  [default: several]",
)
@click.option(
    "--orders",
    callback=_orders,
    metavar="N,...",
    help="With --config: seeds of inputs and orders of threads.",
)
@json_option
def command(
    seconds: float | None,
    count: int | None,
    seed: int,
    device: str,
    nvcc: bool,
    jobs: int,
    archs: tuple[str, ...],
    mainloops: tuple[str, ...],
    style: Style | None,
    minimise: float,
    timeout: float,
    text: str | None,
    force: bool,
    problems: tuple[Problem, ...],
    orders: tuple[int, ...],
    as_json: bool,
) -> int:
    """Try random configs on the CPU: what the rules accept must work, and what they refuse must not.

    A config that the rules accept must compile, be right on exact inputs of even and odd sizes, and be clean
    under the sanitizer; its resolved form must be the same kernel. Some of those that one rule refuses are
    built in spite of it, to see that they do fail. A failure is made small and printed with a command that
    shows it again. Exits with 1 when something failed.
    """
    from cutegen.fuzz import Choices, Prober, fuzz

    if text is None and (force or problems):
        raise click.UsageError("--force and --problem go with --config")
    tools = _tools(nvcc, timeout)
    if text is not None:
        return _one(tools, _case(text, force, style, problems, orders), as_json=as_json)
    choices = Choices(archs=archs, mainloops=mainloops)
    if style is not None:
        choices = Choices(archs=archs, mainloops=mainloops, styles=(style,))
    summary = fuzz(
        Prober(tools),
        seed=seed,
        seconds=_SECONDS if seconds is None and count is None else seconds,
        count=count,
        choices=choices,
        jobs=jobs,
        minimise_seconds=minimise,
        progress=_progress,
    )
    code = 0 if summary.ok else 1
    if as_json:
        document: dict[str, Any] = {"ok": summary.ok, "exit_code": code}
        if not summary.ok:
            message = f"{len(summary.failures)} of {summary.cases} cases failed"
            document.update(error="CheckFailedError", message=message, violations=[])
        print_json({**document, **summary.to_dict()})
        return code
    for failure in summary.failures:
        _print(failure)
    _conclude(summary)
    return code


def _tools(nvcc: bool, timeout: float) -> Tools:
    from cutegen.emulator import find_host_toolchain
    from cutegen.fuzz import Tools
    from cutegen.toolchain import find_toolchain

    host = find_host_toolchain()
    return Tools(host=host, nvcc=find_toolchain() if nvcc else None, timeout=timeout)


def _case(
    text: str, force: bool, style: Style | None, problems: tuple[Problem, ...], orders: tuple[int, ...]
) -> Case:
    from cutegen.fuzz import Case
    from cutegen.loader import validate

    config: GemmConfig = validate(parse(text, "<config>")).config
    return Case(
        seed=0,
        config=config,
        expectation="refused" if force else "accepted",
        style=style or "resolved",
        problems=problems,
        orders=orders,
    )


def _one(tools: Tools, case: Case, *, as_json: bool) -> int:
    from cutegen.fuzz import NOT_FORCED, Prober
    from cutegen.rules import check

    violations = check(case.config)
    if case.expectation == "refused":
        if not violations:
            raise ConfigError("--force: the rules accept this config; leave --force out")
        for rule in sorted({v.rule for v in violations} & set(NOT_FORCED)):
            warn(f"[{rule}] is taken at its word: {NOT_FORCED[rule]}")
    elif violations:
        raise ConfigError(f"this config cannot work ({len(violations)} violations):", violations)
    failure = Prober(tools)(case)
    code = 0 if failure is None else 1
    if as_json:
        document: dict[str, Any] = {"ok": failure is None, "exit_code": code}
        if failure is not None:
            document.update(error="CheckFailedError", message=failure.message, violations=[])
        print_json({**document, "failures": [failure.to_dict()] if failure else []})
    elif failure is None:
        works = "it does not work, as the rules say" if case.expectation == "refused" else "it works"
        say(good(works))
    else:
        _print(failure)
    return code


def _progress(summary: Summary, failure: Failure | None) -> None:
    """One line on stderr: rewritten on a terminal, else one for each failure."""
    if failure is not None:
        line = failure.message.splitlines()[0]
        say(f"{bad('failed')} seed {failure.case.seed} [{failure.kind}] {line[:160]}", err=True)
    if sys.stderr.isatty():
        text = f"{summary.cases} cases, {len(summary.failures)} failed, {summary.seconds:.0f} s"
        click.echo(f"\r\x1b[K{text}", err=True, nl=False)


def _print(failure: Failure) -> None:
    say(f"\n{bad(failure.kind)} {bold(failure.detail)} {dim(f'seed {failure.case.seed}')}".rstrip())
    for line in failure.message.splitlines():
        say(f"  {line}")
    if failure.found_in is not None:
        say(dim(f"  minimised in {failure.steps} steps"))
    say(f"  {failure.repro}")


def _conclude(summary: Summary) -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    styles = ", ".join(f"{count} {name}" for name, count in sorted(summary.styles.items()))
    failed = len(summary.failures)
    result = bad(f"{failed} failed") if failed else good("none failed")
    say(
        f"{summary.cases} cases ({styles or 'none accepted'}; {summary.forced} refused and forced), "
        f"{summary.on_paper} on paper, {result}; {summary.drawn} configs drawn, {summary.accepted} accepted, "
        f"{summary.refused} refused, {summary.seconds:.0f} s"
    )
