"""One run: prove everyone, then measure everyone on every shape and in every state."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from cutegen.bench.contestants import Contestant
from cutegen.bench.gpu import Facts
from cutegen.bench.operands import Operands, Tensors, empty_output, random_tensors
from cutegen.bench.proof import prove
from cutegen.bench.results import Floor, Results, Row
from cutegen.bench.shapes import Shape
from cutegen.bench.timing import STATES, Case, Device, Samples, State, StateName, measure
from cutegen.cards import peak_tflops
from cutegen.dtypes import dtype
from cutegen.errors import ArgumentError

__all__ = ["BenchDevice", "run_session"]

_CHAIN_BYTES = (
    200_000_000  # of weights that a chain goes through, so that none is in the L2 cache when its turn comes
)
_EMPTY_ROUNDS = 9

Progress = Callable[[int, int], None]


class BenchDevice(Device, Protocol):
    """What a run needs of a GPU beside taking samples."""

    def nothing(self) -> None:
        """Enqueue a kernel that does nothing."""

    def facts(self) -> Facts:
        """What it is."""


def run_session(
    contestants: Sequence[Contestant],
    shapes: Sequence[Shape],
    device: BenchDevice,
    *,
    states: Sequence[StateName] = ("cool", "hot"),
    rounds: int = 15,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
    on_shape: Callable[[Sequence[Row]], None] = lambda rows: None,
    place: str = "cuda",
) -> Results:
    """Prove and measure.

    Args:
        contestants: Who takes part; their names differ.
        shapes: The problems.
        device: The GPU.
        states: In which states it is to be.
        rounds: Samples of each contestant on each shape in each state.
        seed: Of inputs and of the order.
        progress: Called with the number of finished steps, and of all.
        on_shape: Called with the rows of each shape in each state as soon as they are there.
        place: The torch device of the operands.

    Raises:
        CheckFailedError: A product is wrong, or the host is too busy to measure; nothing is timed then.
        ArgumentError: Some kernel of cutegen can take none of the shapes.
        LaunchError: A kernel failed.
    """
    steps = _Steps(len(shapes) * (1 + len(states) * (rounds + 1)), progress)
    fields, notes = _prove(contestants, shapes, seed, steps, place)
    facts = device.facts()
    rng = random.Random(seed)
    empty = {name: _empty(device, STATES[name], rng) for name in states}
    rows: list[Row] = []
    for shape in shapes:
        for name in states:
            cases = _cases(fields[shape], shape, STATES[name], seed, place)
            samples = measure(cases, device, STATES[name], rounds=rounds, rng=rng, progress=steps.step)
            del cases  # before the next ones are made: weights may fill half the memory
            found = _rows(fields[shape], shape, name, samples, facts)
            rows += found
            on_shape(found)
    return Results(
        facts=facts,
        empty_us=empty,
        peaks={str(c.operands): peak_tflops(facts.gpu, c.operands.a) for c in contestants},
        rows=rows,
        notes=notes,
    )


class _Steps:
    def __init__(self, total: int, progress: Progress) -> None:
        self.done, self.total, self.progress = 0, total, progress

    def step(self) -> None:
        self.done += 1
        self.progress(self.done, self.total)


def _prove(
    contestants: Sequence[Contestant], shapes: Sequence[Shape], seed: int, steps: _Steps, place: str
) -> tuple[dict[Shape, list[Contestant]], list[str]]:
    """Who takes part on each shape, and notes on who cannot take it."""
    fields: dict[Shape, list[Contestant]] = {}
    notes: list[str] = []
    refused: dict[str, ArgumentError] = {}
    for shape in shapes:
        fields[shape] = []
        for contestant in contestants:
            try:
                prove(contestant, shape, seed=seed + 1, device=place)
                fields[shape].append(contestant)
            except ArgumentError as error:
                refused[contestant.name] = error
                notes.append(f"{contestant.name} cannot take {shape}: {error}")
        steps.step()
    for contestant in contestants:
        absent = not any(contestant in field for field in fields.values())
        if contestant.is_own and contestant.name in refused and absent:
            raise ArgumentError(f"{contestant.name} can take none of the shapes: {refused[contestant.name]}")
    return fields, notes


def _empty(device: BenchDevice, state: State, rng: random.Random) -> float:
    """A launch that does nothing, in microseconds, measured as all others are."""
    case = Case(name="empty launch", launches=(device.nothing,))
    return measure([case], device, state, rounds=_EMPTY_ROUNDS, rng=rng)[case.name].median


def _cases(
    contestants: Sequence[Contestant], shape: Shape, state: State, seed: int, place: str
) -> list[Case]:
    """What is to be timed, on operands that all of the same types and layouts share."""
    shared: dict[Operands, list[Tensors]] = {}
    for contestant in contestants:
        operands = contestant.operands
        if operands not in shared:
            copies = weights_of_a_chain(operands, shape) if state.launches > 1 else 1
            shared[operands] = _copies(
                random_tensors(operands, shape, seed=seed, device=place), operands, shape, copies
            )
    return [
        Case(name=c.name, launches=[c.bind(tensors) for tensors in shared[c.operands]]) for c in contestants
    ]


def weights_of_a_chain(operands: Operands, shape: Shape) -> int:
    """How many B a chain goes through: so many that they are 200 MB, and two at least."""
    return max(2, -(-_CHAIN_BYTES // (shape.n * shape.k * dtype(operands.b).bytes)))


def _copies(first: Tensors, operands: Operands, shape: Shape, count: int) -> list[Tensors]:
    """The operands, and others with the same A, an equal B and a D of their own."""
    device = str(first.a.device)
    return [first] + [
        replace(first, b=_clone(first.b), d=empty_output(operands, shape, device=device))
        for _ in range(count - 1)
    ]


def _clone(tensor: Any) -> Any:
    """A copy with the same strides."""
    import torch

    return torch.clone(tensor, memory_format=torch.preserve_format)


def _rows(
    contestants: Sequence[Contestant],
    shape: Shape,
    state: StateName,
    samples: Mapping[str, Samples],
    facts: Facts,
) -> list[Row]:
    references = {c.operands: samples[c.name].median for c in contestants if c.reference}
    rows = []
    for contestant in contestants:
        taken, operands = samples[contestant.name], contestant.operands
        us, (low, high) = taken.median, taken.quartiles
        moved = operands.bytes_of(shape)
        read = shape.n * shape.k * dtype(operands.b).bytes
        rate = peak_tflops(facts.gpu, operands.a)
        rows.append(
            Row(
                shape=shape,
                state=state,
                name=contestant.name,
                own=contestant.is_own,
                reference=contestant.reference,
                operands=str(operands),
                us=us,
                low=low,
                high=high,
                samples=len(taken.microseconds),
                repeated=taken.repeated,
                tflops=shape.flop / us / 1e6 if contestant.computes else 0.0,
                gbps=(moved if contestant.computes else read) / us / 1e3,
                floor=Floor.of(shape, moved, copy_gbps=facts.copy_gbps, tflops=rate),
                ratio=references[operands] / us if operands in references else None,
            )
        )
    return rows
