"""``docs/config.md`` says what the code says; ``--update-goldens`` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pydantic

from cutegen.config import GemmConfig
from cutegen.dtypes import ALIASES
from cutegen.schema_errors import annotation_at, describe
from cutegen.settings import VARIABLES

PAGE = Path(__file__).parents[2] / "docs" / "config.md"

HEAD = """\
# The config

<!-- Written by `python -m pytest tests/unit/test_docs.py --update-goldens`; edit the descriptions in
cutegen/config.py and cutegen/settings.py instead. -->

A config is a YAML mapping. `arch`, `a.dtype` and `b.dtype` are needed; every other field may be left out, be
empty or be `auto`, and then gets a good value: `cutegen explain` shows which. YAML is read as version 1.2 has
it: only `true` and `false` are booleans, so that `major: n` is what it looks like. Anchors and merges work.
From Python, `cutegen.GemmConfig(arch="sm_80", ...)` has the same fields.
"""


def model_in(annotation: Any) -> type[pydantic.BaseModel] | None:
    """The model of a field that is a mapping, and nothing else."""
    options = [a for a in get_args(annotation) if a is not type(None)] or [annotation]
    if len(options) == 1 and isinstance(options[0], type) and issubclass(options[0], pydantic.BaseModel):
        return options[0]
    return None


def rows(model: type[pydantic.BaseModel], path: tuple[str, ...]) -> Iterator[str]:
    for name, info in model.model_fields.items():
        inner = (*path, name)
        annotation = annotation_at(inner)
        child = model_in(annotation)
        text = info.description or ((child.__doc__ or "").splitlines()[0] if child else "")
        kinds = describe(annotation).replace("one of ", "")
        text = (text or f"Only {kinds}.").replace("<", "&lt;")
        needed = "yes" if info.is_required() else ""
        kind = "a mapping" if child else kinds
        yield f"| `{'.'.join(inner)}` | {kind} | {needed} | {text} |"
        if child is not None:
            yield from rows(child, inner)


def page() -> str:
    aliases: dict[str, list[str]] = {}
    for alias, name in ALIASES.items():
        aliases.setdefault(name, []).append(alias)
    return "\n".join(
        [
            HEAD,
            "## Fields",
            "",
            "| field | value | needed | meaning |",
            "| --- | --- | --- | --- |",
            *rows(GemmConfig, ()),
            "",
            "Other names of types: "
            + "; ".join(f"`{name}`: {', '.join(f'`{a}`' for a in known)}" for name, known in aliases.items())
            + ".",
            "",
            "## Environment variables",
            "",
            "| variable | meaning | default |",
            "| --- | --- | --- |",
            *(f"| `{v.name}` | {v.meaning} | {v.default} |" for v in VARIABLES.values()),
            "",
        ]
    )


def test_config_page_is_up_to_date(update_goldens: bool) -> None:
    if update_goldens:
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "run this test with --update-goldens"
