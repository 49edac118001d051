"""Tensors of more than 2^31 elements, and strides that long."""

from __future__ import annotations

import pytest

from cutegen.reference import check
from tests.support.gpu import gemm_config, require, run_exact

torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")

KMAJOR = gemm_config("f16", d="f16")
MNMAJOR = gemm_config("f16", d="f16", majors="mnm")
DIRECT = gemm_config("f16", d="f16", mainloop="direct")
CONFIGS = (KMAJOR, MNMAJOR, DIRECT)
MOST = 2**31
GIB = 2**30


def ids(config):
    return f"{config.mainloop or 'multistage'}-{config.a.major}"


@pytest.fixture(autouse=True)
def memory():
    free = torch.cuda.mem_get_info()[0]
    if free < 60 * GIB:
        pytest.skip(f"needs 60 GiB of free GPU memory (got {free / GIB:.0f})")
    yield
    torch.cuda.empty_cache()


@pytest.mark.kernels(*CONFIGS)
@pytest.mark.parametrize("config", CONFIGS, ids=ids)
class TestMoreThan2To31Elements:
    def test_a(self, kernel_of, config):
        run_exact(kernel_of(config), MOST // 24 // 8 * 8 + 1024, 8, 24)

    def test_b(self, kernel_of, config):
        run_exact(kernel_of(config), 8, MOST // 24 // 8 * 8 + 1024, 24)

    def test_d(self, kernel_of, config):
        run_exact(kernel_of(config), 65544, 32776, 16)

    def test_c(self, kernel_of, config):
        run_exact(kernel_of(config), 65544, 32776, 8, beta=1)

    def test_long_k(self, kernel_of, config):
        run_exact(kernel_of(config), 264, 8, MOST // 256)


@pytest.mark.kernels(KMAJOR)
def test_row_strides_beyond_2_to_31(kernel_of):
    kernel = kernel_of(KMAJOR)
    stride = MOST + 8
    generator = torch.Generator("cuda").manual_seed(0)
    storage = torch.zeros(3 * stride, dtype=torch.float16, device="cuda")
    for offset, width in ((0, 64), (4096, 64), (8192, 72)):
        view = storage.as_strided((3, width), (stride, 1), offset)
        view.copy_(torch.randint(-2, 3, (3, width), device="cuda", generator=generator))
    a, b = (storage.as_strided((3, 64), (stride, 1), offset) for offset in (0, 4096))
    b = torch.cat([b, b, b])[:8].contiguous()
    out = storage.as_strided((3, 8), (stride, 1), 8192)
    c = out.clone()
    kernel(a, b, out, out, alpha=2, beta=1, b_is="nk")
    require(check(kernel.config, out.clone(), a, b, c, alpha=2, beta=1), kernel.config)
    assert (storage.as_strided((3, 64), (stride, 1), 8200) != 0).any()
