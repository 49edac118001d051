"""What was measured, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from cutegen.bench.gpu import Facts
from cutegen.bench.shapes import Shape
from cutegen.bench.timing import StateName

__all__ = ["Floor", "Results", "Row"]


@dataclass(frozen=True, kw_only=True)
class Floor:
    """The time below which a product cannot be.

    Attributes:
        us: The time in microseconds.
        by: What sets it: moving A, B and D once at the bandwidth of a copy, or computing at the card's rate.
    """

    us: float
    by: Literal["bytes", "flop"]

    @classmethod
    def of(cls, shape: Shape, moved: int, *, copy_gbps: float, tflops: float | None) -> Floor:
        """The larger of both.

        Args:
            shape: The problem.
            moved: Bytes of A, B and D.
            copy_gbps: Bandwidth in GB/s.
            tflops: Rate in TFLOP/s; None where it is not known, and does not count.
        """
        bytes_us = moved / copy_gbps / 1e3
        flop_us = shape.flop / tflops / 1e6 if tflops else 0.0
        return cls(us=flop_us, by="flop") if flop_us > bytes_us else cls(us=bytes_us, by="bytes")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One contestant on one shape in one state.

    Attributes:
        shape: The problem.
        state: The state.
        name: The contestant.
        own: Whether it is a kernel of cutegen.
        reference: Whether ratios are to it.
        operands: Types and layouts, in words.
        us: Median time of one launch, in microseconds.
        low: Lower quartile; likewise the upper, high.
        samples: Number of samples.
        repeated: Samples taken again because the host was too slow.
        tflops: Rate of computing in TFLOP/s; 0 for what does not compute.
        gbps: Bytes of A, B and D (of B, for what only reads it), each counted once, over the time, in GB/s.
        floor: The time below which it cannot be.
        ratio: Time of the reference over its time; over 1 is faster. None without a reference.
    """

    shape: Shape
    state: StateName
    name: str
    own: bool
    reference: bool
    operands: str
    us: float
    low: float
    high: float
    samples: int
    repeated: int
    tflops: float
    gbps: float
    floor: Floor
    ratio: float | None

    @property
    def floor_share(self) -> float:
        """The floor over the time: 1 cannot be exceeded, but by what stays in the L2 cache."""
        return self.floor.us / self.us

    def to_dict(self) -> dict[str, Any]:
        """As a flat, JSON-ready dictionary; the columns of the CSV file."""
        flat = {"m": self.shape.m, "n": self.shape.n, "k": self.shape.k, **asdict(self)}
        del flat["shape"], flat["floor"]
        flat |= {"floor_us": self.floor.us, "floor_by": self.floor.by, "floor_share": self.floor_share}
        return {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in flat.items()}


@dataclass(frozen=True, kw_only=True)
class Results:
    """What one run measured.

    Attributes:
        facts: On what.
        empty_us: By state, the time of a launch that does nothing, measured as all others.
        peaks: By operands in words, the rate at which floors are computed, in TFLOP/s, if it is known.
        rows: One for each contestant, shape and state.
        notes: What did not take part, and why.
    """

    facts: Facts
    empty_us: Mapping[StateName, float]
    peaks: Mapping[str, float | None]
    rows: Sequence[Row]
    notes: Sequence[str] = field(default_factory=tuple)

    def shapes(self) -> list[Shape]:
        """The problems, in order."""
        return list(dict.fromkeys(row.shape for row in self.rows))

    def states(self) -> list[StateName]:
        """The states, in order."""
        return list(dict.fromkeys(row.state for row in self.rows))

    def select(self, shape: Shape, state: StateName) -> list[Row]:
        """The rows of one problem in one state, the quickest first."""
        found = [row for row in self.rows if (row.shape, row.state) == (shape, state)]
        return sorted(found, key=lambda row: row.us)

    def to_dict(self) -> dict[str, Any]:
        """As a JSON-ready dictionary."""
        return {
            **self.facts.to_dict(),
            "empty_us": {state: round(us, 2) for state, us in self.empty_us.items()},
            "peak_tflops": dict(self.peaks),
            "notes": list(self.notes),
            "rows": [row.to_dict() for row in self.rows],
        }
