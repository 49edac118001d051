"""How one sample is taken: on the GPU's own clock, and never while the GPU waits for the host.

A pair of events around a launch also counts the time in which the GPU has nothing to do because the host has
not enqueued the launch yet. So the GPU is kept busy while the host enqueues: by the flush of the L2 cache,
and by a *guard*, a pause on the GPU. After the last event is enqueued, the first one is asked whether the
GPU has come to it already. If so, the host was too slow, the sample says nothing, and it is taken again with
a longer guard.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, Protocol

from cutegen.errors import CheckFailedError

__all__ = ["STATES", "Case", "Device", "Event", "Samples", "State", "StateName", "measure"]

StateName = Literal["cool", "hot", "chain"]

CHAIN = 16
"""GEMMs of one sample in the state ``chain``."""

_LEAD = 2  # GEMMs before them that are not timed
_ATTEMPTS = 12
_FIRST_GROWTH = 100.0  # microseconds of guard where there was none


class Event(Protocol):
    """A mark in the stream."""

    def reached(self) -> bool:
        """Whether the GPU has come to it."""

    def microseconds_to(self, later: Event) -> float:
        """From this mark to a later one, both of which were reached."""


class Device(Protocol):
    """What a measurement needs of a GPU; everything but ``wait`` and ``idle`` only enqueues."""

    def flush(self) -> None:
        """Overwrite the L2 cache."""

    def hold(self, microseconds: float) -> None:
        """Keep the GPU from going on for at least so long."""

    def mark(self) -> Event:
        """Put a mark into the stream."""

    def wait(self) -> None:
        """Wait until the GPU has done everything."""

    def idle(self, seconds: float) -> None:
        """Let the GPU rest; it has done everything."""


@dataclass(frozen=True, kw_only=True)
class State:
    """In which state a GPU is when a sample begins.

    Attributes:
        name: Its name.
        meaning: What it is, in words.
        pause: Seconds of rest before each sample.
        flush: Whether the L2 cache is overwritten before each sample.
        guard: Microseconds of the first guard.
        lead: Launches that are not timed, right before those that are.
        launches: Launches of one sample; its time is divided by their number.
    """

    name: StateName
    meaning: str
    pause: float = 0.0
    flush: bool = True
    guard: float = 0.0
    lead: int = 0
    launches: int = 1


STATES: dict[StateName, State] = {
    state.name: state
    for state in (
        State(
            name="cool",
            meaning="one launch after 8 ms without work and a flush of the L2 cache: the clock is high",
            pause=0.008,
            guard=200.0,
        ),
        State(
            name="hot",
            meaning="back to back, each launch after a flush of the L2 cache: the clock is what power allows",
        ),
        State(
            name="chain",
            meaning=f"{CHAIN} launches in a row over weights that are too many for the L2 cache, time of one",
            flush=False,
            guard=400.0,
            lead=_LEAD,
            launches=CHAIN,
        ),
    )
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Something to be timed.

    Attributes:
        name: Its name.
        launches: What enqueues one launch; if several, they are called in turn.
    """

    name: str
    launches: Sequence[Callable[[], object]]


@dataclass(kw_only=True)
class Samples:
    """The samples of one case.

    Attributes:
        microseconds: Of one launch, in the order in which they were taken.
        repeated: Samples that were taken again because the host was too slow.
    """

    microseconds: list[float] = field(default_factory=list)
    repeated: int = 0

    @property
    def median(self) -> float:
        """The median, in microseconds."""
        return statistics.median(self.microseconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The lower and the upper quartile, in microseconds."""
        if len(self.microseconds) == 1:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.microseconds, n=4, method="inclusive")
        return low, high


def measure(
    cases: Sequence[Case],
    device: Device,
    state: State,
    *,
    rounds: int,
    rng: Random,
    progress: Callable[[], None] = lambda: None,
) -> Mapping[str, Samples]:
    """Time all cases in turn: every round takes one sample of each, in a random order.

    Before the first round each case runs once and a round is thrown away, so that nothing is loaded, chosen
    or allocated while it is timed.

    Args:
        cases: What to time; their names differ.
        device: The GPU.
        state: In which state it is to be.
        rounds: Samples of each case, at least 1.
        rng: Decides the order.
        progress: Called after each round, the one that is thrown away included.

    Raises:
        CheckFailedError: The host could not enqueue a sample in time, however long the guard.
    """
    for case in cases:
        for launch in case.launches:
            launch()
    device.wait()
    guard = _Guard(state.guard)
    found: dict[str, Samples] = {}
    for number in range(rounds + 1):
        if number <= 1:  # what the first round showed is thrown away, but for the guard
            found = {case.name: Samples() for case in cases}
        _round(rng.sample(cases, len(cases)), device, state, guard, found)
        progress()
    return found


class _Guard:
    """How long the GPU is held before a sample, in microseconds; it only grows."""

    def __init__(self, microseconds: float) -> None:
        self.microseconds = microseconds

    def grow(self) -> None:
        self.microseconds = max(2 * self.microseconds, _FIRST_GROWTH)


def _round(
    order: Sequence[Case], device: Device, state: State, guard: _Guard, found: Mapping[str, Samples]
) -> None:
    """One good sample of each case."""
    pending = list(order)
    for _ in range(_ATTEMPTS):
        taken = [(case, *_sample(case, device, state, guard.microseconds)) for case in pending]
        device.wait()
        pending = []
        for case, begin, end, late in taken:
            samples = found[case.name]
            if late:
                samples.repeated += 1
                pending.append(case)
            else:
                samples.microseconds.append(begin.microseconds_to(end) / state.launches)
        if not pending:
            return
        guard.grow()
    raise CheckFailedError(
        f"{pending[0].name} cannot be timed: the host needs more than {guard.microseconds / 2000:.0f} ms to "
        f"enqueue {state.launches + state.lead} launches; is the machine busy with other work?"
    )


def _sample(case: Case, device: Device, state: State, guard: float) -> tuple[Event, Event, bool]:
    """Enqueue one sample: the marks around it, and whether the GPU came to the first one too early."""
    launches = case.launches
    if state.pause:
        device.wait()
        device.idle(state.pause)
    if state.flush:
        device.flush()
    if guard:
        device.hold(guard)
    for number in range(state.lead):
        launches[number % len(launches)]()
    begin = device.mark()
    for number in range(state.lead, state.lead + state.launches):
        launches[number % len(launches)]()
    end = device.mark()
    return begin, end, begin.reached()
