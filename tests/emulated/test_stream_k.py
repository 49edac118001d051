"""Stream-K and split K through global memory on the CPU emulator: exact, clean, ready for the next launch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

import cutegen
from cutegen import emulator
from cutegen.config import GemmConfig
from cutegen.emulator import gemm
from tests.support.emulated import Problem, kernel_of
from tests.support.gpu import fits
from tests.support.sampling import sampled
from tests.support.wgmma_variants import IN_GLOBAL_MEMORY, VARIANTS

#: Parts of tiles; one tile of many k-tiles; fewer k-tiles than CTAs; tiles for some waves; no K.
SHAPES = (
    *((208, 272, 208), (16, 32, 1040), (48, 80, 784), (64, 16, 80), (16, 32, 16)),
    (128, 64, 0),
)
ORDERED = (
    *("stream_k", "stream_k_cluster", "stream_k_pingpong", "stream_k_pdl"),
    *("semaphore_in_twelve", "semaphore_pingpong"),
)
SAMPLE = ("stream_k", "stream_k_cluster", "stream_k_pingpong", "semaphore_in_twelve", "semaphore_swapped_pdl")


def run(kernel: emulator.EmulatedKernel, config: GemmConfig, shape: tuple[int, int, int], seed: int) -> None:
    """Twice the same, so that the second finds what the first left behind."""
    for beta in (0.0, 1.0):
        problem = Problem(config, *shape, seed=seed, beta=beta)
        report = problem.run(kernel, seed=seed)
        assert report.clean, report.summary()
        assert problem.exact, (shape, seed, beta)


@pytest.mark.parametrize("name", IN_GLOBAL_MEMORY)
def test_it_is_exact_and_clean(name: str) -> None:
    config = cutegen.resolve(VARIANTS[name])
    kernel = kernel_of(config)
    for seed, shape in enumerate(SHAPES):
        run(kernel, config, shape, seed)


@pytest.fixture
def residents(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Other numbers of clusters that the device holds at once."""

    def each() -> Iterator[int]:
        for most in (2, 5, 7, 1):
            monkeypatch.setattr(gemm, "_RESIDENT_CLUSTERS", most)
            yield most

    return each()


@pytest.mark.parametrize("name", sampled(IN_GLOBAL_MEMORY, lambda name: name in SAMPLE))
def test_any_number_of_clusters_is_right(name: str, residents: Iterator[int]) -> None:
    config = cutegen.resolve(VARIANTS[name])
    kernel = kernel_of(config)
    shapes = [(56, 56, 1544), (136, 72, 520), (72, 264, 328), (8, 520, 72)]
    for seed, (_, shape) in enumerate(itertools.product(residents, shapes)):
        if fits(config, *shape):
            run(kernel, config, shape, seed)


@pytest.mark.parametrize("name", ORDERED)
def test_every_order_of_threads_is_clean(name: str) -> None:
    config = cutegen.resolve(VARIANTS[name])
    kernel = kernel_of(config)
    for seed in range(1, 21):
        run(kernel, config, (40, 72, 528), seed)


@pytest.mark.parametrize("name", SAMPLE)
def test_sums_do_not_depend_on_the_order_of_threads(name: str) -> None:
    """Numbers whose sums are not exact come out the same, bit for bit."""
    config = cutegen.resolve(VARIANTS[name])
    kernel = kernel_of(config)
    seen = set()
    for seed in range(6):
        problem = Problem(config, 72, 72, 1040)
        problem.a[...] = problem.a * 3 % 251 + 16000  # bits of bf16 numbers of some magnitudes
        problem.b[...] = problem.b * 7 % 509 + 16100
        problem.run(kernel, seed=seed, sanitize=False)
        seen.add(problem.d.tobytes())
    assert len(seen) == 1


def test_a_launch_leaves_all_flags_zero() -> None:
    for name in SAMPLE:
        config = cutegen.resolve(VARIANTS[name])
        kernel = kernel_of(config)
        run(kernel, config, (72, 72, 1040), 0)
        (flags,) = kernel.workspaces.kept
        assert len(flags) > 0
        assert not any(flags.raw)


def test_few_k_tiles_are_not_shared() -> None:
    config = cutegen.resolve(VARIANTS["stream_k"])
    kernel = kernel_of(config)
    launch = kernel.launch
    assert launch.slots(64 * 3, 64 * 2, 4096, most=3) == 0  # whole waves
    assert launch.slots(64, 64, 4096, most=3) == 3
    run(kernel, config, (64, 64, 64), 0)
    assert launch.slots(64, 64, 64, most=3) == 0  # one CTA is all
