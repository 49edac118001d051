"""Warnings on the command line: as documents and as lines, with their place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cutegen.cli.console import caution, dim, table

if TYPE_CHECKING:
    from cutegen.lint import LintWarning
    from cutegen.loader import LoadedConfig
    from cutegen.plan import Plan

__all__ = ["access_lines", "case_warnings", "warning_lines", "warnings_of"]

_MOST_NAMED = 3  # cases of a matrix that a line names


def warnings_of(loaded: LoadedConfig) -> list[dict[str, Any]]:
    """The warnings of a config that breaks no rule, JSON-ready, each with its position."""
    from cutegen.lint import lint

    return [_document(loaded, warning) for warning in lint(loaded.config)]


def case_warnings(cases: Iterable[tuple[str, LoadedConfig]]) -> list[dict[str, Any]]:
    """The warnings of the cases of a matrix; one that several cases have is listed once, with their ids."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for case, loaded in cases:
        for document in warnings_of(loaded):
            found.setdefault(tuple(document.values()), {**document, "cases": []})["cases"].append(case)
    return list(found.values())


def access_lines(plan: Plan) -> Iterator[str]:
    """What each access costs one CTA, as comments: cost, ideal cost, and how many times that it is."""
    from cutegen.lint import accesses

    rows = []
    for a in accesses(plan):
        where = "shared" if a.space == "shared" else "global"
        cost = f"{a.cost} {a.unit} a {a.per}, ideal {a.ideal}: {a.degree:.2f}x"
        rows.append([a.name, f"{where}, {a.op} of {a.bytes} B", cost])
    yield dim("#")
    for line in table(rows, indent=1):
        yield dim(f"#{line}")


def _document(loaded: LoadedConfig, warning: LintWarning) -> dict[str, Any]:
    position = loaded.locate(warning.field)
    file, line, column = position.rsplit(":", 2)
    place = {"position": position, "file": file, "line": int(line), "column": int(column)}
    return {**warning.to_dict(), **place}


def warning_lines(documents: Sequence[dict[str, Any]]) -> list[str]:
    """Warnings for people: what, and in a line of its own the way out."""
    lines = []
    for w in documents:
        cases = w.get("cases", ())
        where = ""
        if cases:
            more = f" and {len(cases) - _MOST_NAMED} more" if len(cases) > _MOST_NAMED else ""
            where = f" in {', '.join(cases[:_MOST_NAMED])}{more}"
        head = caution("warning:")
        lines.append(f"  {head} {w['position']}: {w['field']}: {w['message']} (got {w['got']}){where}")
        lines.append(f"    {w['fix']} [{w['id']}]")
    return lines
