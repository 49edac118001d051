"""Where ``-o`` leads: a file, or standard output."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import invoke

SIMPLE = str(Path(__file__).parents[2] / "examples" / "simple.yaml")


@pytest.mark.parametrize("command", [("render",), ("draw", "--what", "mma"), ("report",)], ids=lambda c: c[0])
def test_a_dash_is_standard_output(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    named, dashed = invoke(*command, SIMPLE), invoke(*command, SIMPLE, "-o", "-")
    assert named.exit_code == dashed.exit_code == 0
    assert dashed.stdout == named.stdout
    assert not list(tmp_path.iterdir())


def test_proposals_go_into_a_file_with_a_name() -> None:
    assert invoke("advise", SIMPLE, "-o", "-").exit_code == 2
