"""Config files that several tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import GOOD


@pytest.fixture
def good(tmp_path: Path) -> str:
    """The path of a legal config."""
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    return str(path)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    """The path of a config that does not fit the schema, in lines 4 and 5."""
    path = tmp_path / "bad.yaml"
    path.write_text(GOOD.replace("stages: 3", "stages: x\ntiel: 3"))
    return str(path)


@pytest.fixture
def illegal(tmp_path: Path) -> str:
    """The path of a config that breaks a rule, in line 4."""
    path = tmp_path / "illegal.yaml"
    path.write_text(GOOD.replace("stages: 3", "stages: 9999"))
    return str(path)
