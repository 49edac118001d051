"""Say in plain words, with a place and a way out, why plain data is no config."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pydantic
from pydantic_core import ErrorDetails

from cutegen.config import GemmConfig
from cutegen.dtypes import ALIASES, DTYPES
from cutegen.errors import ConfigValueError, Violation
from cutegen.schema_hints import field_hint, value_hint
from cutegen.yamlread import Document, LocatedViolation, Mark, PathKey, child, has_child
from cutegen.yamlwrite import clip, dotted, flow, scalar

__all__ = [
    "EXAMPLES",
    "annotation_at",
    "describe",
    "explain_errors",
    "explain_fields",
    "suggest",
    "unknown_field",
]

EXAMPLES: dict[str, str] = {
    "arch": "sm_80",
    "mainloop": "multistage",
    "a": "{dtype: bf16, major: k}",
    "b": "{dtype: bf16, major: k}",
    "c": "{dtype: f32, major: n}",
    "d": "{dtype: bf16, major: n}",
    "dtype": "bf16",
    "accumulator": "f32",
    "tile": "[128, 128, 32]",
    "stages": "3",
    "tiled_mma": "{layout: [2, 2, 1]}",
    "layout": "[2, 2, 1]",
    "permutation": "[32, 32, 16]",
    "smem": "{a: {shape: [8, 32], stride: [32, 1], swizzle: [2, 3, 3]}}",
    "g2s": "{a: {bits: 128}}",
    "s2r": "{a: SM75_U32x4_LDSM_N}",
    "shape": "[8, 32]",
    "stride": "[32, 1]",
    "swizzle": "[2, 3, 3]",
    "threads": "{shape: [32, 4], stride: [4, 1]}",
    "values": "{shape: [1, 8]}",
    "bits": "128",
    "epilogue": "{store: smem}",
    "scheduler": "{raster: m, group: 8}",
    "limits": "{max_registers: 255}",
}

Model = type[pydantic.BaseModel]

_KIND_ERRORS = (
    "int_type",
    "int_from_float",
    "int_parsing",
    "float_type",
    "float_parsing",
    "finite_number",
    "string_type",
    "tuple_type",
    "model_type",
    "model_attributes_type",
    "dict_type",
    "literal_error",
    "none_required",
)
_LENGTH_ERRORS = ("too_long", "too_short")


def explain_errors(
    error: pydantic.ValidationError, document: Document, root: Model = GemmConfig
) -> list[LocatedViolation]:
    """One violation for each mistake, in the order of the file."""
    grouped: dict[PathKey, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        grouped.setdefault(_data_path(detail["loc"], document.data, root), []).append(detail)
    found = []
    for path, details in grouped.items():
        # A branch of a union that went wrong deeper inside is the one that was meant.
        if any(len(p) > len(path) and p[: len(path)] == path for p in grouped) and all(
            d["type"] in _KIND_ERRORS for d in details
        ):
            continue
        found.append((document.at_value(path), path, _explain(path, details, document, root)))
    found.sort(key=lambda item: (item[0], str(item[1])))
    return [violation for _, _, violation in found]


def explain_fields(
    root: Model, fields: Mapping[str, Any], error: pydantic.ValidationError
) -> ConfigValueError:
    """What is wrong with the fields of a config, or of a part of it, that is made in Python."""
    data = _plain(dict(fields))
    document = Document(name=root.__name__, data=data, values=dict.fromkeys(_paths(data), Mark(1, 1)))
    violations = [
        Violation(rule=v.rule, field=v.field, got=v.got, need=v.need, fix=v.fix)
        for v in explain_errors(error, document, root)
    ]
    count = f"{len(violations)} mistake{'s' if len(violations) > 1 else ''}"
    return ConfigValueError(f"{root.__name__}(...) has {count}", violations)


def _paths(data: Any, path: PathKey = ()) -> Iterator[PathKey]:
    """The path of every value in plain data."""
    yield path
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, tuple) else ()
    for key, value in entries:
        yield from _paths(value, (*path, key))


def _plain(value: Any) -> Any:
    """Python values as YAML has them: models as mappings, lists as tuples, other objects by their name."""
    if isinstance(value, pydantic.BaseModel):
        return {name: _plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return tuple(_plain(inner) for inner in value)
    return value if value is None or isinstance(value, (str, bool, int, float)) else str(value)


def _explain(
    path: PathKey, details: Sequence[ErrorDetails], document: Document, root: Model
) -> LocatedViolation:
    kinds = {d["type"] for d in details}
    first = details[0]
    value = first["input"]
    annotation = annotation_at(path, root)
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    if "extra_forbidden" in kinds:
        need, got, fix = unknown_field(path, value, root)
        return _violation(document, path, need, got, fix, at_key=True)
    if "missing" in kinds and path not in document.values:
        example = EXAMPLES.get(name, "...")
        return _violation(document, path, "must be given", "nothing", f"add '{name}: {example}'")
    if kinds & {*_KIND_ERRORS, *_LENGTH_ERRORS, "missing"} and annotation is not None:
        value = value_at(document.data, path)
        need = f"must be {describe(annotation)}"
        return _violation(document, path, need, clip(flow(value)), _way_out(path, name, value, annotation))
    bounds = {"greater_than_equal": ("ge", "at least"), "less_than_equal": ("le", "at most")}
    if first["type"] in bounds:
        key, words = bounds[first["type"]]
        limit = first.get("ctx", {}).get(key)
        return _violation(document, path, f"must be {words} {limit}", flow(value), f"write {limit}")
    text = first["msg"].removeprefix("Value error, ")
    return _violation(document, path, text, clip(flow(value)), _way_out(path, name, value, annotation))


def _violation(
    document: Document, path: PathKey, need: str, got: str, fix: str, *, at_key: bool = False
) -> LocatedViolation:
    mark = document.at_key(path) if at_key else document.at_value(path)
    return LocatedViolation(
        rule="schema", field=dotted(path), got=got, need=need, fix=fix, position=document.where(mark)
    )


def unknown_field(path: PathKey, value: Any = None, root: Model = GemmConfig) -> tuple[str, str, str]:
    """Need, got and fix for a key that is no field."""
    name = str(path[-1])
    model = _model_in(annotation_at(path[:-1], root))
    names = list(model.model_fields) if model else []
    fix = field_hint(path, value) or suggest(name, names)
    if path == ("matrix",):
        fix = "build a matrix file with 'cutegen matrix FILE'"
    if fix is None:
        elsewhere = [dotted(p) for p in _all_fields(GemmConfig, ()) if p[-1] == name]
        fix = f"did you mean {' or '.join(elsewhere[:3])}?" if elsewhere else None
    whole = "a config" if root is GemmConfig else root.__name__
    owner = f"of {dotted(path[:-1])}" if len(path) > 1 else f"of {whole}"
    return f"must be a field {owner}", clip(scalar(name), 40), fix or f"use one of {', '.join(names)}"


def suggest(word: str, names: Iterable[str]) -> str | None:
    """``did you mean X?`` for the closest of ``names``, or None when nothing is close."""
    options = list(names)
    lowered = {n.lower(): n for n in options}
    key = word.lower().strip()
    close = [n for n in lowered if len(key) >= 4 and n.startswith(key)][:1]
    close = close or difflib.get_close_matches(key, lowered, n=1, cutoff=0.6)
    close = close or [n for n in lowered if len(n) >= 3 and key.startswith(n)][:1]
    close = close or [n for n in lowered if len(key) >= 3 and n.startswith(key)][:1]
    return f"did you mean {lowered[close[0]]}?" if close else None


def _way_out(path: PathKey, name: str, value: Any, annotation: Any) -> str:
    hint = value_hint(path, value)
    if hint is not None:
        return hint
    literals = list(_literals(annotation))
    if isinstance(value, str) and literals:
        names = [*literals, *ALIASES] if set(DTYPES) <= set(literals) else literals
        guess = suggest(value, names)
        if guess:
            return guess
    if isinstance(value, str) and value.strip().isdecimal() and _accepts_int(annotation):
        return f"write {int(value)}, without quotes or leading zeros"
    if annotation is int and not EXAMPLES.get(name, "").isdecimal():
        return "write a whole number"
    if annotation is float or float in _branches(annotation):
        return f"write '{name}: 1' or another number"
    first = next((v if v.isdecimal() else scalar(v) for v in literals), None)
    example = EXAMPLES.get(name) or first
    return f"write for example '{name}: {example}'" if example else "see 'cutegen schema' for the field"


def value_at(data: Any, path: PathKey) -> Any:
    """The value at ``path``, or None where the data has none."""
    for part in path:
        data = child(data, part)
    return data


def _data_path(loc: Sequence[str | int], data: Any, root: Model) -> PathKey:
    """The path of an error within the data: pydantic puts names of union branches in between."""
    path: list[str | int] = []
    for position, part in enumerate(loc):
        last = position == len(loc) - 1
        if has_child(data, part):
            data = child(data, part)
        elif not (last and isinstance(data, dict) and isinstance(part, str) and _is_field(path, part, root)):
            continue
        path.append(part)
    return tuple(path)


def _is_field(path: Sequence[str | int], name: str, root: Model) -> bool:
    model = _model_in(annotation_at(tuple(path), root))
    return model is not None and name in model.model_fields


def annotation_at(path: PathKey, root: Model = GemmConfig) -> Any:
    """The declared type at a path of the config, or of a part of it; None where there is none."""
    current: Any = root
    for part in path:
        if isinstance(part, str):
            model = _model_in(current)
            info = model.model_fields.get(part) if model else None
            current = info.annotation if info else None
        else:
            current = _element(current, part)
        if current is None:
            return None
    return current


def _branches(annotation: Any) -> Iterator[Any]:
    """The alternatives of a type without ``Annotated``, ``Union`` and ``None``."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _branches(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for arg in get_args(annotation):
            yield from _branches(arg)
    elif annotation is not NoneType and annotation is not None:
        yield annotation


def _model_in(annotation: Any) -> type[pydantic.BaseModel] | None:
    for branch in _branches(annotation):
        if isinstance(branch, type) and issubclass(branch, pydantic.BaseModel):
            return branch
    return None


def _element(annotation: Any, index: int) -> Any:
    for branch in _branches(annotation):
        if get_origin(branch) is tuple:
            args = get_args(branch)
            if Ellipsis in args:
                return args[0]
            return args[index] if index < len(args) else None
    return None


def _literals(annotation: Any) -> Iterator[str]:
    for branch in _branches(annotation):
        if get_origin(branch) is Literal:
            yield from (str(v) for v in get_args(branch))


def _accepts_int(annotation: Any) -> bool:
    return any(b is int or get_origin(b) is tuple for b in _branches(annotation))


def describe(annotation: Any) -> str:
    """A type in words, for example ``a list of 3 integers``."""
    words = []
    literals = [v if isinstance(v, str) else flow(v) for v in _literals(annotation)]
    if literals:
        words.append(f"one of {', '.join(literals)}" if len(literals) > 1 else literals[0])
    for branch in _branches(annotation):
        if branch is bool:
            words.append("true or false")
        elif branch is int:
            words.append("an integer")
        elif branch is float:
            words.append("a number")
        elif branch is str:
            words.append("a name")
        elif get_origin(branch) is tuple:
            args = get_args(branch)
            of_int = all(a is int for a in args if a is not Ellipsis)
            noun = "integers" if of_int else "entries"
            anything = "an integer or a list of integers"  # one extent may stand without brackets
            words.append(anything if Ellipsis in args else f"a list of {len(args)} {noun}")
        elif isinstance(branch, type) and issubclass(branch, pydantic.BaseModel):
            words.append(f"a mapping with {', '.join(branch.model_fields)}")
    return " or ".join(words) if words else "something else"


def _all_fields(model: type[pydantic.BaseModel], path: PathKey) -> Iterator[PathKey]:
    for name, info in model.model_fields.items():
        yield (*path, name)
        inner = _model_in(info.annotation)
        if inner is not None:
            yield from _all_fields(inner, (*path, name))
