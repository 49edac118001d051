"""What a warning is, and the list of all that can be given.

A warning is about a config that works and is surely not meant so. An advice is a generator of warnings: a
function that registers itself with :func:`advice` and takes all that it needs from a
:class:`~cutegen.lint.review.Review`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field

from cutegen.lint.review import Review

__all__ = ["Advice", "LintWarning", "Remark", "advice", "advices"]


@dataclass(frozen=True, kw_only=True)
class Remark:
    """One thing that an advice found; see :class:`LintWarning` for the fields."""

    field: str
    message: str
    got: str
    fix: str


@dataclass(frozen=True, kw_only=True)
class LintWarning:
    """One fact about a config that works and is surely not meant so.

    Attributes:
        id: Stable id of the advice, for example ``bank-conflicts``.
        field: Dotted path of the config field, for example ``smem.a.swizzle``.
        message: What it costs, or why it cannot be meant.
        got: The value in question.
        fix: At least one way out.
    """

    id: str
    field: str
    message: str
    got: str
    fix: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message} (got {self.got}); {self.fix} [{self.id}]"

    def to_dict(self) -> dict[str, str]:
        """The warning as a JSON-ready dictionary."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Advice:
    """One kind of warning.

    Attributes:
        id: Stable identifier, as warnings carry it.
        reason: Why such a config cannot be meant, in plain words.
        source: Where that is written down, or how it was measured.
    """

    id: str
    reason: str
    source: str
    find: Callable[[Review], Iterator[Remark]] = field(repr=False, compare=False)

    def warnings(self, review: Review) -> Iterator[LintWarning]:
        """Every warning of this kind."""
        for found in self.find(review):
            yield LintWarning(
                id=self.id, field=found.field, message=found.message, got=found.got, fix=found.fix
            )


_ADVICES: dict[str, Advice] = {}

Find = Callable[[Review], Iterator[Remark]]


def advices() -> tuple[Advice, ...]:
    """All advices in the order in which they are asked."""
    return tuple(_ADVICES.values())


def advice(id: str, *, reason: str, source: str) -> Callable[[Find], Find]:
    """Register an advice."""

    def register(find: Find) -> Find:
        if id in _ADVICES:
            raise RuntimeError(f"two advices are called {id}")
        _ADVICES[id] = Advice(id=id, reason=reason, source=source, find=find)
        return find

    return register
