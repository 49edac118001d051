"""Pages of ``cutegen report`` in one browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import Browser, Tab, find_browser
from tests.support.cli import invoke

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(find_browser() or "", tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="package")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Addresses of pages, by what is on them."""
    directory = tmp_path_factory.mktemp("page with spaces & 'signs'")
    found = {}
    for name, configs in (
        ("ampere", ["ampere_bf16"]),
        ("hopper", ["hopper/cooperative"]),
        ("f64", ["sm80_f64"]),
        ("direct", ["simple"]),
        ("two", ["ampere_bf16", "sm80_f32"]),
        ("collective", ["collective/pingpong"]),
    ):
        path = directory / f"{name}.html"
        done = invoke("report", *(str(EXAMPLES / f"{one}.yaml") for one in configs), "-o", str(path))
        assert done.exit_code == 0, done.output
        found[name] = path.as_uri()
    return found


@pytest.fixture
def tab(browser: Browser, pages: dict[str, str]) -> Iterator[Tab]:
    """The page of the first example; at its end nothing was complained of."""
    found = browser.open(pages["ampere"])
    yield found
    assert found.complaints == []
