"""The JSON documents have the fields that docs/cli.md lists, and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.build_fakes import Fakes, make_fakes
from tests.support.cli import document

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
OUTER = {"ok", "exit_code", "notices"}
INNER = {"ok", "exit_code", "config"}


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path / "fakes", monkeypatch)


def listed(name: str) -> dict[str, set[str]]:
    """The fields that the page lists for a document, and those of the elements of its lists."""
    (row,) = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", PAGE.read_text(), flags=re.MULTILINE)
    found: dict[str, set[str]] = {"": set()}
    for part in row.split(";"):
        head, colon, tail = part.partition(":")
        names = re.findall(r"`(\w+)`", head)
        found[""] |= set(names)
        if colon:
            found[names[-1]] = set(re.findall(r"`(\w+)`", tail))
    return found


def check(found: dict[str, Any], name: str, besides: set[str]) -> None:
    fields = listed(name)
    assert set(found) == fields.pop("") | besides
    for inner, names in fields.items():
        for element in found[inner]:
            assert set(element) == names


def test_documents_of_configs(fakes: Fakes, good: str, tmp_path: Path) -> None:
    for name in ("check", "build", "explain", "advise"):
        found = document(name, good, "--json")
        assert set(found) == OUTER | {"configs"}
        check(found["configs"][0], f"`{name}`, each config", INNER)
    matrix = tmp_path / "m.yaml"
    matrix.write_text(Path(good).read_text() + "matrix:\n  min_blocks: [1, 2]\n")
    check(document("check", str(matrix), "--json")["configs"][0], "`check`, a matrix file", INNER)
    check(document("render", good, "--json"), "`render`", OUTER)
    other = tmp_path / "other.yaml"
    other.write_text(Path(good).read_text().replace("bf16", "f16"))
    check(document("draw", good, "--what", "mma", "--json"), "`draw`", OUTER)
    check(document("report", good, str(other), "--json"), "`report`", OUTER)


def test_documents_of_the_machine(fakes: Fakes, tmp_path: Path) -> None:
    archive = str(tmp_path / "a.tar")
    for args, name in (
        (["rules"], "`rules`"),
        (["layout", "(_8,_4):(_4,_1)"], "`layout`"),
        (["doctor"], "`doctor`"),
        (["cache", "ls"], "`cache ls`"),
        (["cache", "info"], "`cache info`"),
        (["cache", "prune"], "`cache prune`, `clear`"),
        (["cache", "clear", "--yes"], "`cache prune`, `clear`"),
        (["cache", "export", archive], "`cache export`, `import`"),
        (["cache", "import", archive], "`cache export`, `import`"),
    ):
        check(document(*args, "--json"), name, OUTER)


def test_documents_of_failures(fakes: Fakes, good: str, bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = document("check", bad, "--json")
    assert set(found) == OUTER | {"error", "message", "violations", "configs"}
    assert set(found["configs"][0]) == INNER | {"error", "message", "violations"}
    places = {"position", "file", "line", "column"}
    assert all(set(v) == {"rule", "field", "got", "need", "fix"} | places for v in found["violations"])
    monkeypatch.setenv("FAKE_NVCC_MODE", "fail")
    failed = document("build", good, "--json")["configs"][0]
    assert set(failed) == INNER | {"error", "message", "violations", "source", "command", "log"}
    assert 'identifier "oops" is undefined' in failed["log"]
