"""``cutegen layout``: CuTe's layout algebra on expressions as they are written in C++."""

from __future__ import annotations

import warnings
from typing import Any

import click

from cutegen.cli.common import json_option, read_program
from cutegen.cli.console import print_json, say
from cutegen.cli.output import emit
from cutegen.errors import CutegenWarning

__all__ = ["command"]

_HELP = """\
Evaluate an expression of CuTe's layout algebra and print what CuTe prints.

EXPR is C++, or a layout as CuTe prints it; '-' reads standard input. Several statements are separated by ';',
and the value of the last one is printed.

\b
Examples:
  cutegen layout '(_8,_4):(_4,_1)'
  cutegen layout 'zipped_divide(Layout<Shape<_8,_8>>{}, make_tile(_2{}, _4{}))'
  cutegen layout 'auto L = (_8,_8):(_8,_1); composition(Swizzle<3,0,3>{}, L)'
"""
_SMALL = 16


@click.command(name="layout", help=_HELP)
@click.argument("expression", metavar="EXPR")
@click.option("--static", is_flag=True, help="Take every integer as static, as if 8 were written _8.")
@click.option(
    "--table/--no-table",
    "table",
    default=None,
    help=f"Draw the offsets of a layout of one or two modes.  [default: up to {_SMALL} by {_SMALL}]",
)
@json_option
def command(expression: str, static: bool, table: bool | None, as_json: bool) -> None:
    """Evaluate an expression of CuTe's layout algebra and print what CuTe prints."""
    from cutegen.playground import evaluate, text
    from cutegen.playground.facts import facts

    if expression == "-":
        expression = read_program()
    found = evaluate(expression, static=static)
    for sentence in found.remarks:
        warnings.warn(sentence, CutegenWarning, stacklevel=1)
    if as_json:
        print_json({"ok": True, "expression": expression, **facts(found.value), "printed": found.printed})
        return
    drawn = _drawn(found.value, table)
    if found.printed:
        emit(found.printed, nl=not found.printed.endswith("\n"))
    if found.value is not None:
        words = text(found.value)
        emit(words, nl=not words.endswith("\n"))
    for line in drawn.splitlines()[1:]:
        say(line)


def _drawn(value: Any, table: bool | None) -> str:
    """The table that is asked for, or that is small enough."""
    from cutegen.playground.table import MOST_CELLS, can_be_drawn, extents, print_layout

    if not can_be_drawn(value):
        if table:
            raise click.UsageError("--table needs a layout of one or two modes as the last value")
        return ""
    rows, columns = extents(value)
    if table and rows * columns > MOST_CELLS:
        raise click.UsageError(f"a table must have at most {MOST_CELLS} cells (got {rows} by {columns})")
    return print_layout(value) if table or (table is None and max(rows, columns) <= _SMALL) else ""
