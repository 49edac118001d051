"""Configs that ``cutegen fuzz`` found, made small: each failed once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cutegen.emulator import find_host_toolchain
from cutegen.fuzz import Case, Prober, Tools
from cutegen.loader import loads
from cutegen.render import Style
from cutegen.trial import Problem


@dataclass(frozen=True)
class Found:
    """A config in YAML, what it failed on, and what was wrong."""

    name: str
    text: str
    problem: tuple[int, int, int]
    why: str
    style: Style = "resolved"

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
    Found(
        "idiomatic-store-of-mixed-values",
        "{arch: sm_80, mainloop: direct, a: {dtype: f16}, b: {dtype: f16}, epilogue: {store: smem}, "
        "tiled_mma: {layout: [1, 1, 1], permutation: [32, {shape: [4, 4, 2], stride: [8, 2, 1]}, 16]}}",
        (1, 8, 8),
        "CuTe's retile_S took the values of a thread in another order than the fragment has them",
        style="idiomatic",
    ),
)


@pytest.mark.parametrize("found", FOUND, ids=str)
def test_it_works_now(found: Found) -> None:
    m, n, k = found.problem
    case = Case(seed=0, config=loads(found.text), problems=(Problem(m=m, n=n, k=k),), style=found.style)
    failure = Prober(Tools(host=find_host_toolchain()))(case)
    assert failure is None, f"{found.why}\n{failure.message if failure else ''}"
