"""``cutegen rules``: every rule with its reason and its source."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from cutegen.cli.common import json_option
from cutegen.cli.console import bold, dim, print_json, say

if TYPE_CHECKING:
    from cutegen.rules import Rule

__all__ = ["command"]

_WIDTH = 96


@click.command(name="rules")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@json_option
def command(ids: tuple[str, ...], as_json: bool) -> None:
    """List the rules that a config must keep, each with its reason and source.

    Name the ids from a message to see only those.
    """
    from cutegen.rules import all_rules
    from cutegen.schema_errors import suggest

    families = list(dict.fromkeys(rule.family for rule in all_rules()))
    rules = sorted(all_rules(), key=lambda r: families.index(r.family))
    known = {rule.id: rule for rule in rules}
    for name in ids:
        if name not in known:
            hint = suggest(name, known) or "list them with 'cutegen rules'"
            raise click.UsageError(f"no rule is called {name!r}; {hint}")
    chosen = [known[name] for name in dict.fromkeys(ids)] if ids else rules
    if as_json:
        print_json({"ok": True, "rules": [_document(rule) for rule in chosen]})
        return
    for family, members in groupby(chosen, key=lambda r: r.family):
        say(bold(family))
        for rule in members:
            say(f"  {rule.id}")
            for line in wrap(rule.reason, _WIDTH - 6):
                say(f"      {line}")
            for line in wrap(f"source: {rule.source}", _WIDTH - 6):
                say(f"      {dim(line)}")
    if not ids:
        say(f"{len(rules)} rules; a broken one stops the config before the compiler starts")


def _document(rule: Rule) -> dict[str, Any]:
    return {"id": rule.id, "family": rule.family, "reason": rule.reason, "source": rule.source}
