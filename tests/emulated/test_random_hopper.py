"""The random Hopper configs of ``tests/gpu/test_fuzz.py`` on the emulator: exact and clean there, too."""

from __future__ import annotations

import os

import pytest

import cutegen
from tests.support.emulated import Problem, kernel_of
from tests.support.gpu import fits, latin_shapes
from tests.support.random_configs import hopper_config

COUNT = int(os.environ.get("CUTEGEN_FUZZ_COUNT", "200"))
FIRST = int(os.environ.get("CUTEGEN_FUZZ_SEED", "0"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_random_config_is_exact_and_clean(seed: int) -> None:
    config = hopper_config(seed)
    blk_m, blk_n, blk_k = cutegen.resolve(config).tile
    near = [(2 * blk_m, 3 * blk_n, 5 * blk_k), (blk_m + 16, blk_n + 48, 7 * blk_k + 16)]
    small = [shape for shape in latin_shapes(seed) if max(shape) < 512]
    shapes = [shape for shape in near + small[:2] if fits(config, *shape)]
    assert shapes
    for index, shape in enumerate(shapes):
        problem = Problem(config, *shape, seed=seed + index, beta=float(index % 2))
        report = problem.run(kernel_of(config), seed=index)
        assert report.clean, report.summary()
        assert problem.exact
