"""The JSON Schema of a config and of a matrix file, for editors that complete and check YAML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from pydantic import BeforeValidator
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from cutegen.config import Auto, DTypeField, Extents, GemmConfig, NoneWord
from cutegen.dtypes import ALIASES

__all__ = ["config_schema", "matrix_schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _before(annotation: Any) -> Callable[..., Any]:
    validator = next(a for a in get_args(annotation) if isinstance(a, BeforeValidator))
    return validator.func


class _Generator(GenerateJsonSchema):
    """Adds what the config's before-validators accept: ``auto``, other names of types, one extent."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        function = schema["function"]["function"]
        if function is Auto.func:
            return {"anyOf": [*_alternatives(inner), {"const": "auto"}]}
        if function is NoneWord.func:
            return {"anyOf": [*_alternatives(inner), {"const": "none"}]}
        if function is _before(DTypeField):
            return {"enum": [*inner["enum"], *ALIASES], "type": "string"}
        if function is _before(Extents):
            return {"anyOf": [inner, {"type": "integer"}]}
        return inner


def _alternatives(schema: JsonSchemaValue) -> list[JsonSchemaValue]:
    options: list[JsonSchemaValue] = schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
    return options


def config_schema() -> dict[str, Any]:
    """The JSON Schema of a config file."""
    schema = GemmConfig.model_json_schema(schema_generator=_Generator)
    for model in (schema, *schema["$defs"].values()):
        for name, field in model["properties"].items():
            if name not in model.get("required", ()):
                _allow_left_open(field)
    return {"$schema": _DIALECT, **schema, "title": "cutegen config"}


def matrix_schema() -> dict[str, Any]:
    """The JSON Schema of a matrix file: a config with lists under ``matrix``."""
    schema = config_schema()
    for model in (schema, *schema["$defs"].values()):
        model.pop("required", None)  # the matrix may supply any field
    entries = {"type": "array", "items": {"type": "object"}}
    schema["properties"]["matrix"] = {
        "type": "object",
        "description": "Lists of values by dotted config path; the cases are all their combinations.",
        "properties": {
            "include": {**entries, "description": "Extends matching combinations, or adds new ones."},
            "exclude": {**entries, "description": "Drops the combinations that match all of an entry."},
            "illegal": {
                "enum": ["fail", "skip"],
                "default": "fail",
                "description": "What a combination that breaks a rule is: a failure, or skipped.",
            },
        },
        "additionalProperties": {"type": "array", "minItems": 1},
    }
    schema["required"] = ["matrix"]
    return {**schema, "title": "cutegen matrix file"}


def _allow_left_open(field: dict[str, Any]) -> None:
    """A field that may be left out may also be ``auto`` or empty."""
    options = field.get("anyOf")
    if options is None:
        kept = {k: field.pop(k) for k in list(field) if k not in ("default", "description", "title")}
        options = field["anyOf"] = [kept]
    for extra in ({"const": "auto"}, {"type": "null"}):
        if extra not in options:
            options.append(extra)
    default = _without_null(field.pop("default", None))
    if default not in (None, {}):
        field["default"] = default


def _without_null(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kept = {k: _without_null(v) for k, v in value.items()}
    return {k: v for k, v in kept.items() if v not in (None, {})}
