"""The command group: commands imported when used, and one way out for every error."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import Any

import click

from cutegen.cli.exits import EXIT_CODES, exit_code_of

__all__ = ["COMMANDS", "main"]

#: Name and short help of each command, in the order of the help; module ``cutegen.cli.<name>`` has it.
COMMANDS: dict[str, str] = {
    "build": "Compile kernels; print where source, library and header are.",
    "check": "Tell whether configs can work, without a compiler.",
    "render": "Print the CUDA source of a kernel.",
    "explain": "Show a config with every 'auto' filled in, and what follows from it.",
    "advise": "Propose better layouts, copies and stages, with what they cost now and then.",
    "draw": "Draw layouts, copies and the pipeline of a kernel.",
    "report": "Write an interactive page about a kernel, or two side by side.",
    "run": "Build a kernel, run it on random inputs and compare with float64.",
    "bench": "Measure kernels against torch.mm and others on this GPU.",
    "emulate": "Run a CUDA file on the CPU and find its races and wrong accesses.",
    "matrix": "Check and build all combinations of a matrix file.",
    "fuzz": "Try random configs: what the rules accept must work, what they refuse must not.",
    "layout": "Evaluate CuTe's layout algebra and print what CuTe prints.",
    "schema": "Print the JSON Schema of a config file.",
    "rules": "List the rules that a config must keep, with reason and source.",
    "doctor": "Say what was found of compiler, headers and driver, and what is missing.",
    "cache": "Look at and look after the kernel cache.",
}

_EPILOG = "\b\nExit codes:\n" + "\n".join(f"{code:>5}  {text}" for code, text in EXIT_CODES.items())


class _Group(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"cutegen.cli.{cmd_name}").command
        found.epilog = found.epilog or _EPILOG
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            close = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"use one of {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command is called {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; every error becomes a message and an exit code."""
        argv = list(sys.argv[1:] if args is None else args)
        options = argv[: argv.index("--")] if "--" in argv else argv
        code = exit_code_of(
            lambda: super(_Group, self).main(
                argv, prog_name or "cutegen", complete_var, standalone_mode=False, **extra
            ),
            as_json="--json" in options,
        )
        if standalone_mode:
            sys.exit(code)
        return code


@click.group(
    cls=_Group,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="cutegen", message="%(prog)s %(version)s")
def main() -> None:
    """Turn a declarative GEMM config into a CuTe kernel.

    Write ten lines of YAML; be told in plain words before the compiler starts if they cannot work; get a
    readable CUDA source, a library and a C header.
    """
