"""``cutegen schema``: the JSON Schema of a config file."""

from __future__ import annotations

import click

from cutegen.cli.common import json_option
from cutegen.cli.console import print_json

__all__ = ["command"]


@click.command(name="schema")
@click.option("--matrix", is_flag=True, help="The schema of a matrix file instead.")
@json_option
def command(matrix: bool, as_json: bool) -> None:
    """Print the JSON Schema of a config file, for editors that complete and check YAML.

    With the YAML extension of VS Code, the line '# yaml-language-server: $schema=FILE' at the top of a config
    names the schema that it is checked against.
    """
    from cutegen.schema import config_schema, matrix_schema

    print_json(matrix_schema() if matrix else config_schema())
