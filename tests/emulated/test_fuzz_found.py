"""Configs that ``cutegen fuzz`` found, made small: each failed once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cutegen.emulator import find_host_toolchain
from cutegen.fuzz import Case, Prober, Tools
from cutegen.loader import loads
from cutegen.trial import Problem


@dataclass(frozen=True)
class Found:
    """A config in YAML, what it failed on, and what was wrong."""

    name: str
    text: str
    problem: tuple[int, int, int]
    why: str

    def __str__(self) -> str:
        return self.name


FOUND = (
    Found(
        "direct-two-atoms-along-k",
        "{arch: sm_80, mainloop: direct, a: {dtype: f16}, b: {dtype: f16}, accumulator: f32, "
        "tile: [32, 16, 32], tiled_mma: {layout: [1, 1, 1], permutation: [16, 8, 32]}}",
        (32, 16, 72),
        "fragments were filled in the order of coordinates, though the steps follow the registers",
    ),
)


@pytest.mark.parametrize("found", FOUND, ids=str)
def test_it_works_now(found: Found) -> None:
    m, n, k = found.problem
    case = Case(seed=0, config=loads(found.text), problems=(Problem(m=m, n=n, k=k),))
    failure = Prober(Tools(host=find_host_toolchain()))(case)
    assert failure is None, f"{found.why}\n{failure.message if failure else ''}"
