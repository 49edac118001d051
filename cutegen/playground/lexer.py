"""Words of an expression, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cutegen.errors import ExpressionError

__all__ = ["Token", "tokens"]

_WORDS = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
      | (?P<number>\d+(_c)?\b)
      | (?P<static>_(-?\d+|m\d+)\b)
      | (?P<any>_(?![A-Za-z0-9_]))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<string>"(\\.|[^"\\\n])*")
      | (?P<sign>::|[(){}<>,:;=.+\-*/%])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """One word.

    Attributes:
        kind: ``number``, ``static``, ``any``, ``name``, ``string``, ``sign`` or ``end``.
        text: The word as it is written.
        start: Where it begins.
        end: Where it ends.
    """

    kind: str
    text: str
    start: int
    end: int


def tokens(source: str) -> list[Token]:
    """All words of ``source``, an end after the last one.

    Raises:
        ExpressionError: A character that no word begins with.
    """
    found, at = [], 0
    while at < len(source):
        match = _WORDS.match(source, at)
        if match is None:
            what = (
                "a text must end with a quote" if source[at] == '"' else f"{source[at]!r} has no meaning here"
            )
            raise ExpressionError(what, source, (at, at + 1))
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(Token(kind, match.group(), at, match.end()))
        at = match.end()
    return [*found, Token("end", "", len(source), len(source))]
