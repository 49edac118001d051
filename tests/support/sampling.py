"""CI runs a sample of what takes a compiler long; ``-m slow`` has the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

__all__ = ["sampled"]

T = TypeVar("T")


def sampled(values: Iterable[T], in_ci: Callable[[T], bool], name: Callable[[T], str] = str) -> list[Any]:
    """Parameters of which those that ``in_ci`` refuses are marked ``slow``."""
    return [
        pytest.param(value, id=name(value), marks=() if in_ci(value) else pytest.mark.slow)
        for value in values
    ]
