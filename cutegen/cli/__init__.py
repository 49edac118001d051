"""The ``cutegen`` command: thin subcommands over the library, one file each."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None, prog_name: str = "cutegen") -> None:
    """Run the command line and end the process with its exit code.

    Args:
        args: The words after the program's name; those of this process when left out.
        prog_name: What the help calls the program.
    """
    try:
        from cutegen.cli.group import main as group
    except KeyboardInterrupt:  # Ctrl-C before there is anything to stop
        sys.exit(130)
    group.main(args, prog_name)
