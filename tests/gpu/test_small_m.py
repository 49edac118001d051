"""Few rows of A on Hopper: the configs chosen for them, sums that repeat, chains of dependent launches."""

from __future__ import annotations

import pytest
import torch

from cutegen.few_rows import small_m_config
from tests.support.gpu import Case, run_exact, runs_wgmma
from tests.support.wgmma_variants import VARIANTS

pytestmark = pytest.mark.skipif(not runs_wgmma(), reason="wgmma is there on compute capability 9.0 only")

SHAPES = [
    *((64, 2112, 7168), (64, 7168, 2048), (64, 24576, 1536), (16, 8192, 8192), (1, 8192, 8192)),
    *((128, 7168, 16384), (7, 200, 4096), (16, 960, 8192), (100, 1000, 136)),
]
CHOSEN = [
    Case(
        "x".join(map(str, shape)) + ("-pdl" if pdl else ""),
        lambda s=shape, p=pdl: small_m_config(*s, "bf16", pdl=p),
    )
    for shape in SHAPES
    for pdl in (False, True)
]
SPLIT = VARIANTS["split_in_three_static"]
DEPENDENT = [Case(name, lambda name=name: VARIANTS[name]) for name in VARIANTS if name.startswith("pdl")]


@pytest.mark.parametrize("case", CHOSEN, ids=str)
def test_chosen_configs_are_exact(case, kernel_of):
    kernel = kernel_of(case.config)
    m, n, k = (int(x) for x in case.name.removesuffix("-pdl").split("x"))
    for rows in {m, max(1, m - 3)}:
        run_exact(kernel, rows, n, k, seed=rows)


@pytest.mark.kernels(SPLIT)
def test_split_sums_are_the_same_every_time(kernel_of):
    a = torch.randn(100, 4104, device="cuda").bfloat16()
    b = torch.randn(1000, 4104, device="cuda").bfloat16()
    first = kernel_of(SPLIT)(a, b, b_is="nk")
    assert all(torch.equal(kernel_of(SPLIT)(a, b, b_is="nk"), first) for _ in range(20))


@pytest.mark.parametrize("case", DEPENDENT, ids=str)
@pytest.mark.parametrize("graph", [False, True], ids=["launched", "graph"])
def test_each_of_a_chain_waits_for_the_one_before(case, graph, kernel_of):
    """Each launch permutes the columns that the one before wrote, into what that one read."""
    if case.config.a.constant:
        pytest.skip("A is promised to be constant, and in a chain it is not")
    kernel, steps, size = kernel_of(case.config), 100, 2048
    order = [torch.randperm(size, device="cuda") for _ in range(7)]
    b = [torch.eye(size, device="cuda")[p].bfloat16() for p in order]
    start = torch.randint(-100, 101, (48, size), device="cuda").bfloat16()
    want = start
    for i in range(steps):
        want = want[:, order[i % 7]]
    buffers = [torch.empty_like(start), torch.empty_like(start)]

    def chain():
        buffers[0].copy_(start)
        for i in range(steps):
            kernel(buffers[i % 2], b[i % 7], None, buffers[1 - i % 2], b_is="nk")

    chain()
    torch.cuda.synchronize()
    assert torch.equal(buffers[steps % 2], want)
    if graph:
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            chain()
        for _ in range(5):
            buffers[0].zero_()
            buffers[1].zero_()
            captured.replay()
            torch.cuda.synchronize()
            assert torch.equal(buffers[steps % 2], want)
