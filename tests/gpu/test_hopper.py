"""``tma_wgmma`` on Hopper: every variant and example over mixed extents, bit for bit; idle CTAs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import cutegen
from tests.support.gpu import Case, fits, latin_shapes, run_exact, runs_wgmma
from tests.support.rule_cases_wgmma import hopper
from tests.support.wgmma_variants import VARIANTS

pytestmark = pytest.mark.skipif(not runs_wgmma(), reason="wgmma is there on compute capability 9.0 only")

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "hopper").glob("*.yaml"))
CASES = [
    *(Case(name, lambda config=config: config) for name, config in VARIANTS.items()),
    *(Case(f"example-{path.stem}", lambda path=path: cutegen.load(path)) for path in EXAMPLES),
]
SHAPES = [
    (256, 512, 64),
    (512, 768, 320),
    (1024, 1024, 1024),
    (1008, 1072, 208),
    (304, 2112, 512),
    (4096, 2112, 1024),
    (16, 32, 16),
    (128, 128, 0),
]
CLUSTERED = hopper(tile=[128, 128, 64], cluster=[4, 1, 1])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_exact(case, kernel_of):
    kernel = kernel_of(case.config)
    for seed, shape in enumerate([*SHAPES, *latin_shapes(3)]):
        if fits(kernel.config, *shape):
            run_exact(kernel, *shape, seed=seed, beta=float(seed % 2))


@pytest.mark.kernels(CLUSTERED)
def test_a_cluster_with_idle_ctas_ends(kernel_of):
    for m in (1, 8, 100, 130, 600):
        run_exact(kernel_of(CLUSTERED), m, 256, 128, seed=m)


@pytest.mark.kernels(CLUSTERED)
def test_warm_calls_on_many_tensors(kernel_of):
    kernel = kernel_of(CLUSTERED)
    b = torch.randint(-1, 2, (256, 128), device="cuda").bfloat16()
    for round in range(2):
        for index in range(300):  # more than the launcher keeps maps of
            a = torch.full((128, 128), float(index % 3), device="cuda").bfloat16()
            d = kernel(a, b, b_is="nk")
            if index % 50 == 0:
                assert torch.equal(d.double(), a.double() @ b.double().t()), (round, index)


@pytest.mark.kernels(CLUSTERED)
def test_expanded_rows(kernel_of):
    """A leading stride of 0 is one that a tensor map must take."""
    a = torch.randint(-1, 2, (1, 128), device="cuda").bfloat16().expand(256, 128)
    b = torch.randint(-1, 2, (256, 128), device="cuda").bfloat16()
    d = kernel_of(CLUSTERED)(a, b, b_is="nk")
    assert torch.equal(d.double(), a.double() @ b.double().t())


@pytest.mark.kernels(CLUSTERED)
def test_any_raster_group(kernel_of):
    kernel = kernel_of(CLUSTERED)
    for group in (1, 3, 16, 10_000):
        run_exact(kernel.with_group(group), 1408, 1152, 192, seed=group)
