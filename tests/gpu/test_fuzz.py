"""Random accepted configs, run exactly: what the rules accept must not compute wrongly."""

from __future__ import annotations

import os
from functools import partial
from random import Random

import pytest

import cutegen
from cutegen.arch import ARCHS
from cutegen.device import gpus
from tests.support.gpu import Case, fits, latin_shapes, run_exact, runs_wgmma
from tests.support.random_configs import accepted, hopper_config

COUNT = int(os.environ.get("CUTEGEN_FUZZ_COUNT", "100"))
FIRST = int(os.environ.get("CUTEGEN_FUZZ_SEED", "0"))


def here(seed: int) -> cutegen.GemmConfig:
    """The legal config of a seed for an architecture that the GPU here runs."""
    cc = gpus()[0].cc if gpus() else 90
    archs = tuple(a.name for a in ARCHS.values() if (a.cc == cc if a.name.endswith("a") else a.cc <= cc))
    return accepted(seed, archs)


def random_cases() -> list[Case]:
    """Seeds for every mainloop and, on Hopper, others for ``tma_wgmma`` alone."""
    seeds = range(FIRST, FIRST + COUNT)
    cases = [Case(f"seed{seed}", partial(here, seed)) for seed in seeds]
    if runs_wgmma():
        cases += [Case(f"hopper{seed}", partial(hopper_config, seed)) for seed in seeds]
    return cases


@pytest.mark.parametrize("case", random_cases(), ids=str)
def test_random_config(case, kernel_of):
    seed = int(case.name.removeprefix("seed").removeprefix("hopper"))
    kernel = kernel_of(case.config)
    blk_m, blk_n, blk_k = case.config.tile
    near = [
        (blk_m, blk_n, blk_k),
        (2 * blk_m, 3 * blk_n, 5 * blk_k),
        (blk_m + 16, blk_n + 48, 7 * blk_k + 16),
    ]
    shapes = [s for s in near + latin_shapes(seed) if fits(kernel.config, *s)]
    rng = Random(seed)
    rest = shapes[3:]
    for index, shape in enumerate(shapes[:3] + rng.sample(rest, min(9, len(rest)))):
        alpha, beta = rng.choice([(1, 0), (1, 0), (2, -1), (-1, 1)])
        try:
            run_exact(kernel, *shape, seed=seed + index, alpha=alpha, beta=beta)
        except AssertionError as error:
            repro = f"CUTEGEN_FUZZ_SEED={seed} CUTEGEN_FUZZ_COUNT=1 pytest tests/gpu/test_fuzz.py"
            raise AssertionError(f"{error}\nrepro: {repro}") from error
