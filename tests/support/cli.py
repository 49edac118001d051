"""Run the command line in this process."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from cutegen.cli.group import main

GOOD = "arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\nstages: 3\n"
"""A small legal config; its fourth line is free for mistakes."""


def invoke(*args: str, stdin: str | None = None) -> Result:
    """What a command line does."""
    return CliRunner().invoke(main, args, input=stdin)


def document(*args: str) -> dict[str, Any]:
    """The one JSON document that a command prints on stdout."""
    found = invoke(*args)
    parsed = json.loads(found.stdout)
    assert parsed.get("exit_code", found.exit_code) == found.exit_code
    return dict(parsed)
