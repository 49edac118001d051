"""Warnings: configs that work and are surely not meant so.

Every advice stands in one place with its reason and its source; ``cutegen rules`` prints them from here.
"""

from __future__ import annotations

from functools import lru_cache

from cutegen.config import GemmConfig, as_config
from cutegen.lint import memory, resources  # noqa: F401  # each module registers its advices
from cutegen.lint.registry import Advice, LintWarning, advices
from cutegen.lint.review import Review
from cutegen.lint.traffic import Access, accesses
from cutegen.plan import KernelPlan, plan

__all__ = ["Access", "Advice", "LintWarning", "accesses", "all_advices", "lint"]


def all_advices() -> tuple[Advice, ...]:
    """Every advice, in the order in which they are asked."""
    return advices()


def lint(cfg: GemmConfig) -> list[LintWarning]:
    """What is surely not meant in a config that works; an empty list where nothing is.

    Raises:
        ConfigError: The config breaks a rule; see :func:`cutegen.check`.
    """
    return list(_lint(as_config(cfg)))


@lru_cache(maxsize=1024)
def _lint(cfg: GemmConfig) -> tuple[LintWarning, ...]:
    if not isinstance(plan(cfg), KernelPlan):
        return ()  # bulk copies and descriptors leave none of the choices that advices are about
    review = Review(cfg)
    return tuple(warning for each in advices() for warning in each.warnings(review))
