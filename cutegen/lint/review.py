"""What an advice knows of a config that works: its plan, its accesses, and the same config changed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from cutegen.arch import Arch, arch
from cutegen.config import GemmConfig
from cutegen.errors import ConfigError
from cutegen.lint.traffic import Access, Space, accesses
from cutegen.plan import KernelPlan, plan

__all__ = ["Review", "changed"]


def changed(cfg: Any, field: str, value: Any) -> Any:
    """A model with the field at a dotted path replaced."""
    name, _, rest = field.partition(".")
    if rest:
        value = changed(getattr(cfg, name), rest, value)
    return cfg.model_copy(update={name: value})


def _default(model: Any, field: str) -> Any:
    """What a field is when it is left out."""
    name, _, rest = field.partition(".")
    if rest:
        return _default(getattr(model, name), rest)
    return type(model).model_fields[name].get_default()


def _fragments_plan(cfg: GemmConfig) -> KernelPlan:
    found = plan(cfg)
    if isinstance(found, KernelPlan):
        return found
    raise ConfigError("the advices are about mainloops that hold fragments in registers")


class Review:
    """A config that breaks no rule, as advices look at it.

    Args:
        given: The config as the user wrote it.

    Raises:
        ConfigError: It breaks a rule.
    """

    def __init__(self, given: GemmConfig) -> None:
        self.given = given
        self.plan = _fragments_plan(given)
        self.cfg = self.plan.config

    @property
    def arch(self) -> Arch:
        """The architecture."""
        return arch(self.cfg.arch)

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """What each kind of access costs."""
        return accesses(self.plan)

    def cost(self, space: Space, *names: str) -> int:
        """Wavefronts or sectors of some accesses together."""
        return sum(a.cost for a in self.accesses if a.space == space and a.name in names)

    def find(self, space: Space, name: str) -> Access | None:
        """One kind of access, if there is one."""
        return next((a for a in self.accesses if (a.space, a.name) == (space, name)), None)

    def gives(self, field: str) -> bool:
        """Whether the user said anything at a dotted path."""
        value: Any = self.given
        for name in field.split("."):
            value = getattr(value, name)
        return bool(value != _default(self.given, field))

    def but(self, field: str, value: Any) -> Review | None:
        """The same config with one field changed; None when that breaks a rule."""
        try:
            return Review(changed(self.given, field, value))
        except ConfigError:
            return None

    def without(self, *fields: str) -> Review | None:
        """The same config with fields left out; None when that breaks a rule."""
        cfg = self.given
        for field in fields:
            cfg = changed(cfg, field, _default(self.given, field))
        try:
            return Review(cfg)
        except ConfigError:
            return None
