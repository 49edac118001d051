"""One case of a rule."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutegen.config import GemmConfig

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """A config that breaks one rule, and one next to it that is legal."""

    rule: str
    broken: GemmConfig
    legal: GemmConfig
    field: str
    words: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return self.rule
