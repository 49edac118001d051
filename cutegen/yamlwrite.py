"""Plain data to YAML text, and what a plain YAML scalar means.

Strings that a YAML 1.1 reader might take for a boolean are quoted on output; only ``n`` is not, as
``major: n`` is how everyone writes it and PyYAML reads it as a string too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

__all__ = ["block", "clip", "dotted", "flow", "resolve_scalar", "scalar"]

WIDTH = 110

_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)\Z")
_RADIX = re.compile(r"0(o[0-7]+|x[0-9a-fA-F]+)\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(inf|Inf|INF)\Z|\.(nan|NaN|NAN)\Z")
_NULLS = {"", "~", "null", "Null", "NULL"}
_BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
# Words that YAML 1.1 readers take for something else than a string: quoted on output.
_RESERVED = {*_NULLS, *_BOOLS, "yes", "no", "on", "off", "y", "n"} - {"", "n"}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.+-]*\Z")


def resolve_scalar(text: str) -> Any:
    """The value of a plain scalar by the YAML 1.2 core schema.

    A number with a leading zero stays a string: YAML 1.1 reads it as octal and 1.2 as decimal.
    """
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    if _INT.match(text):
        return int(text) if len(text) < 24 else 2**64
    if _RADIX.match(text):
        return int(text, 0) if len(text) < 24 else 2**64
    if _FLOAT.match(text):
        return float(text)
    if _SPECIAL_FLOAT.match(text):
        return float(text.replace(".", "").lower())
    return text


def scalar(value: Any) -> str:
    """One scalar as YAML, quoted where YAML 1.1 or 1.2 would read it as something else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(value)
        return {"inf": ".inf", "-inf": "-.inf", "nan": ".nan"}.get(text, text)
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if _PLAIN.match(text) and text.lower() not in _RESERVED and isinstance(resolve_scalar(text), str):
        return text
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(ch: str) -> str:
    if ch in '"\\':
        return "\\" + ch
    if " " <= ch <= "~":
        return ch
    code = ord(ch)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def flow(value: Any) -> str:
    """A value on one line, in flow style."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(str(k))}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    return scalar(value)


def clip(text: str, width: int = 72) -> str:
    """``text``, shortened to at most ``width`` characters."""
    return text if len(text) <= width else text[: width - 3] + "..."


def dotted(path: Iterable[str | int]) -> str:
    """``smem.a.shape[0]`` for a path; names that need quotes get them."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{clip(scalar(part), 40)}"
    return text.removeprefix(".")


def block(data: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The lines of a mapping in block style, each with the path of the entry that it holds.

    A value that fits stands on its key's line in flow style; a top-level mapping only does when it
    holds nothing but scalars.
    """
    yield from _block(data, ())


def _block(data: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    indent = "  " * len(path)
    for key, value in data.items():
        inner = (*path, str(key))
        line = f"{indent}{scalar(str(key))}: {flow(value)}"
        nested = isinstance(value, Mapping) and bool(value)
        simple = not nested or path or not any(isinstance(v, Mapping | list | tuple) for v in value.values())
        if simple and (len(line) <= WIDTH or not nested):
            yield line, inner
        else:
            yield f"{indent}{scalar(str(key))}:", inner
            yield from _block(value, inner)
