"""Run the command line in a process of its own, as a shell does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def start(
    *args: str, env: dict[str, str] | None = None, prefix: Sequence[str] = (), **options: Any
) -> subprocess.Popen[str]:
    """Start a command, perhaps under another; stdout and stderr are pipes unless ``options`` differ."""
    streams: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "cutegen", *args],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
        text=True,
        **{**streams, **options},
    )


def finish(process: subprocess.Popen[str], timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Wait for a command and return all that it wrote."""
    out, err = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(process.args, process.returncode, out or "", err or "")


def run(*args: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return finish(start(*args, **options))
