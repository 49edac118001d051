"""How to install what is missing, as a command that works where this copy of cutegen came from."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
from pathlib import Path

__all__ = ["install_command"]

_ROOT = Path(__file__).parents[1]


def install_command(extra: str) -> str:
    """The command that installs an optional part.

    In a checkout it names the checkout with the extra; elsewhere it names the packages of the extra, because
    an installed cutegen does not say where it came from.

    Args:
        extra: Name of the part, for example ``cuda13``.
    """
    if (_ROOT / "pyproject.toml").is_file():
        return shlex.join(["pip", "install", "-e", f"{_ROOT}[{extra}]"])
    return shlex.join(["pip", "install", *_requirements(extra)])


def _requirements(extra: str) -> list[str]:
    try:
        listed = importlib.metadata.requires("cutegen") or []
    except importlib.metadata.PackageNotFoundError:
        listed = []
    marker = re.compile(rf";.*\bextra\s*==\s*['\"]{re.escape(extra)}['\"]")
    found = [text.partition(";")[0].strip() for text in listed if marker.search(text)]
    return found or [f"cutegen[{extra}]"]
