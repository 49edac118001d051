"""``tma_wgmma`` on the CPU emulator: exact at whole and partial tiles, clean in every order of threads."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutegen
from cutegen.config import GemmConfig
from tests.support.emulated import Problem, kernel_of
from tests.support.gpu import fits
from tests.support.sampling import sampled
from tests.support.wgmma_variants import IN_GLOBAL_MEMORY, VARIANTS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "hopper").glob("*.yaml"))

#: What is run in many orders of threads.
ORDERED = (
    "pingpong_cluster",
    "three_consumers",
    "cluster_of_four",
    "s8_scaled",
    "overlap_odd_columns",
    "scaled_m_major",
    "promoted",
    "registers_cluster",
    "swapped_registers_pingpong",
)

#: Multiples of 16, as bulk copies of 8-bit rows need them; parts of tiles, less than a tile, no K.
SHAPES = ((304, 528, 208), (16, 32, 80), (128, 64, 0))

#: Few rows, and residues of N and K; those whose rows a config's alignments allow.
SMALL = ((1, 136, 200), (7, 264, 72), (8, 128, 8), (16, 72, 520), (100, 200, 136))


def run(config: GemmConfig, shape: tuple[int, int, int], seed: int = 0, beta: float = 0.0) -> None:
    problem = Problem(config, *shape, seed=seed, beta=beta)
    report = problem.run(kernel_of(config), seed=seed)
    assert report.clean, report.summary()
    assert problem.exact


@pytest.mark.parametrize(
    "name",  # small problems have split_in_eight, and test_stream_k.py those that sum in global memory
    sampled(VARIANTS, lambda name: name != "split_in_eight" and name not in IN_GLOBAL_MEMORY),
)
def test_it_is_exact_and_clean(name: str) -> None:
    for shape in SHAPES:
        run(VARIANTS[name], shape)
    run(VARIANTS[name], SHAPES[0], beta=1.0)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith(("swapped", "split", "pdl"))])
def test_small_problems_are_exact_and_clean(name: str) -> None:
    config = cutegen.resolve(VARIANTS[name])
    shapes = [shape for shape in SMALL if fits(config, *shape)]
    for seed, shape in enumerate(shapes):
        run(config, shape, seed=seed, beta=float(seed % 2))
    assert shapes or config.a.major == "m" or config.a.dtype != "bf16"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_exact_and_clean(path: Path) -> None:
    config = cutegen.load(path)
    run(config, (304, 528, 208))
    run(config, (272, 272, 144), beta=1.0)


@pytest.mark.parametrize("name", ORDERED)
def test_every_order_of_threads_is_clean(name: str) -> None:
    for seed in range(1, 21):
        run(VARIANTS[name], (272, 272, 208), seed=seed, beta=1.0)


@pytest.mark.parametrize("name", ["split_in_three_static", "split_swapped_cluster", "pdl_split_cluster"])
def test_every_order_is_clean_for_few_rows(name: str) -> None:
    for seed in range(1, 21):
        run(VARIANTS[name], (40, 136, 200), seed=seed, beta=1.0)
