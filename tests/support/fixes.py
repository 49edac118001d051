"""Read the ways out that a violation names, and apply them to the config."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cutegen.config import GemmConfig
from cutegen.errors import Violation
from cutegen.rules import ways

__all__ = ["fixed_configs", "ways_out"]


def ways_out(violation: Violation) -> list[dict[str, Any]]:
    """Patches by dotted path; None, or auto, leaves a field out. ``with`` joins two patches to one way."""
    return ways.ways_out(violation.fix)


def fixed_configs(cfg: GemmConfig, violation: Violation) -> Iterator[tuple[dict[str, Any], GemmConfig]]:
    """Each way out of a violation, with the config after it."""
    for way in ways_out(violation):
        yield way, ways.patched(cfg, way)
