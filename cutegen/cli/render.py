"""``cutegen render``: the CUDA source of a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cutegen.cli.common import OutputPath, config_argument, json_option, planned, read_config, style_option
from cutegen.cli.console import print_json, say
from cutegen.cli.output import emit
from cutegen.errors import ConfigError

if TYPE_CHECKING:
    from cutegen.render import Style

__all__ = ["command"]


@click.command(name="render")
@config_argument
@style_option
@click.option("-o", "--output", type=OutputPath(), help="File to write instead of stdout.")
@json_option
def command(config: str, style: Style, output: Path | None, as_json: bool) -> None:
    """Print the complete CUDA source of a kernel. Neither a compiler nor a GPU is needed."""
    from dataclasses import asdict

    from cutegen.render import render

    rendered = render(planned(read_config(config)), style=style)
    if output is not None:
        try:
            output.write_text(rendered.text, encoding="utf-8")
        except OSError as exc:
            raise ConfigError(f"-o: {output} cannot be written: {exc.strerror}; name another file") from None
    if as_json:
        print_json({"ok": True, "config": config, "output": output, **asdict(rendered)})
    elif output is None:
        emit(rendered.text, nl=False)
    else:
        say(f"wrote {output}", err=True)
