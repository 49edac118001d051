"""What the templates promise: one strict context, no tag inside a function, no leftovers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import meta

import cutegen
from cutegen.render import context, environment, template_root

ROOT = Path(__file__).parent.parent.parent
PARTS = sorted(template_root().rglob("*.cu"))
STYLES = ("resolved", "idiomatic")


def _undeclared(name: str, seen: set[str]) -> set[str]:
    environment_ = environment()
    source, _, _ = environment_.loader.get_source(environment_, name)  # type: ignore[union-attr]
    tree = environment_.parse(source)
    found = set(meta.find_undeclared_variables(tree))
    for other in meta.find_referenced_templates(tree):
        if other and other not in seen:
            seen.add(other)
            found |= _undeclared(other, seen)
    return found


@pytest.mark.parametrize("style", STYLES)
def test_a_style_uses_exactly_the_variables_of_its_context(style: str) -> None:
    plan = cutegen.plan(cutegen.load(ROOT / "examples/multistage.yaml"))
    given = set(context(plan, style))  # type: ignore[arg-type]
    used = _undeclared(f"{style}.cu", set())
    assert used <= given
    both = _undeclared("resolved.cu", set()) | _undeclared("idiomatic.cu", set())
    assert given <= both


@pytest.mark.parametrize("part", PARTS, ids=lambda p: p.stem)
def test_no_tag_stands_inside_a_function_body(part: Path) -> None:
    for line in part.read_text().splitlines():
        if "//{%" in line:
            assert line.startswith("//{%"), f"an indented tag in {part.name}: {line}"


@pytest.mark.parametrize("part", PARTS, ids=lambda p: p.stem)
def test_ifs_nest_at_most_two_levels(part: Path) -> None:
    depth = deepest = 0
    for tag in re.findall(r"//\{%\s*(\w+)", part.read_text()):
        depth += {"if": 1, "endif": -1}.get(tag, 0)
        deepest = max(deepest, depth)
    assert depth == 0
    assert deepest <= 2


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda p: p.stem)
@pytest.mark.parametrize("style", STYLES)
def test_a_rendering_has_no_leftovers(example: Path, style: str) -> None:
    if "matrix" in example.stem:
        pytest.skip("a matrix file is no single config")
    text = cutegen.render(cutegen.plan(cutegen.load(example)), style=style).text  # type: ignore[arg-type]
    assert "{{" not in text
    assert "//{" not in text
    assert "None" not in text
    assert not re.search(r"\b(True|False)\b", text)
    assert text.endswith("}\n")
    assert not re.search(r"[ \t]+$", text, re.MULTILINE)
    assert "\n\n\n" not in text


def test_equal_configs_render_equal_bytes() -> None:
    path = ROOT / "examples/ampere_bf16.yaml"
    one, two = cutegen.load(path), cutegen.loads(path.read_text())
    assert cutegen.render(cutegen.plan(one)).text == cutegen.render(cutegen.plan(two)).text
    spelled_out = cutegen.resolve(one)
    assert cutegen.render(cutegen.plan(spelled_out)).text == cutegen.render(cutegen.plan(one)).text
