"""``cutegen build``: compile kernels."""

from __future__ import annotations

import shutil
import time
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
from cutegen.cli.console import bold, bytes_text, dim, progress_bar, table
from cutegen.errors import CacheError, CutegenError

if TYPE_CHECKING:
    from cutegen.build import Artifact
    from cutegen.loader import LoadedConfig
    from cutegen.render import RenderedKernel, Style

__all__ = ["command"]


@dataclass(frozen=True, kw_only=True)
class _Job:
    outcome: Outcome
    loaded: LoadedConfig
    rendered: RenderedKernel
    resolved: str


@click.command(name="build")
@configs_argument
@target_option
@style_option
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
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
    """Compile kernels and print where source, library and header are. No GPU is needed."""
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
        rendered=render(plan, style=style),
        resolved=dump(plan.config),
    )


def _compile(
    todo: list[_Job], target: str | None, force: bool, jobs: int | None, nvcc: str | None, output: Path | None
) -> None:
    from cutegen.cli.compiling import compile_all
    from cutegen.toolchain import find_toolchain

    toolchain = find_toolchain(nvcc)
    started = time.perf_counter()
    with progress_bar(len(todo), "building") as bar:
        results = compile_all(
            [job.rendered for job in todo],
            target=target,
            toolchain=toolchain,
            jobs=jobs,
            force=force,
            evidence=[{"config.yaml": job.resolved} for job in todo],
            progress=bar.update,
        )
    seconds = time.perf_counter() - started
    for job, result in zip(todo, results, strict=True):
        try:
            _finish(job, result, seconds, alone=len(todo) == 1, output=output)
        except CutegenError as exc:
            job.outcome.error = exc


def _finish(
    job: _Job, result: Artifact | CutegenError, seconds: float, *, alone: bool, output: Path | None
) -> None:
    from cutegen.budget import BudgetError, over_budget

    if isinstance(result, CutegenError):
        raise result
    paths = _paths(result)
    if output is not None:
        paths = _copy(paths, output)
    outcome, used = job.outcome, result.resources
    outcome.result = {
        **result.to_dict(),
        **{name: str(path) for name, path in paths.items()},
        "style": job.rendered.style,
        "arch": job.rendered.arch,
        "seconds": round(seconds, 3) if alone else None,
    }
    how = "from the cache" if result.cached else "compiled"
    took = f" in {seconds:.1f} s" if alone else ""
    spills = used.spill_stores + used.spill_loads
    rows = [
        ["kernel", result.name],
        ["target", f"{result.target}, {how}{took}"],
        ["registers", f"{used.registers}, {f'{spills} B of spills' if spills else 'no spills'}"],
        ["smem", bytes_text(used.static_smem + used.dynamic_smem)],
        ["source", str(paths["source"])],
        ["library", str(paths["so"])],
        ["header", str(paths["header"])],
    ]
    outcome.lines = [bold(outcome.config), *table([[dim(name), value] for name, value in rows])]
    excess = over_budget(job.loaded.config.limits, used)
    if excess:
        located = tuple(job.loaded.located(v) for v in excess)
        raise BudgetError(f"{outcome.config}: the kernel is over budget:", located)


def _paths(artifact: Artifact) -> dict[str, Path]:
    return {name: getattr(artifact, name) for name in ("source", "so", "header", "cubin", "ptx", "log")}


def _copy(paths: dict[str, Path], directory: Path) -> dict[str, Path]:
    name = paths["source"].stem
    copies = {}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for what, path in paths.items():
            copies[what] = directory / (f"{name}.log" if what == "log" else path.name)
            shutil.copyfile(path, copies[what])
    except OSError as exc:
        raise CacheError(
            f"-o: {directory} cannot be written: {exc.strerror}; name another directory"
        ) from None
    return copies
