"""The idiomatic style on the CPU emulator: exact at whole and partial tiles, no race, no stale read."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutegen
from cutegen.config import GemmConfig
from tests.support.emulated import Problem, kernel_of
from tests.support.oracle_configs import HANDMADE

ROOT = Path(__file__).parents[2]

#: One for each part file of the templates; the rest runs with ``-m slow``.
SAMPLE = (
    "example:simple",
    "example:smem",
    "handmade:copies_of_one_element",
    "handmade:padded_stages",
    "handmade:simt_f16",
)
KEYS = [
    *(
        f"example:{path.stem}"
        for path in sorted((ROOT / "examples").glob("*.yaml"))
        if "matrix" not in path.stem
    ),
    *(f"handmade:{name}" for name in HANDMADE),
]


def _config(key: str) -> GemmConfig:
    kind, _, name = key.partition(":")
    if kind == "handmade":
        return GemmConfig.model_validate(HANDMADE[name])
    return cutegen.load(ROOT / f"examples/{name}.yaml")


@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=() if key in SAMPLE else pytest.mark.slow) for key in KEYS]
)
def test_it_is_exact_and_clean(key: str) -> None:
    config = _config(key)
    kernel = kernel_of(config, "idiomatic")
    shapes = [(144, 272, 80), (16, 16, 16), (144, 144, 0)]
    if key == "handmade:copies_of_one_element":
        shapes += [(37, 45, 51), (65, 129, 33), (1, 1, 1)]
    for shape in shapes:
        for beta in (0.0, 1.0):
            problem = Problem(config, *shape, beta=beta)
            report = problem.run(kernel)
            assert problem.exact, (key, shape, beta)
            assert report.clean, report.summary()
