"""What D is: alpha, beta, C, overflow, empty extents, tolerance; and that nothing else is touched."""

from __future__ import annotations

import pytest

from cutegen.errors import ArgumentError
from cutegen.reference import check
from tests.support.gpu import gemm_config, guarded_output, require, run_exact

torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")

F16 = gemm_config("f16", d="f16")
F16_F32 = gemm_config("f16", d="f32")
F16_BF16 = gemm_config("f16", d="bf16")
BF16_F16 = gemm_config("bf16", d="f16")
F16_NARROW = gemm_config("f16", d="f16", align=2)
F16_M = gemm_config("f16", d="f16", majors="mnm")
DIRECT = gemm_config("f16", d="f16", mainloop="direct", align=2)
SIMT = gemm_config("f32", mainloop="simt", align=4)
S8 = gemm_config("s8", d="s32")
E4M3 = gemm_config("e4m3", d="bf16", arch="sm_89")
ALL = (F16_NARROW, DIRECT, SIMT)


def ids(config):
    return f"{config.mainloop or 'multistage'}-{config.a.dtype}-{config.d.dtype}-{config.d.major or 'n'}"


def operands(m, n, k, dtype=torch.float16, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    make = {"device": "cuda", "generator": generator}
    return tuple(torch.randint(-2, 3, shape, **make).to(dtype) for shape in ((m, k), (n, k), (m, n)))


@pytest.mark.kernels(F16, F16_M, S8, *ALL)
class TestBeta:
    @pytest.mark.parametrize("config", [F16, F16_M, SIMT], ids=ids)
    def test_g01_nan_in_c_and_out_with_beta_zero(self, kernel_of, config):
        kernel = kernel_of(config)
        kind = torch.float16 if config.a.dtype == "f16" else torch.float32
        a, b, c = operands(256, 128, 64, kind)
        c.fill_(torch.nan)
        if kernel.config.d.major == "m":
            a, b, c = a.t().contiguous().t(), b.t().contiguous().t(), c.t().contiguous().t()
        out = c.clone()
        kernel(a, b.t(), c, out, beta=0)
        assert torch.equal(out, (a.float() @ b.float().t()).to(kind))
        with pytest.raises(ArgumentError, match="c: must be given when beta is not 0"):
            kernel(a, b.t(), beta=1)

    @pytest.mark.parametrize("config", [F16, S8], ids=ids)
    def test_in_place(self, kernel_of, config):
        kernel = kernel_of(config)
        kind = torch.float16 if config.a.dtype == "f16" else torch.int8
        a, b, _ = operands(264, 136, 64, kind)
        c = torch.randint(-3, 4, (264, 136), device="cuda").to(kernel(a, b.t()).dtype)
        want = (2 * (a.double() @ b.double().t()) + 3 * c.double()).to(c.dtype)
        assert kernel(a, b.t(), c, c, alpha=2, beta=3) is c
        assert torch.equal(c, want)

    @pytest.mark.kernels(E4M3)
    @pytest.mark.parametrize("config", [F16, F16_M, S8, E4M3, *ALL], ids=ids)
    @pytest.mark.parametrize(("alpha", "beta"), [(0, 0), (0, 1), (3, 0), (-1, -2), (4, 1)])
    def test_scales(self, kernel_of, config, alpha, beta):
        run_exact(kernel_of(config), 272, 144, 96, alpha=alpha, beta=beta)


@pytest.mark.kernels(*ALL)
@pytest.mark.parametrize("config", ALL, ids=ids)
class TestEmptyExtents:
    @pytest.mark.parametrize(("m", "n"), [(0, 64), (64, 0), (0, 0)])
    def test_e04_nothing_is_launched_and_no_error_is_pending(self, kernel_of, config, m, n):
        kernel = kernel_of(config)
        kind = torch.float16 if config.a.dtype == "f16" else torch.float32
        a, b = torch.ones(m, 64, dtype=kind, device="cuda"), torch.ones(n, 64, dtype=kind, device="cuda")
        assert kernel(a, b, b_is="nk").shape == (m, n)
        torch.cuda.synchronize()
        run_exact(kernel, 32, 32, 32)

    def test_k_of_zero(self, kernel_of, config):
        kernel = kernel_of(config)
        for beta in (0, 2):
            run_exact(kernel, 72, 40, 0, beta=beta)


@pytest.mark.kernels(F16, F16_F32, F16_BF16, BF16_F16)
class TestOverflow:
    @pytest.mark.parametrize("k", [1024 - 8, 1024])
    def test_g04_f16_sums(self, kernel_of, k):
        a = torch.full((128, k), 8.0, dtype=torch.float16, device="cuda")
        exact = 64.0 * k
        for config in (F16, F16_F32, F16_BF16):
            out = kernel_of(config)(a, a.t())
            want = torch.tensor(exact, device="cuda").to(out.dtype)
            assert torch.equal(out, want.expand(128, 128)), (config.d.dtype, out[0, 0])

    @pytest.mark.kernels(F16_NARROW)
    def test_g04_one_below_the_edge(self, kernel_of):
        a = torch.full((64, 1023), 8.0, dtype=torch.float16, device="cuda")
        assert (kernel_of(F16_NARROW)(a, a.t()) == 65472.0).all()

    def test_bf16_beyond_f16_is_infinite(self, kernel_of):
        a = torch.zeros(64, 64, dtype=torch.bfloat16, device="cuda")
        a[:, 0] = 256
        b = torch.zeros(64, 64, dtype=torch.bfloat16, device="cuda")
        b[:, 0] = 274
        b[::2, 0] = -274
        out = kernel_of(BF16_F16)(a, b.t())
        assert torch.equal(out, (a.float() @ b.float().t()).half())
        assert out.isinf().all()


@pytest.mark.kernels(F16)
def test_nan_and_inf_in_the_inputs_reach_only_their_row_and_column(kernel_of):
    kernel = kernel_of(F16)
    a, b, _ = operands(256, 256, 128)
    a[17, 127], b[201, 0] = torch.nan, torch.inf
    a[:, 0] = 1
    out = kernel(a, b.t())
    assert out[17].isnan().all()
    assert torch.equal(out.isnan().any(1).nonzero().flatten().cpu(), torch.tensor([17]))
    assert out[:17, 201].isinf().all()
    assert out[:17, :201].isfinite().all()


@pytest.mark.kernels(F16, F16_F32)
@pytest.mark.parametrize("k", [1024, 7168, 16384])
def test_g06_random_inputs_within_the_tolerance(kernel_of, k):
    generator = torch.Generator("cuda").manual_seed(k)
    a, b = (torch.randn(s, k, device="cuda", generator=generator, dtype=torch.float16) for s in (384, 256))
    for config in (F16, F16_F32):
        kernel = kernel_of(config)
        out = kernel(a, b.t())
        report = check(kernel.config, out, a, b, exact=False)
        require(report, kernel.config)
        assert report.worst > 0
        wrong = a.clone()
        wrong[:, :16] = 0
        assert check(kernel.config, out, wrong, b, exact=False).bad > out.numel() // 2


@pytest.mark.kernels(*ALL)
@pytest.mark.parametrize("config", ALL, ids=ids)
def test_e03_storage_that_ends_with_the_tensor(kernel_of, config):
    """Ten rows at the end of an allocation; under compute-sanitizer this shows any read past them."""
    kernel = kernel_of(config)
    kind = torch.float16 if config.a.dtype == "f16" else torch.float32
    a, b, _ = operands(10, 24, 72, kind)
    page = torch.full((4096,), torch.nan, dtype=kind, device="cuda")
    tail = page[-720:].view(10, 72)
    tail.copy_(a)
    out, unharmed = guarded_output(kernel.config, 10, 24)
    kernel(tail, b.t(), out=out)
    assert torch.equal(out, (a.float() @ b.float().t()).to(kind))
    unharmed()
