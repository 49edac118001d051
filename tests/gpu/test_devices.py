"""Two GPUs: the tensors' device counts, not the current one (J04, J06)."""

from __future__ import annotations

import pytest

from cutegen.errors import ArgumentError
from tests.support.gpu import families, gemm_config, run_exact

torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")

F16 = gemm_config("f16", d="f16", scheduler={"group": 5})

pytestmark = [
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="this machine has fewer than two GPUs"),
    pytest.mark.kernels(F16),
]
FAMILIES = families(scheduler={"group": 5})


@FAMILIES
@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("device", [1, 0])
def test_j04_runs_where_the_tensors_are(kernel_of, case, current, device):
    kernel = kernel_of(case.config)
    with torch.cuda.device(current):
        for seed in range(3):
            run_exact(kernel, 136, 264, 72, seed=seed, beta=seed, device=f"cuda:{device}")
        a = torch.ones(64, 64, dtype=torch.float16, device=f"cuda:{device}")
        out = kernel(a, a.t())
        prepared = kernel.plan(a, a.t())
        assert out.device == a.device
        assert torch.equal(prepared(), torch.full_like(out, 64))
        assert torch.cuda.current_device() == current
        assert kernel.loaded(device) == "cubin"


@FAMILIES
def test_j04_the_streams_of_the_tensors_device(kernel_of, case):
    kernel = kernel_of(case.config)
    a = torch.zeros(256, 256, dtype=torch.float16, device="cuda:1")
    out = kernel(a, a.t())
    torch.cuda.synchronize(1)
    stream = torch.cuda.Stream(device=1)
    for _ in range(20):
        with torch.cuda.stream(stream):
            a.zero_()
            torch.cuda._sleep(1_000_000)
            a.fill_(1)
            with torch.cuda.device(0):
                kernel(a, a.t(), out=out)
        stream.synchronize()
        assert (out == 256).all()


def test_j06_two_devices_in_one_call(kernel_of):
    kernel = kernel_of(F16)
    a0, a1 = (torch.ones(64, 64, dtype=torch.float16, device=f"cuda:{i}") for i in (0, 1))
    for call, match in (
        (lambda: kernel(a0, a1.t()), r"b: must be on cuda:0, as a is \(got cuda:1\)"),
        (lambda: kernel(a1, a0.t()), r"b: must be on cuda:1, as a is \(got cuda:0\)"),
        (lambda: kernel(a0, a0.t(), out=a1), r"out: must be on cuda:0"),
        (lambda: kernel(a0, a0.t(), a1, beta=1), r"c: must be on cuda:0"),
        (lambda: kernel(a0, a0.t().cpu()), r"b: must be on a cuda device"),
    ):
        with pytest.raises(ArgumentError, match=match):
            call()


@FAMILIES
def test_threads_on_two_devices(kernel_of, case):
    import threading

    kernel, failures = kernel_of(case.config), []

    def work(device):
        try:
            for seed in range(20):
                run_exact(kernel, 136, 72, 64, seed=seed, device=f"cuda:{device}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
