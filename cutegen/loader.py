"""Read a config from YAML, with the place of every mistake, and write one back.

``load`` is what most callers want. ``load_document`` also keeps where each field stands, so that a rule
violation found later can be shown as ``file:line:column``.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pydantic

from cutegen.config import GemmConfig
from cutegen.errors import ConfigError, Violation
from cutegen.schema_errors import explain_errors
from cutegen.yamlread import Document, LocatedViolation, PathKey, child, has_child, parse
from cutegen.yamlwrite import block, clip, flow

__all__ = [
    "LoadedConfig",
    "decode",
    "dump",
    "load",
    "load_document",
    "loads",
    "located",
    "read_bounded",
    "read_text",
    "to_data",
    "validate",
]

_MAX_BYTES = 4 << 20

#: What each config that was read, by its identity, was read from; equal ones may come from several files.
_DOCUMENTS: dict[int, Document] = {}


@dataclass(frozen=True, kw_only=True)
class LoadedConfig:
    """A config and the text that it came from.

    Attributes:
        config: The validated config.
        document: The plain data with the place of every field.
    """

    config: GemmConfig
    document: Document

    def locate(self, field: str) -> str:
        """``file:line:column`` of a dotted field path, or of its nearest parent that the file gives."""
        path = _path_of(field, self.document.data)
        return self.document.where(self.document.at_value(path))

    def located(self, violation: Violation) -> Violation:
        """``violation`` with the place of its field."""
        if isinstance(violation, LocatedViolation):
            return violation
        return LocatedViolation(**violation.to_dict(), position=self.locate(violation.field))

    def located_error(self, error: ConfigError) -> ConfigError:
        """``error`` with the place of every violation."""
        return ConfigError(error.message, [self.located(v) for v in error.violations])

    def given(self, field: str) -> bool:
        """Whether the file gives ``field`` itself, as against leaving it to be resolved."""
        data = self.document.data
        for part in field.split("."):
            data = child(data, part)
        return data is not None and data != "auto"


def load(path: str | Path) -> GemmConfig:
    """Read a config file.

    Raises:
        ConfigError: The file cannot be read or is no config; every mistake is listed with its place.
    """
    return load_document(path).config


def loads(text: str, *, name: str = "<string>") -> GemmConfig:
    """Read a config from YAML text; ``name`` stands for the file in messages.

    Raises:
        ConfigError: The text is no config; every mistake is listed with its place.
    """
    if not isinstance(text, str):
        raise ConfigError(f"{name}: must be YAML text (got {clip(repr(text))}); cutegen.load reads a file")
    return validate(parse(text, name)).config


def load_document(path: str | Path) -> LoadedConfig:
    """Read a config file and keep the place of every field.

    Raises:
        ConfigError: As for :func:`load`.
    """
    return validate(parse(read_text(path), str(path)))


def read_text(path: str | Path) -> str:
    """The text of a config file.

    Raises:
        ConfigError: The file cannot be read, or is no text.
    """
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ConfigError(f"the path of a config must be given (got {path!r}); name a YAML file")
    file = Path(path)
    try:
        with file.open("rb") as stream:
            raw = read_bounded(stream, str(path))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file{_similar_file(file)}") from None
    except IsADirectoryError:
        raise ConfigError(f"{path}: is a directory; name a YAML file in it") from None
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise ConfigError(f"{clip(str(path), 200)}: cannot be read: {reason}") from None
    return decode(raw, str(path))


def read_bounded(stream: BinaryIO, name: str) -> bytes:
    """Everything that a stream holds, which may be a pipe or a device without an end.

    Args:
        stream: What to read from.
        name: What to call it in a message.

    Raises:
        ConfigError: It holds more than any config does; no more than that is read.
        OSError: It cannot be read.
    """
    raw = stream.read(_MAX_BYTES + 1) or b""
    if len(raw) > _MAX_BYTES:
        raise ConfigError(
            f"{name}: must be at most {_MAX_BYTES >> 20} MiB to be a config (got more); name a YAML file"
        )
    return raw


def decode(raw: bytes, name: str) -> str:
    """The text of a config: UTF-8, or UTF-16 with a byte-order mark.

    Raises:
        ConfigError: It is no text.
    """
    encoding = "utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if encoding != "utf-16" and b"\0" in raw:
        raise ConfigError(f"{name}: must be text (got a binary file); name a YAML file")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as exc:
        before = raw[: exc.start]
        line = before.count(b"\n") + 1
        column = len(before[before.rfind(b"\n") + 1 :].decode(encoding, "replace")) + 1
        found = LocatedViolation(
            rule="yaml",
            field="",
            got=f"byte 0x{raw[exc.start]:02x}",
            need="must be UTF-8 text",
            fix="save it as UTF-8",
            position=f"{name}:{line}:{column}",
        )
        raise ConfigError(f"{name} is no text", [found]) from None


def validate(document: Document) -> LoadedConfig:
    """Check plain data against the schema.

    Entries that are ``auto`` or empty count as left out. Types are not converted: ``"3"`` is no integer.

    Raises:
        ConfigError: With one violation of rule ``schema`` for each mistake.
    """
    data = document.data
    if not isinstance(data, dict):
        got = "an empty file" if data is None else clip(flow(data))
        found = LocatedViolation(
            rule="schema",
            field="",
            got=got,
            need="must be a mapping of fields",
            fix="start with 'arch: sm_80'",
            position=document.where(document.at_key(())),
        )
        raise ConfigError(f"{document.name} is no config", [found])
    if "matrix" in data:
        found = LocatedViolation(
            rule="matrix",
            field="matrix",
            got="a matrix file",
            need="must be one config here",
            fix=f"'cutegen matrix {document.name}' checks and builds all its cases",
            position=document.where(document.at_key(("matrix",))),
        )
        raise ConfigError(f"{document.name} is a matrix file, which stands for several configs", [found])
    try:
        config = GemmConfig.model_validate(_without_auto(data), strict=True)
    except pydantic.ValidationError as exc:
        violations = explain_errors(exc, document)
        count = f"{len(violations)} mistake{'s' if len(violations) > 1 else ''}"
        raise ConfigError(f"{document.name} has {count}", violations) from None
    _DOCUMENTS[id(config)] = document
    weakref.finalize(config, _DOCUMENTS.pop, id(config), None)
    return LoadedConfig(config=config, document=document)


def located(config: GemmConfig, violations: Sequence[Violation]) -> list[Violation]:
    """Violations of rules with their place in the file, if ``config`` is what a file was read to."""
    document = _DOCUMENTS.get(id(config))
    if document is None:
        return list(violations)
    loaded = LoadedConfig(config=config, document=document)
    return [loaded.located(violation) for violation in violations]


def to_data(config: GemmConfig) -> dict[str, Any]:
    """The config as plain data in the order of the schema, without fields that are left open."""
    data = _without_empty(config.model_dump(exclude_none=True))
    return data if isinstance(data, dict) else {}


def dump(config: GemmConfig) -> str:
    """The config as YAML; ``loads(dump(config)) == config``."""
    return "".join(f"{line}\n" for line, _ in block(to_data(config)))


def _without_auto(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_auto(v) for k, v in value.items() if v is not None and v != "auto"}
    return tuple(_without_auto(v) for v in value) if isinstance(value, tuple) else value


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kept = {k: _without_empty(v) for k, v in value.items()}
    return {k: v for k, v in kept.items() if v != {}}


def _path_of(field: str, data: Any) -> PathKey:
    """The path that ``smem.a.shape`` or ``tile[1]`` means, as far as ``data`` has it."""
    path: list[str | int] = []
    for part in re.findall(r"[^.\[\]]+", field):
        key: str | int = int(part) if part.isdecimal() and isinstance(data, tuple) else part
        if not has_child(data, key):
            break
        data = child(data, key)
        path.append(key)
    return tuple(path)


def _similar_file(path: Path) -> str:
    import difflib

    try:
        names = [p.name for p in path.parent.iterdir() if p.suffix in (".yaml", ".yml")]
    except OSError:
        return f"; the directory {path.parent} does not exist"
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.with_name(close[0])}?" if close else ""
