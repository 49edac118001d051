"""Streams, graphs, threads: a launch is where and when torch's own would be (J01)."""

from __future__ import annotations

import threading

import pytest

from cutegen.errors import LaunchError
from tests.support.gpu import families, gemm_config

torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")

F16 = gemm_config("f16", d="f16")
COLD = gemm_config("f16", d="f16", scheduler={"group": 3})  # launched by one test alone
SLEEP = 1_000_000  # cycles, about half a millisecond
FAMILIES = families()


def ints(*shape, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed + sum(shape))
    return torch.randint(-2, 3, shape, device="cuda", generator=generator).half()


def mm(a, b):
    return (a.double() @ b.double()).half()


@FAMILIES
@pytest.mark.parametrize("how", ["call", "new", "plan"])
def test_j01_side_stream_after_a_slow_producer(kernel_of, case, how):
    kernel = kernel_of(case.config)
    source, a, w = ints(256, 256), torch.zeros_like(ints(256, 256)), ints(128, 256)
    out = torch.empty(256, 128, dtype=torch.float16, device="cuda")
    sources = [source + i % 3 for i in range(100)]
    wants = [mm(s, w.t()) for s in sources[:3]]
    prepared = kernel.plan(a, w.t(), out=out)
    kernel(a, w.t(), out=out)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for i, source in enumerate(sources):
        with torch.cuda.stream(stream):
            a.zero_()
            torch.cuda._sleep(SLEEP)
            a.copy_(source)
            if how == "plan":
                got = prepared()
            else:
                got = kernel(a, w.t(), out=out) if how == "call" else kernel(a, w.t())
            got = got.clone()
        stream.synchronize()
        assert torch.equal(got, wants[i % 3]), i


@FAMILIES
def test_does_not_synchronise(kernel_of, case):
    kernel = kernel_of(case.config)
    a, w = ints(256, 256), ints(128, 256)
    out = kernel(a, w.t())
    spare = kernel(a, w.t())
    del spare  # its memory serves the call below, so that no allocation waits for the GPU
    torch.cuda.synchronize()
    done = torch.cuda.Event()
    torch.cuda._sleep(100 * SLEEP)
    kernel(a, w.t(), out=out)
    kernel(a, w.t())
    done.record()
    assert not done.query()
    torch.cuda.synchronize()


@FAMILIES
@pytest.mark.parametrize("how", ["call", "new", "plan"])
def test_graph_capture(kernel_of, case, how):
    kernel = kernel_of(case.config)
    assert kernel.load() in ("cubin", "ptx")
    a, w = ints(256, 256), ints(128, 256)
    c = ints(256, 128)
    out = torch.empty(256, 128, dtype=torch.float16, device="cuda")
    prepared = kernel.plan(a, w.t(), c, out, beta=1)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(3):
            given = out if how == "call" else None
            got = prepared() if how == "plan" else kernel(a, w.t(), c, given, beta=1)
    for seed in range(3):
        a.copy_(ints(256, 256, seed=seed))
        got.fill_(torch.nan)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(got, (a.double() @ w.double().t() + c.double()).half())


@pytest.mark.kernels(COLD)
def test_a_cold_kernel_refuses_to_be_captured_and_spoils_nothing(kernel_of):
    kernel = kernel_of(COLD)
    assert kernel.loaded() is None
    a, w = ints(256, 256), ints(128, 256)
    out = torch.empty(256, 128, dtype=torch.float16, device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        with pytest.raises(LaunchError, match=r"call kernel.load\(0\) before the capture"):
            kernel(a, w.t(), out=out)
        out.fill_(7)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert (out == 7).all()
    kernel.load()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(a, w.t(), out=out)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out, mm(a, w.t()))


@FAMILIES
def test_threads_with_streams_of_their_own(kernel_of, case):
    kernel = kernel_of(case.config)
    w = ints(128, 256)
    torch.cuda.synchronize()
    failures = []

    def work(seed):
        try:
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                for i in range(100):
                    a = ints(64 * (1 + (seed + i) % 3), 256, seed=100 * seed + i)
                    out = torch.empty(a.shape[0], 128, dtype=torch.float16, device="cuda")
                    kernel(a, w.t(), out=out)
                    want = mm(a, w.t())
                    stream.synchronize()
                    if not torch.equal(out, want):
                        failures.append((seed, i))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@FAMILIES
def test_what_is_loaded(kernel_of, case):
    kernel = kernel_of(case.config)
    capability = torch.cuda.get_device_capability()
    fits = kernel.artifact.target.rstrip("a") == f"sm_{10 * capability[0] + capability[1]}"
    assert kernel.load("cuda:0") == ("cubin" if fits else "ptx")
    attributes = kernel.attributes(torch.device("cuda", 0))
    if fits:
        assert attributes.registers == kernel.resources.registers
    assert attributes.local_bytes == kernel.resources.stack
    assert attributes.dynamic_smem == kernel.resources.dynamic_smem
    assert attributes.blocks_per_sm >= 1
