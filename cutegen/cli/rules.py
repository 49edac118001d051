"""``cutegen rules``: every rule with its reason and its source."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap

import click

from cutegen.cli.common import json_option
from cutegen.cli.console import bold, dim, print_json, say

__all__ = ["command", "every_rule"]

_WIDTH = 96

#: What is found before or after the rules proper, by family: id, reason, source.
_OTHERS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "reading": (
        (
            "yaml",
            "A config is one YAML 1.2 document of bounded size.",
            "YAML 1.2.2; cutegen/yamlread.py",
        ),
        (
            "schema",
            "A config has known fields of known types; 'cutegen schema' prints them.",
            "cutegen/config.py; docs/config.md",
        ),
        ("matrix", "A matrix is expanded as GitHub Actions expands strategy.matrix.", "docs/ci.md"),
        ("launch", "A launch has known fields of known types.", "docs/emulate.md"),
    ),
    "budget": (
        (
            "budget",
            "A kernel that needs more than 'limits:' allows is built, and fails its check.",
            "the config's own limits",
        ),
    ),
}


@click.command(name="rules")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@json_option
def command(ids: tuple[str, ...], as_json: bool) -> None:
    """List the rules that a config must keep, and the warnings, each with its reason and source.

    Name the ids from a message to see only those.
    """
    from cutegen.schema_errors import suggest

    rules = every_rule()
    known = {rule["id"]: rule for rule in rules}
    for name in ids:
        if name not in known:
            hint = suggest(name, known) or "list them with 'cutegen rules'"
            raise click.UsageError(f"no rule is called {name!r}; {hint}")
    chosen = [known[name] for name in dict.fromkeys(ids)] if ids else rules
    if as_json:
        print_json({"ok": True, "rules": chosen})
        return
    for family, members in groupby(chosen, key=lambda r: r["family"]):
        say(bold(family))
        for rule in members:
            say(f"  {rule['id']}")
            for line in wrap(rule["reason"], _WIDTH - 6):
                say(f"      {line}")
            for line in wrap(f"source: {rule['source']}", _WIDTH - 6):
                say(f"      {dim(line)}")
    if not ids:
        warnings = sum(rule["tier"] == "warning" for rule in rules)
        say(f"{len(rules) - warnings} rules; a broken one stops the config before the compiler starts")
        say(f"{warnings} warnings; 'cutegen check' prints them, and with --strict it fails")


def every_rule() -> list[dict[str, str]]:
    """Whatever id a message of cutegen can carry, family by family, JSON-ready."""
    from cutegen.lint import all_advices
    from cutegen.rules import all_rules
    from cutegen.toolchain.targets import TARGET_RULES

    first = _others("reading")
    target = [
        {"id": name, "family": "target", "reason": reason, "source": source}
        for name, (reason, source) in TARGET_RULES.items()
    ]
    rules = [*first, *(rule.to_dict() for rule in all_rules()), *target, *_others("budget")]
    warnings = [
        {"id": a.id, "family": "warnings", "reason": a.reason, "source": a.source} for a in all_advices()
    ]
    return [{**rule, "tier": "error"} for rule in rules] + [{**w, "tier": "warning"} for w in warnings]


def _others(family: str) -> list[dict[str, str]]:
    return [
        {"id": name, "family": family, "reason": reason, "source": source}
        for name, reason, source in _OTHERS[family]
    ]
