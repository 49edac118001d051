"""``cutegen layout``: CuTe's layout algebra on expressions as they are written in C++."""

from __future__ import annotations

import warnings
from typing import Any

import click

from cutegen.cli.common import json_option
from cutegen.cli.console import print_json, say
from cutegen.cli.output import emit
from cutegen.errors import CutegenWarning

__all__ = ["command"]

_SMALL = 16
_MOST_CELLS = 1 << 16


@click.command(name="layout")
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
    r"""Evaluate an expression of CuTe's layout algebra and print what CuTe prints.

    EXPR is C++, or a layout as CuTe prints it; '-' reads standard input. Several statements are separated by
    ';', and the value of the last one is printed.

    \b
      cutegen layout '(_8,_4):(_4,_1)'
      cutegen layout 'auto L = make_layout(make_shape(_8{}, _4{})); zipped_divide(L, make_tile(_2{}, _4{}))'
      cutegen layout 'composition(Swizzle<2,0,3>{}, Layout<Shape<_8,_8>, Stride<_8,_1>>{})'
    """
    from cutegen.playground import evaluate, text
    from cutegen.playground.table import can_be_drawn, extents, print_layout

    if expression == "-":
        from cutegen.cli.common import read_program

        expression = read_program()
    found = evaluate(expression, static=static)
    for sentence in found.remarks:
        warnings.warn(sentence, CutegenWarning, stacklevel=1)
    value, drawn = found.value, ""
    if can_be_drawn(value):
        rows, columns = extents(value)
        small = max(rows, columns) <= _SMALL
        if table and rows * columns > _MOST_CELLS:
            raise click.UsageError(f"a table must have at most {_MOST_CELLS} cells (got {rows} by {columns})")
        drawn = print_layout(value) if table or (table is None and small) else ""
    elif table and not as_json:
        raise click.UsageError("--table needs a layout of one or two modes as the last value")
    if as_json:
        print_json({"ok": True, "expression": expression, **_facts(value), "printed": found.printed})
        return
    if found.printed:
        emit(found.printed, nl=not found.printed.endswith("\n"))
    if value is not None:
        words = text(value)
        emit(words, nl=not words.endswith("\n"))
    for line in drawn.splitlines()[1:]:
        say(line)


def _facts(value: Any) -> dict[str, Any]:
    from cutegen.playground.facts import facts

    return facts(value, most_cells=_MOST_CELLS)
