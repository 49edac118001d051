"""``cutegen run`` and ``--target native`` on a real GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cutegen.cli.group import main

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    "options",
    [[], ["--m", "0"], ["--m", "136", "--n", "72", "--k", "1000", "--beta", "0.5"], ["--alpha", "0.3"]],
    ids=["default", "empty", "odd", "inexact"],
)
def test_run(options: list[str]) -> None:
    config = str(EXAMPLES / "ampere_bf16.yaml")
    found = CliRunner().invoke(main, ["run", config, *options, "--target", "native", "--json"])
    document = json.loads(found.stdout)
    assert document["ok"], document
    assert document["exact"] == ("0.3" not in options)
    assert document["loaded"] in ("cubin", "ptx", None)


def test_doctor_names_the_gpu() -> None:
    found = CliRunner().invoke(main, ["doctor", "--json"])
    assert json.loads(found.stdout)["gpus"]
