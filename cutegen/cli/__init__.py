"""The ``cutegen`` command: thin subcommands over the library, one file each."""

from __future__ import annotations

from cutegen.cli.group import main

__all__ = ["main"]
