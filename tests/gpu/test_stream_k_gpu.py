"""Stream-K and split K through global memory on Hopper: exact, repeatable, on streams and in graphs."""

from __future__ import annotations

import threading

import pytest
import torch

from tests.support.gpu import Case, fits, run_exact, runs_wgmma
from tests.support.rule_cases_wgmma import hopper
from tests.support.wgmma_variants import IN_GLOBAL_MEMORY, VARIANTS

pytestmark = pytest.mark.skipif(not runs_wgmma(), reason="wgmma is there on compute capability 9.0 only")

STREAM = {"scheduler.kind": "stream_k"}
SHARED = {"scheduler.reduction": "semaphore"}
LARGE = {
    "128x256": hopper(STREAM, tile=[128, 256, 64]),
    "128x256-cluster": hopper(STREAM, tile=[128, 256, 64], cluster=[2, 1, 1]),
    "128x128": hopper(STREAM, tile=[128, 128, 64]),
    "128x128-pingpong": hopper(STREAM, tile=[128, 128, 64], schedule="pingpong"),
    "192x176": hopper(STREAM, tile=[192, 176, 64]),
    "few-rows": hopper(STREAM, tile=[64, 64, 128], swap_ab=True),
    "few-rows-in-16": hopper(SHARED | {"scheduler.split_k": 16}, tile=[64, 64, 128], swap_ab=True),
    "in-3": hopper(SHARED | {"scheduler.split_k": 3}, tile=[128, 256, 64]),
}
CASES = [
    *(Case(name, lambda name=name: LARGE[name]) for name in LARGE),
    *(Case(name, lambda name=name: VARIANTS[name]) for name in IN_GLOBAL_MEMORY),
]
DEPENDENT = [
    Case(name, lambda name=name: VARIANTS[name]) for name in ("stream_k_pdl", "semaphore_swapped_pdl")
]

#: One tile and many; waves that are whole, just begun and almost full; few k-tiles and many; odd extents.
SHAPES = [
    *((128, 256, 65536), (64, 64, 64), (1, 8, 8192), (128, 128, 0), (384, 256, 8192), (136, 264, 1000)),
    *((2048, 2048, 2048), (4096, 2112, 7168), (1152, 1408, 4096), (1280, 1536, 640), (4352, 4096, 128)),
    *((64, 2112, 7168), (16, 8192, 8192), (300, 5000, 2056), (1000, 1064, 200)),
]
ONE = LARGE["128x128"]
COLD = hopper(STREAM | {"scheduler.group": 3}, tile=[128, 128, 64])  # launched by one test alone
SHAPE = (640, 1152, 4096)  # 45 tiles of 128x128, of 132 SMs


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_exact(case, kernel_of):
    kernel = kernel_of(case.config)
    for seed, shape in enumerate(SHAPES):
        if fits(kernel.config, *shape):
            run_exact(kernel, *shape, seed=seed, beta=float(seed % 2))


def matrices(m, n, k, count=1, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    a = [torch.randint(-1, 2, (m, k), device="cuda", generator=generator).bfloat16() for _ in range(count)]
    b = torch.randint(-1, 2, (n, k), device="cuda", generator=generator).bfloat16()
    return a, b, [(x.float() @ b.float().t()).bfloat16() for x in a]


@pytest.mark.parametrize("name", LARGE)
def test_a_kernel_can_be_launched_again_and_again(name, kernel_of):
    kernel = kernel_of(LARGE[name])
    for shape in (SHAPE, (64, 2112, 7168), (1280, 1536, 640), SHAPE):  # larger, smaller, and back
        (a,), b, (want,) = matrices(*shape)
        outs = [kernel(a, b, b_is="nk") for _ in range(200)]
        assert all(torch.equal(out, want) for out in outs), shape


@pytest.mark.parametrize("name", LARGE)
def test_sums_are_the_same_every_time(name, kernel_of):
    a = torch.randn(640, 4104, device="cuda").bfloat16()
    b = torch.randn(1152, 4104, device="cuda").bfloat16()
    first = kernel_of(LARGE[name])(a, b, b_is="nk")
    assert all(torch.equal(kernel_of(LARGE[name])(a, b, b_is="nk"), first) for _ in range(50))


@pytest.mark.kernels(ONE)
@pytest.mark.parametrize("count", [2, 24])  # of streams; 16 have workspaces that are kept
def test_streams_share_no_workspace(count, kernel_of):
    kernel = kernel_of(ONE)
    streams = [torch.cuda.Stream() for _ in range(count)]
    a, b, want = matrices(*SHAPE, count=count)
    torch.cuda.synchronize()
    for _ in range(20):
        got = []
        for stream, x in zip(streams, a, strict=True):
            with torch.cuda.stream(stream):
                got.append([kernel(x, b, b_is="nk") for _ in range(3)])
        torch.cuda.synchronize()
        assert all(torch.equal(y, w) for ys, w in zip(got, want, strict=True) for y in ys)


@pytest.mark.kernels(ONE)
def test_threads_may_launch_at_once(kernel_of):
    kernel = kernel_of(ONE)
    a, b, want = matrices(*SHAPE, count=4)
    torch.cuda.synchronize()
    wrong = []

    def work(index):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(100):
                got = kernel(a[index], b, b_is="nk")
                stream.synchronize()
                if not torch.equal(got, want[index]):
                    wrong.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.kernels(ONE)
def test_workspaces_do_not_pile_up(kernel_of):
    kernel = kernel_of(ONE)
    (a,), b, _ = matrices(*SHAPE)
    out = kernel(a, b, b_is="nk")
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    for _ in range(40):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                kernel(a, b, b_is="nk", out=out)
        torch.cuda.synchronize()
    slots = 16 * 132 * (128 * 128 * 4 + 32)
    assert before - torch.cuda.mem_get_info()[0] < 2 * slots + (1 << 27)


@pytest.mark.parametrize("name", ["128x128", "128x256-cluster", "few-rows-in-16"])
def test_graphs_replay_beside_their_stream(name, kernel_of):
    kernel = kernel_of(LARGE[name])
    a, b, want = matrices(*SHAPE, count=2)
    outs = [kernel(x, b, b_is="nk") for x in a]
    torch.cuda.synchronize()
    graphs = []
    for x, out in zip(a, outs, strict=True):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(3):
                kernel(x, b, b_is="nk", out=out)
        graphs.append(graph)
    streams = [torch.cuda.Stream() for _ in graphs]
    for _ in range(20):
        for out in outs:
            out.zero_()
        torch.cuda.synchronize()
        for stream, graph in zip(streams, graphs, strict=True):
            with torch.cuda.stream(stream):
                graph.replay()
        direct = [kernel(a[0], b, b_is="nk") for _ in range(5)]
        torch.cuda.synchronize()
        assert all(torch.equal(x, want[0]) for x in direct)
        assert all(torch.equal(x, y) for x, y in zip(outs, want, strict=True))


@pytest.mark.parametrize("case", DEPENDENT, ids=str)
@pytest.mark.parametrize("graph", [False, True], ids=["launched", "graph"])
def test_each_of_a_chain_waits_for_the_one_before(case, graph, kernel_of):
    """Each launch permutes the columns that the one before wrote; all use the same flags."""
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

    for _ in range(3):
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


@pytest.mark.kernels(COLD)
def test_the_first_launch_may_be_captured(kernel_of):
    kernel = kernel_of(COLD)
    kernel.load(torch.cuda.current_device())
    (a,), b, (want,) = matrices(*SHAPE, seed=3)
    out = torch.zeros(SHAPE[0], SHAPE[1], device="cuda").bfloat16()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        kernel(a, b, b_is="nk", out=out)
    for _ in range(3):
        out.zero_()
        captured.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, want)
