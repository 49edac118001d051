"""The stored renderings of the examples: reviewed text, sealed, and what the templates give today."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutegen
from cutegen.seal import is_intact, seal

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("", "hopper", "collective", "vllm")
EXAMPLES = sorted(
    p for folder in FOLDERS for p in (ROOT / "examples" / folder).glob("*.yaml") if "matrix" not in p.stem
)
STORED = sorted(p for folder in FOLDERS for p in (ROOT / "generated" / folder).glob("*.cu"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_the_stored_rendering_is_what_the_example_renders_to(example: Path, update_goldens: bool) -> None:
    stored = (ROOT / "generated" / example.relative_to(ROOT / "examples")).with_suffix(".cu")
    text = seal(cutegen.render(cutegen.plan(cutegen.load(example))).text)
    if update_goldens:
        stored.write_text(text, encoding="utf-8")
    assert stored.exists(), "run pytest tests/golden --update-goldens and review the new file"
    assert stored.read_text(encoding="utf-8") == text, "review the change, then run with --update-goldens"


def test_nothing_else_is_stored() -> None:
    stored = {p.relative_to(ROOT / "generated").with_suffix("") for p in STORED}
    assert stored == {p.relative_to(ROOT / "examples").with_suffix("") for p in EXAMPLES}


@pytest.mark.parametrize("stored", STORED, ids=lambda p: p.stem)
def test_the_seal_is_intact(stored: Path) -> None:
    assert is_intact(stored.read_text(encoding="utf-8")), f"{stored.name} was edited by hand"


def test_an_edit_breaks_the_seal() -> None:
    sealed = seal("int x = 1;\n")
    assert is_intact(sealed)
    assert not is_intact(sealed.replace("1;", "2;"))
    assert not is_intact("int x = 1;\n")
