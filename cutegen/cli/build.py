"""``cutegen build``: compile kernels."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutegen.cli.common import (
    Outcome,
    attempt,
    conclude,
    configs_argument,
    jobs_option,
    json_option,
    nvcc_option,
    planned,
    read_config,
    style_option,
    target_option,
)
from cutegen.cli.console import bold, bytes_text, dim, progress_bar, say, table
from cutegen.errors import CacheError, CutegenError, UnwritableCacheError

if TYPE_CHECKING:
    from cutegen.build import Artifact
    from cutegen.loader import LoadedConfig
    from cutegen.plan import Plan
    from cutegen.render import RenderedKernel, Style

__all__ = ["command"]

#: What a build leaves, by the name of the artifact's field, with the word for it.
_FILES = {
    "source": "source",
    "so": "library",
    "header": "header",
    "cubin": "cubin",
    "ptx": "ptx",
    "log": "log",
}

#: Notes of ptxas on wgmma that it serialises, or to which it adds waits.
_SERIALIZED = re.compile(r"\((C75\d\d)\)")


@dataclass(frozen=True, kw_only=True)
class _Job:
    outcome: Outcome
    loaded: LoadedConfig
    plan: Plan
    rendered: RenderedKernel
    resolved: str


def _directory(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
    if value == "":  # as of -o "$OUT" where OUT is not set
        raise click.BadParameter("must name a directory (got ''); the current one is .", ctx, param)
    return None if value is None else Path(value)


@click.command(name="build")
@configs_argument
@target_option
@style_option
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(file_okay=False),
    callback=_directory,
    help="Copy source, library, header, cubin, PTX and log there.",
)
@click.option("--force", is_flag=True, help="Compile even what is in the cache.")
@jobs_option
@nvcc_option
@json_option
def command(
    configs: tuple[str, ...],
    target: str | None,
    style: Style,
    output: Path | None,
    force: bool,
    jobs: int | None,
    nvcc: str | None,
    as_json: bool,
) -> int:
    """Compile kernels and print where source, library and header are. No GPU is needed.

    Without -o the files stay in the cache; see 'cutegen cache'.
    """
    jobs_todo: list[_Job] = []
    outcomes = [attempt(path, lambda o: jobs_todo.append(_prepare(o, style))) for path in configs]
    if jobs_todo:
        _compile(jobs_todo, target, force, jobs, nvcc, output)
    return conclude(outcomes, as_json=as_json)


def _prepare(outcome: Outcome, style: Style) -> _Job:
    from cutegen.loader import dump
    from cutegen.render import render

    loaded = read_config(outcome.config)
    plan = planned(loaded)
    return _Job(
        outcome=outcome,
        loaded=loaded,
        plan=plan,
        rendered=render(plan, style=style),
        resolved=dump(plan.config),
    )


def _compile(
    todo: list[_Job], target: str | None, force: bool, jobs: int | None, nvcc: str | None, output: Path | None
) -> None:
    from cutegen.cli.compiling import compile_all
    from cutegen.toolchain import find_toolchain

    results: Sequence[Artifact | CutegenError]
    try:
        toolchain = find_toolchain(nvcc)
        with progress_bar(len(todo), "building") as bar:
            results = compile_all(
                [job.rendered for job in todo],
                target=target,
                toolchain=toolchain,
                jobs=jobs,
                force=force,
                evidence=[{"config.yaml": job.resolved} for job in todo],
                progress=bar.update,
                stand_in=output is not None,
            )
    except CutegenError as exc:
        results = [exc] * len(todo)
    built = {result.key: result for result in results if not isinstance(result, CutegenError)}
    for artifact in built.values():
        if artifact.damaged:
            say(
                f"{artifact.name}: built anew, as the cache's entry was damaged: {artifact.damaged}", err=True
            )
    for job, result in zip(todo, results, strict=True):
        try:
            _finish(job, result, output)
        except CutegenError as exc:
            job.outcome.error = exc


def _finish(job: _Job, result: Artifact | CutegenError, output: Path | None) -> None:
    from cutegen.arch import arch
    from cutegen.budget import BudgetError, over_budget
    from cutegen.occupancy import occupancy

    if isinstance(result, UnwritableCacheError) and output is None:
        raise UnwritableCacheError(f"{result}, or give -o DIR to have the files there")
    if isinstance(result, CutegenError):
        raise result
    paths = {name: getattr(result, name) for name in _FILES}
    facts = result.to_dict()
    if output is not None:
        paths = _copy(paths, output)
        facts.update(dir=str(output), command=[*result.command[:-1], str(paths["source"])])
    outcome, used = job.outcome, result.resources
    resident = occupancy(
        arch(job.plan.arch),
        threads=job.plan.threads,
        registers=used.registers,
        smem=used.static_smem + used.dynamic_smem,
    )
    slowed = _slowed(result)
    outcome.result = {
        **facts,
        **{name: str(path) for name, path in paths.items()},
        "style": job.rendered.style,
        "arch": job.rendered.arch,
        "occupancy": resident.to_dict(),
        "slowed": slowed,
    }
    how = "from the cache" if result.cached else f"compiled in {result.seconds:.1f} s"
    spills = used.spill_stores + used.spill_loads
    rows = [
        ["kernel", result.name],
        ["target", f"{result.target}, {how}"],
        ["registers", f"{used.registers}, {f'{spills} B of spills' if spills else 'no spills'}"],
        *(
            [["local memory", f"{used.stack} B a thread, in which arrays lie"]]
            if used.stack and not spills
            else []
        ),
        *([["products", f"wgmma is slowed: ptxas says {slowed}, see the log"]] if slowed else []),
        ["smem", bytes_text(used.static_smem + used.dynamic_smem)],
        ["CTAs per SM", f"{resident.ctas}, limited by {' and '.join(resident.limited_by)}"],
        *([word, str(paths[name])] for name, word in _FILES.items()),
    ]
    outcome.lines = [bold(outcome.config), *table([[dim(name), value] for name, value in rows])]
    excess = over_budget(job.plan, used)
    if excess:
        located = tuple(job.loaded.located(v) for v in excess)
        raise BudgetError(f"{outcome.config}: the kernel is over budget:", located)


def _slowed(artifact: Artifact) -> str | None:
    """The number of ptxas's note on wgmma that it runs one at a time or had to mend; None without one."""
    found = _SERIALIZED.search(artifact.log.read_text(encoding="utf-8", errors="replace"))
    return found[1] if found else None


def _copy(paths: dict[str, Path], directory: Path) -> dict[str, Path]:
    """Copy a kernel's files; each appears whole, in place of one that may be in use."""
    name = paths["source"].stem
    copies = {}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for what, path in paths.items():
            copies[what] = directory / (f"{name}.log" if what == "log" else path.name)
            partial = directory / f".{what}.{secrets.token_hex(4)}.tmp"
            try:
                shutil.copyfile(path, partial)
                partial.replace(copies[what])
            finally:
                partial.unlink(missing_ok=True)
    except OSError as exc:
        raise CacheError(
            f"-o: {directory} cannot be written: {exc.strerror or exc}; name another directory"
        ) from None
    return copies
