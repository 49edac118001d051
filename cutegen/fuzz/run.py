"""The fuzz loop: cases from seeds, tried side by side until the time or the count is over."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any

from cutegen.fuzz.case import Case, Choices, Failure, make_case
from cutegen.fuzz.minimise import minimise
from cutegen.toolchain.process import Workers

__all__ = ["Summary", "fuzz"]


@dataclass(kw_only=True)
class Summary:
    """What a fuzz run did.

    Attributes:
        seed: The first seed.
        cases: Cases that were tried to their end.
        forced: Those of them that the rules refuse.
        styles: Accepted cases by style.
        on_paper: Accepted configs that were planned and rendered only.
        drawn: Random configs that were drawn for them.
        accepted: Drawn configs that the rules accept.
        refused: Drawn configs that the rules refuse.
        failures: What failed, minimised.
        seconds: How long it took.
    """

    seed: int
    cases: int = 0
    forced: int = 0
    styles: Counter[str] = field(default_factory=Counter)
    on_paper: int = 0
    drawn: int = 0
    accepted: int = 0
    refused: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        """The summary as a JSON-ready dictionary."""
        return {
            "seed": self.seed,
            "cases": self.cases,
            "forced": self.forced,
            "styles": dict(self.styles),
            "on_paper": self.on_paper,
            "drawn": self.drawn,
            "accepted": self.accepted,
            "refused": self.refused,
            "failures": [f.to_dict() for f in self.failures],
            "seconds": round(self.seconds, 3),
        }


def fuzz(
    probe: Callable[[Case], Failure | None],
    *,
    seed: int = 0,
    seconds: float | None = None,
    count: int | None = None,
    choices: Choices | None = None,
    jobs: int = 1,
    minimise_seconds: float = 240.0,
    progress: Callable[[Summary, Failure | None], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Summary:
    """Try cases of seeds from ``seed`` on.

    Args:
        probe: Tries a case; see :class:`~cutegen.fuzz.probe.Prober`.
        seed: The first seed. Equal seeds give equal cases.
        seconds: When to begin no further case; None: ``count`` says when.
        count: Cases to try at most.
        choices: What configs are made of.
        jobs: Cases at a time.
        minimise_seconds: How long to minimise a failure at most; 0: not at all.
        progress: Told after each case, with its failure before it is minimised.
        clock: Tells the time.
    """
    begin = clock()
    summary = Summary(seed=seed)
    following = seed
    pending: dict[Future[Failure | None], Case] = {}
    kinds: set[tuple[str, str]] = set()

    def wanted() -> bool:
        started = following - seed
        return (count is None or started < count) and (seconds is None or clock() - begin < seconds)

    with Workers(jobs) as pool:
        while True:
            while len(pending) < jobs and wanted():
                case, drawn = make_case(following, choices)
                following += 1
                summary.drawn += drawn["drawn"]
                summary.accepted += drawn["accepted"]
                summary.refused += drawn["refused"]
                pending[pool.submit(probe, case)] = case
            if not pending:
                break
            done, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in done:
                case = pending.pop(future)
                failure = future.result()
                summary.cases += 1
                summary.on_paper += len(case.companions)
                summary.forced += case.expectation == "refused"
                if case.expectation == "accepted":
                    summary.styles[case.style] += 1
                summary.seconds = clock() - begin
                if progress is not None:
                    progress(summary, failure)
                if failure is not None:
                    # A kind that was minimised once shows the same fault most times.
                    key = (failure.kind, failure.detail)
                    if minimise_seconds > 0 and key not in kinds:
                        failure = minimise(failure, probe, seconds=minimise_seconds, clock=clock)
                    kinds.add(key)
                    summary.failures.append(failure)
    summary.seconds = clock() - begin
    return summary
