"""``cutegen bench``: measure kernels against others on this GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.common import jobs_option, json_option, nvcc_option, style_option
from cutegen.cli.console import bold, dim, good, print_json, progress_bar, say, table, warn
from cutegen.cli.gpu import require_gpu
from cutegen.errors import ConfigError, CutegenError, LaunchError

if TYPE_CHECKING:
    from cutegen.bench.contestants import Contestant
    from cutegen.bench.results import Results, Row
    from cutegen.bench.shapes import Shape
    from cutegen.bench.timing import StateName
    from cutegen.render import Style

__all__ = ["command"]

# The choices of contestants.PEERS and timing.STATES, whose import would slow the start; a test compares them.
PEERS = ("torch", "triton", "cutlass", "read")
STATES = ("cool", "hot", "chain")


def _some_of(words: Sequence[str]) -> Callable[[click.Context, click.Parameter, str], tuple[str, ...]]:
    """A callback for an option that takes some of certain words, with commas between them."""

    def convert(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
        found = tuple(dict.fromkeys(word.strip() for word in value.split(",") if word.strip()))
        for word in found:
            if word not in words:
                known = ", ".join(words)
                raise click.BadParameter(
                    f"must be some of {known}, with commas between (got {word!r})", ctx, param
                )
        return found

    return convert


@click.command(name="bench")
@click.argument("configs", type=click.Path(), nargs=-1, required=True, metavar="CONFIG...")
@click.option(
    "--shapes", required=True, metavar="FILE|MxNxK,...", help="The problems: a YAML file, or a list of them."
)
@click.option(
    "--vs",
    callback=_some_of(PEERS),
    default="torch",
    show_default=True,
    metavar="LIST",
    help="The peers. torch: torch.mm, that is cuBLAS; triton: a plain kernel, autotuned; cutlass: 16 kernels "
    "of CollectiveBuilder, which take minutes to build; read: a kernel that only reads B. '' for none.",
)
@click.option(
    "--state",
    "states",
    callback=_some_of(STATES),
    default="cool,hot",
    show_default=True,
    metavar="LIST",
    help="How the GPU is before each launch. cool: rested; hot: busy; chain: 16 launches in a row over "
    "weights that are not in the L2 cache, for a small M.",
)
@click.option(
    "--rounds", type=click.IntRange(min=1), default=15, show_default=True, help="Samples of each, in turn."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of inputs and order.")
@click.option(
    "--csv", "csv_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all rows there."
)
@click.option(
    "--plot",
    "plot_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the ratios there, as SVG.",
)
@style_option
@jobs_option
@nvcc_option
@json_option
def command(
    configs: tuple[str, ...],
    shapes: str,
    vs: tuple[str, ...],
    states: tuple[StateName, ...],
    rounds: int,
    seed: int,
    csv_file: Path | None,
    plot_file: Path | None,
    style: Style,
    jobs: int | None,
    nvcc: str | None,
    as_json: bool,
) -> int:
    """Measure kernels against torch.mm and others on this GPU. A CONFIG may be a matrix file.

    Everyone is first run on small integers and compared with float64. Then each round takes one sample of
    each, in a random order, on the GPU's clock. Printed are medians, the share of the least time possible,
    and the ratio to torch.mm in the same run. Ratios carry over to other days; times do not.
    """
    from cutegen.bench.shapes import read_shapes

    if not states:
        raise click.UsageError(f"--state must be some of {', '.join(STATES)} (got nothing)")
    problems = read_shapes(shapes)
    cases = _cases(configs)
    require_gpu("bench")
    for path in (csv_file, plot_file):
        _require_writable(path)
    contestants, notes = _contestants(cases, vs, style, jobs, nvcc)
    results = _measure(contestants, problems, states, rounds, seed, quiet=as_json)
    for note in (*notes, *results.notes):
        warn(note)
    _write(results, csv_file, plot_file)
    if as_json:
        print_json({"ok": True, "seed": seed, "rounds": rounds, **results.to_dict()})
        return 0
    _print_end(results)
    return 0


def _cases(configs: Sequence[str]) -> list[tuple[str, Any]]:
    """The names and plans of the kernels; all mistakes are told at once.

    Raises:
        ConfigError: A config cannot work, or there is none.
    """
    from cutegen.cli.common import planned
    from cutegen.matrix import load_files

    matrix = load_files(configs)
    found, faults = [], []
    for case in matrix.cases:
        try:
            found.append((case.short, planned(case.loaded)))
        except ConfigError as error:
            if case.illegal != "skip":
                faults.append(error)
    if faults:
        raise ConfigError("\n".join(e.message for e in faults), [v for e in faults for v in e.violations])
    if not found:
        raise ConfigError(f"{' '.join(configs)}: must have a case that can work (got none)")
    return found


def _contestants(
    cases: Sequence[tuple[str, Any]], vs: Sequence[str], style: Style, jobs: int | None, nvcc: str | None
) -> tuple[list[Contestant], list[str]]:
    from cutegen.bench.contestants import own, peers, unique_names
    from cutegen.building import try_build_many
    from cutegen.toolchain import find_toolchain

    toolchain = find_toolchain(nvcc)
    with progress_bar(len(cases), "building") as bar:
        built = try_build_many(
            [plan.config for _, plan in cases],
            jobs,
            lambda done, total, _: bar.update(done, total),
            style=style,
            toolchain=toolchain,
        )
    kernels = []
    for (name, _), kernel in zip(cases, built, strict=True):
        if isinstance(kernel, CutegenError):
            raise kernel
        kernels.append((name, kernel))
    names = unique_names([name for name, _ in kernels])
    mine = [own(name, kernel) for name, (_, kernel) in zip(names, kernels, strict=True)]
    with progress_bar(1, "building peers") as bar:
        others, notes = peers(
            vs, mine, toolchain=toolchain, jobs=jobs, progress=lambda done, total, _: bar.update(done, total)
        )
    return [*others, *mine], notes


def _measure(
    contestants: Sequence[Contestant],
    shapes: Sequence[Shape],
    states: Sequence[StateName],
    rounds: int,
    seed: int,
    *,
    quiet: bool,
) -> Results:
    import torch

    from cutegen.bench.gpu import TorchDevice
    from cutegen.bench.session import run_session

    with progress_bar(1, "measuring") as bar:

        def tell(rows: Sequence[Row]) -> None:
            bar.clear()
            if not quiet:
                _print_rows(rows)

        try:
            return run_session(
                contestants,
                shapes,
                TorchDevice(),
                states=states,
                rounds=rounds,
                seed=seed,
                progress=bar.update,
                on_shape=tell,
            )
        except torch.cuda.OutOfMemoryError as exc:
            reason = str(exc).split(". ")[0]
            raise LaunchError(f"the GPU has too little memory for the shapes: {reason}") from None
        except RuntimeError as exc:
            if "CUDA error" not in str(exc):
                raise
            raise LaunchError(f"a kernel failed on the GPU: {str(exc).splitlines()[0]}") from None


def _print_rows(rows: Sequence[Row]) -> None:
    """The rows of one shape in one state, the quickest first."""
    from cutegen.bench.report import HEAD, row_cells

    if not rows:
        return
    best = min((row for row in rows if row.own), key=lambda row: row.us, default=None)
    say(f"{bold(str(rows[0].shape))}  {rows[0].state}")
    lines = [["", *(dim(column) for column in HEAD)]]
    for row in sorted(rows, key=lambda row: row.us):
        name, *cells = row_cells(row)
        lines.append([good(name) if row is best else name, *cells])
    for line in table(lines, right=range(1, len(HEAD) + 1)):
        say(line)


def _print_end(results: Results) -> None:
    """The best of each shape, and what the figures mean."""
    from cutegen.bench.report import facts_lines, summary_rows

    say()
    head = [dim(word) for word in ("shape", "state", "best kernel", "us", "TFLOP/s", "vs torch.mm")]
    for line in table([head, *summary_rows(results)], indent=0, right=(3, 4, 5)):
        say(line)
    say()
    for fact in facts_lines(results):
        say(dim(fact))


def _require_writable(path: Path | None) -> None:
    """Fail before measuring, not after it."""
    if path is not None:
        try:
            path.touch()
        except OSError as exc:
            raise ConfigError(f"{path} cannot be written: {exc.strerror}; name another file") from None


def _write(results: Results, csv_file: Path | None, plot_file: Path | None) -> None:
    from cutegen.bench.plot import plot
    from cutegen.bench.report import csv_text

    for path, text in ((csv_file, csv_text(results.rows)), (plot_file, plot(results))):
        if path is not None:
            try:
                path.write_text(text, encoding="utf-8")
            except OSError as exc:
                raise ConfigError(f"{path} cannot be written: {exc.strerror}; name another file") from None
