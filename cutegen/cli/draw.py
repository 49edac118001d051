"""``cutegen draw``: pictures of layouts, copies and the pipeline of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.common import OutputPath, config_argument, json_option, planned, read_config
from cutegen.cli.console import print_json, say, size_text
from cutegen.cli.output import emit
from cutegen.errors import ConfigError

if TYPE_CHECKING:
    from cutegen.plan import Plan

__all__ = ["WHATS", "command"]

# The pictures of cutegen.pictures, whose import would slow the start; a test compares them.
WHATS = ("smem-a", "smem-b", "tv-a", "tv-b", "tv-c", "g2s-a", "g2s-b", "s2r-a", "s2r-b", "mma", "pipeline")


@click.command(name="draw")
@config_argument
@click.option(
    "--what",
    "whats",
    type=click.Choice((*WHATS, "all")),
    multiple=True,
    default=("all",),
    help="The picture; may be given several times.  [default: all that the kernel has]",
)
@click.option(
    "-o",
    "--output",
    type=OutputPath(),
    metavar="FILE",
    help="File to write, by its end SVG, PNG, PDF or LaTeX (.svg, .png, .pdf, .tex); with several pictures "
    "each gets its name before the end.  [default: one picture as SVG to stdout]",
)
@json_option
def command(config: str, whats: tuple[str, ...], output: Path | None, as_json: bool) -> None:
    """Draw a kernel: shared memory by banks, thread-value layouts, copies, the MMA operation, the pipeline.

    Neither a compiler nor a GPU is needed; PNG and PDF need the extra 'draw'.
    """
    from cutegen.pictures import suffix_of

    suffix = suffix_of(output) if output is not None else ".svg"
    label = "stdin" if config == "-" else Path(config).name
    plan = planned(read_config(config))
    names = _names(plan, whats)
    if output is None and len(names) > 1 and not as_json:
        raise ConfigError(
            f"-o must name a file for {len(names)} pictures (got none); write -o gemm.svg, or --what with "
            f"one of {', '.join(names)}"
        )
    documents = [_draw(plan, name, label, suffix, _path(output, name, len(names))) for name in names]
    if as_json:
        print_json({"ok": True, "config": config, "name": plan.name, "pictures": documents})
    elif output is None:
        emit(documents[0]["text"], nl=False)
    else:
        for found in documents:
            say(f"wrote {found['path']} ({size_text(found['bytes'])})", err=True)


def _names(plan: Plan, whats: tuple[str, ...]) -> list[str]:
    """The pictures that are asked for; ``all`` are those that the kernel has."""
    from cutegen.pictures import pictures_of

    there = pictures_of(plan)
    return list(dict.fromkeys(name for what in whats for name in (there if what == "all" else (what,))))


def _path(output: Path | None, name: str, count: int) -> Path | None:
    if output is None or count == 1:
        return output
    return output.with_name(f"{output.stem}-{name}{output.suffix}")


def _draw(plan: Plan, name: str, label: str, suffix: str, path: Path | None) -> dict[str, Any]:
    """Draw and write one picture; JSON-ready facts on it."""
    from cutegen.pictures import draw, picture_bytes

    picture = draw(plan, name, label=label)
    content = picture_bytes(picture, suffix)
    if path is not None:
        try:
            path.write_bytes(content)
        except OSError as exc:
            raise ConfigError(f"-o: {path} cannot be written: {exc.strerror}; name another file") from None
    text = content.decode() if path is None else None
    return {"what": name, "title": picture.title, "path": path, "bytes": len(content), "text": text}
