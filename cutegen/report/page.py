"""The page itself: tables, source and data of one config or two, put into the template."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from cutegen.lint import Access
from cutegen.pictures.words import subtitle
from cutegen.render import template_root
from cutegen.report.picture import figures
from cutegen.report.room import LIMITS, room_rows
from cutegen.report.subject import Subject
from cutegen.report.tables import Table, merged, table
from cutegen.version import __version__

__all__ = ["page", "tables"]

_ASSETS = Path(__file__).parent / "assets"
_COSTS = (
    "Of one CTA. A request is one instruction of a warp. Cost is counted in wavefronts in shared memory "
    "(passes over the 32 banks) and in sectors of 32 B in global memory; ideal is the fewest in which "
    "the same bytes could be had. 1.00x is without bank conflicts, or without bytes that nobody wants. "
    "Worst is the same ratio in the worst phase of a single request: 8-way is a conflict of 8 rows of "
    "one bank. G is global memory, S shared memory and R registers: S2G D is the way of D from shared "
    "to global memory, which reads one and writes the other."
)
_PLACES = {"G": "global memory", "S": "shared memory", "R": "registers"}
_SCRIPTS = (
    *("layout.js", "kernel.js", "view.js", "words.js", "query.js", "colours.js"),
    *("grid.js", "lens.js", "panel.js", "explorer.js", "start.js"),
)


def page(subjects: Sequence[Subject], title: str = "") -> str:
    """One HTML page about one config, or about two with their differences marked; it needs nothing else."""
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=title or " and ".join(s.label for s in subjects),
            version=__version__,
            style=Markup((_ASSETS / "page.css").read_text(encoding="utf-8")),
            script=Markup(_script()),
            data=Markup(_json([_data(s) for s in subjects])),
            subjects=[_shown(s, index) for index, s in enumerate(subjects, start=1)],
            tables=tables(subjects),
            two=len(subjects) > 1,
        )
    )


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    """Everything that is put into the page is escaped, but for what :class:`Markup` says is HTML."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_root() / "report"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _script() -> str:
    parts = [(_ASSETS / name).read_text(encoding="utf-8") for name in _SCRIPTS]
    return "(() => {\n" + "\n".join(parts) + "})();\n"


def _json(value: Any) -> str:
    """JSON that can stand in a script element: no text in it ends the element or begins a comment."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _data(subject: Subject) -> dict[str, Any]:
    return {
        "label": subject.label,
        "arch": subject.plan.arch if subject.plan else "",
        "occupancy": subject.room.sentences if subject.room else "",
        "limits": _limits(subject),
        "kernel": subject.data,
    }


def _limits(subject: Subject) -> list[list[str]]:
    """The table of occupancy as names and words."""
    rows = room_rows(subject.room) if subject.room else {}
    found = []
    for name, (has, taken, count, last) in rows.items():
        words = f"{count} CTAs{f', {last}' if last else ''}"
        found.append([name, f"{words}; an SM has {has}, a CTA takes {taken}" if taken else words])
    return found


def _shown(subject: Subject, index: int) -> dict[str, Any]:
    prefix, plan = "" if index == 1 else f"{index}-", subject.plan
    return {
        "label": subject.label,
        "name": plan.name if plan else "",
        "about": subtitle(plan) if plan else "",
        "violations": subject.violations,
        "pictured": subject.data is not None,
        "memories": [key for key in ("a", "b") if subject.data and subject.data["tensors"][key]["smem"]],
        "room": subject.room,
        "tiles": _tiles(subject),
        "warnings": subject.warnings,
        "advice": subject.advice,
        "partitions": subject.partitions,
        "figures": [(f.title, Markup(f.svg)) for f in figures(plan, f"picture{index}")] if plan else [],
        "index": index,
        "prefix": prefix,
        "lines": subject.rendered.text.splitlines() if subject.rendered else [],
    }


def _tiles(subject: Subject) -> list[tuple[str, str]]:
    """The figures that a reader looks for first."""
    plan = subject.plan
    if plan is None:
        return []
    found = [("CTA tile", " x ".join(map(str, plan.config.tile or ("?",))))]
    if plan.config.stages:
        found.append(("stages", str(plan.config.stages)))
    found += [("threads", str(plan.threads)), ("shared memory", f"{plan.smem_bytes / 1024:.4g} KiB")]
    if subject.room:
        known = subject.built is not None and subject.built.target == subject.room.arch
        least = "" if known else " (estimate)"
        found += [(f"registers of a thread{least}", str(subject.room.registers))]
        found += [("CTAs per SM", subject.room.count)]
    return found


def tables(subjects: Sequence[Subject]) -> list[Table]:
    """All tables of the page that are there."""
    found = [
        table("Config", ("value", ""), [s.config for s in subjects], compared=1),
        table("Facts", ("",), [s.facts for s in subjects]),
        table(
            "Occupancy of an SM",
            ("an SM has", "a CTA takes", "CTAs", ""),
            [room_rows(s.room) if s.room else {} for s in subjects],
            numbers=(2,),
            marks=(LIMITS,),
            notes=_notes(subjects, lambda s: s.room.origin if s.room else ""),
        ),
        table("Compiler", ("",), [_compiled(s) for s in subjects]),
        table(
            "Memory accesses",
            ("what", "instruction", "requests", "cost", "ideal", "cost / ideal", "worst"),
            [_costs(s) for s in subjects],
            numbers=(2, 3, 4, 5, 6),
            notes=(_COSTS,),
        ),
        table("Problem", ("",), [s.workload for s in subjects]),
        table("Tensors of thread 0", ("layout",), [_tensors(s) for s in subjects]),
    ]
    return [one for one in found if one.rows]


def _compiled(subject: Subject) -> dict[str, tuple[str, ...]]:
    if subject.built is None:
        return {}
    words = {name.replace("_", " "): (str(value),) for name, value in subject.built.resources.items()}
    target = subject.built.target
    used = not subject.room or target == subject.room.arch
    unused = "" if used else ": not what the occupancy is for, so not used there"
    return {"target": (f"{target}{unused}",), **words}


def _costs(subject: Subject) -> dict[str, tuple[str, ...]]:
    return {
        f"{a.name}, {a.unit} a {a.per}": (
            _access_words(a),
            f"{a.op}, {a.bytes} B",
            str(a.requests),
            str(a.cost),
            str(a.ideal),
            f"{a.degree:.2f}x",
            f"{a.ways:g}-way" if a.space == "shared" else f"{a.ways:g}x",
        )
        for a in subject.accesses
    }


def _access_words(access: Access) -> str:
    """What an access does on which way: S2G D as a load is the half of that way that reads shared memory."""
    path, _, what = access.name.partition(" ")
    begin, end = path[0], path[-1]
    verb = "reads" if access.space == {"G": "global", "S": "shared"}.get(begin) else "writes"
    return f"{verb} {access.space} memory: {what} from {_PLACES[begin]} to {_PLACES[end]}"


def _notes(subjects: Sequence[Subject], words: Callable[[Subject], str]) -> list[str]:
    """What there is to say of each config, with its name where there are several."""
    found = [(s.label, text) for s in subjects if (text := words(s))]
    return [f"{label}: {text}" if len(subjects) > 1 else text for label, text in found]


def _tensors(subject: Subject) -> dict[str, tuple[str, ...]]:
    """The layouts; of a fragment also with its modes merged."""
    rows = []
    for p in subject.partitions:
        rows.append((p.name, p.layout if p.merged == p.layout else f"{p.layout} = {p.merged}"))
    return merged(rows)
