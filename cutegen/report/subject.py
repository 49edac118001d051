"""Everything that the page shows of one config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cutegen.lint import Access, accesses
from cutegen.loader import LoadedConfig, to_data
from cutegen.partitions import Partition, partitions
from cutegen.plan import KernelPlan, Plan
from cutegen.render import RenderedKernel, render
from cutegen.report.data import kernel_data
from cutegen.report.room import Built, Room, built, room
from cutegen.yamlwrite import flow

__all__ = ["Advice", "Subject", "subject"]


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A better value: what to write, and the figures that it changes, before and after."""

    change: str
    figures: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One config on the page.

    Attributes:
        label: The file's name, or another name.
        plan: What the config makes.
        config: Value of each field, and whether the file gave it or cutegen chose it.
        facts: What follows, in words, by name.
        warnings: As ``cutegen check --json`` has them.
        advice: Better values.
        workload: What the kernel makes of the problem that was asked for, in words.
        accesses: What each access costs.
        partitions: The tensors of thread 0.
        rendered: The source.
        built: The compiler's figures, if the cache has the kernel.
        room: CTAs on an SM.
        data: The layouts that the pictures are drawn from.
    """

    label: str
    plan: Plan
    config: dict[str, tuple[str, ...]]
    facts: dict[str, tuple[str, ...]]
    warnings: Sequence[Mapping[str, Any]]
    advice: Sequence[Advice]
    workload: dict[str, tuple[str, ...]]
    accesses: tuple[Access, ...]
    partitions: tuple[Partition, ...]
    rendered: RenderedKernel
    built: Built | None
    room: Room | None
    data: dict[str, Any] | None = field(repr=False)


def subject(
    label: str,
    loaded: LoadedConfig,
    plan: Plan,
    *,
    facts: dict[str, tuple[str, ...]],
    warnings: Sequence[Mapping[str, Any]] = (),
    advice: Sequence[Advice] = (),
    workload: dict[str, tuple[str, ...]] | None = None,
) -> Subject:
    """What is shown of a config.

    Args:
        label: The file's name.
        loaded: The config, and what its file says.
        plan: What it makes.
        facts: What follows from it, in words, by name.
        warnings: As ``cutegen check --json`` has them.
        advice: Better values.
        workload: What the kernel makes of a problem, in words.
    """
    rendered = render(plan)
    compiled = built(rendered)
    return Subject(
        label=label,
        plan=plan,
        config=_config(loaded, plan),
        facts=facts,
        warnings=warnings,
        advice=advice,
        workload=workload or {},
        accesses=accesses(plan),
        partitions=partitions(plan) if isinstance(plan, KernelPlan) else (),
        rendered=rendered,
        built=compiled,
        room=room(plan, compiled),
        data=kernel_data(plan),
    )


def _config(loaded: LoadedConfig, plan: Plan) -> dict[str, tuple[str, ...]]:
    leaves = _leaves(to_data(plan.config))
    return {name: (flow(value), "" if loaded.given(name) else "auto") for name, value in leaves.items()}


def _leaves(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            found |= _leaves(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
