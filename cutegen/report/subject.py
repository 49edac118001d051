"""Everything that the page shows of one config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cutegen.errors import ConfigError
from cutegen.lint import Access, accesses
from cutegen.loader import LoadedConfig, to_data
from cutegen.partitions import Partition, partitions
from cutegen.plan import KernelPlan, Plan
from cutegen.render import RenderedKernel, render
from cutegen.report.data import kernel_data
from cutegen.report.room import Built, Room, built, room
from cutegen.yamlwrite import flow

__all__ = ["Advice", "Subject", "refused", "subject"]


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
        plan: What the config makes; None if it breaks a rule, and then nothing follows.
        violations: The rules that it breaks, as ``cutegen check --json`` has them.
        config: Value of each field, and whether the file gave it or cutegen chose it.
        facts: What follows, in words, by name.
        warnings: As ``cutegen check --json`` has them.
        advice: Better values.
        workload: What the kernel makes of the problem that was asked for, in words.
        accesses: What each access costs.
        partitions: The tensors of thread 0.
        rendered: The source.
        built: The compiler's figures, if the cache has the kernel; if need be those for another target.
        room: CTAs on an SM.
        data: The layouts that the pictures are drawn from.
    """

    label: str
    config: dict[str, tuple[str, ...]]
    plan: Plan | None = None
    violations: Sequence[Mapping[str, Any]] = ()
    facts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: Sequence[Mapping[str, Any]] = ()
    advice: Sequence[Advice] = ()
    workload: dict[str, tuple[str, ...]] = field(default_factory=dict)
    accesses: tuple[Access, ...] = ()
    partitions: tuple[Partition, ...] = ()
    rendered: RenderedKernel | None = None
    built: Built | None = None
    room: Room | None = None
    data: dict[str, Any] | None = field(default=None, repr=False)


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
    compiled = built(rendered, plan.arch)
    return Subject(
        label=label,
        plan=plan,
        config=_config(loaded, _leaves(to_data(plan.config))),
        facts=facts,
        warnings=warnings,
        advice=advice,
        workload=workload or {},
        accesses=accesses(plan),
        partitions=partitions(plan) if isinstance(plan, KernelPlan) else (),
        rendered=rendered,
        built=compiled,
        room=room(plan, compiled, asked=loaded.given("min_blocks")),
        data=kernel_data(plan),
    )


def refused(label: str, loaded: LoadedConfig, error: ConfigError) -> Subject:
    """What is shown of a config that breaks a rule: what it says, and what is wrong with it."""
    leaves = _leaves(to_data(loaded.config))
    given = {name: value for name, value in leaves.items() if loaded.given(name)}
    return Subject(label=label, config=_config(loaded, given), violations=error.to_dict()["violations"])


def _config(loaded: LoadedConfig, leaves: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {name: (flow(value), "" if loaded.given(name) else "auto") for name, value in leaves.items()}


def _leaves(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            found |= _leaves(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
