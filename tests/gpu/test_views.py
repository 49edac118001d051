"""Strided, offset and transposed views; alignment; vectors (C02, C04, E06, F01, F05, F07)."""

from __future__ import annotations

import pytest

from cutegen.errors import ArgumentError
from tests.support.gpu import gemm_config, run_exact

torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")

F16 = gemm_config("f16", d="f16")
NARROW = gemm_config("f16", d="f16", align=2)
N_MAJOR = gemm_config("f16", d="f16", majors="knn")
M_MAJOR = gemm_config("f16", d="f16", majors="mnm")


def ints(*shape, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed + sum(shape))
    return torch.randint(-2, 3, shape, device="cuda", generator=generator).half()


def mm(a, b):
    return (a.double() @ b.double()).half()


def allocations():
    return torch.cuda.memory_stats()["allocation.all.allocated"]


@pytest.mark.kernels(F16, N_MAJOR)
class TestConventionOfB:
    def test_f01_weight_transposed(self, kernel_of):
        kernel, x, w = kernel_of(F16), ints(256, 512), ints(384, 512)
        out = torch.empty(256, 384, dtype=torch.float16, device="cuda")
        kernel.load()
        before = allocations()
        kernel(x, w.t(), out=out)
        assert allocations() == before
        assert torch.equal(out, mm(x, w.t()))
        before = allocations()
        fresh = kernel(x, w.t())
        assert allocations() == before + 1
        assert torch.equal(fresh, out)
        assert torch.equal(kernel(x, w), out)

    @pytest.mark.parametrize("n", [384, 512])
    def test_f01_contiguous_kn(self, kernel_of, n):
        x, w = ints(256, 512), ints(512, n)
        assert torch.equal(kernel_of(N_MAJOR)(x, w), mm(x, w))
        with pytest.raises(ArgumentError, match=r"b: K must have stride 1, as b.major"):
            kernel_of(F16)(x, w)

    def test_square(self, kernel_of):
        x, w = ints(256, 512), ints(512, 512)
        assert torch.equal(kernel_of(F16)(x, w.t()), mm(x, w.t()))
        assert torch.equal(kernel_of(F16)(x, w, b_is="nk"), mm(x, w.t()))
        with pytest.raises(ArgumentError, match="a square b is read as"):
            kernel_of(F16)(x, w)


@pytest.mark.kernels(F16, NARROW, M_MAJOR)
class TestViews:
    @pytest.mark.parametrize(("config", "offset"), [(F16, 8), (NARROW, 3)], ids=["aligned", "odd"])
    def test_windows_of_larger_tensors(self, kernel_of, config, offset):
        kernel = kernel_of(config)
        big_a, big_b, big_c = ints(300, 400), ints(301, 600), ints(302, 304)
        a = big_a[5:205, offset : offset + 136]
        b = big_b[7:151, 2 * offset : 2 * offset + 136]
        c = big_c[1:201, 2 * offset : 2 * offset + 144]
        out = torch.full((310, 320), torch.nan, dtype=torch.float16, device="cuda")
        window = out[9:209, offset : offset + 144]
        kernel(a, b, c, window, alpha=2, beta=-1)
        want = (2 * (a.double() @ b.double().t()) - c.double()).half()
        assert torch.equal(window, want)
        window.fill_(torch.nan)
        assert out.isnan().all()

    def test_transposed_windows(self, kernel_of):
        kernel = kernel_of(M_MAJOR)
        a, b = ints(200, 264)[8:144, 8:208].t(), ints(144, 304)[:136, 16:160].t()
        out = torch.full((160, 264), torch.nan, dtype=torch.float16, device="cuda")
        window = out[8:152, 16:216].t()
        kernel(a, b, out=window, b_is="nk")
        assert torch.equal(window, mm(a, b.t()))
        window.fill_(torch.nan)
        assert out.isnan().all()

    def test_columns_of_one_buffer(self, kernel_of):
        buffer = ints(256, 512)
        a, b, out = buffer[:, :128], ints(128, 128), buffer[:, 128:256]
        rest = buffer[:, 256:].clone()
        want = mm(a, b.t())
        kernel_of(F16)(a, b.t(), out=out)
        assert torch.equal(out, want)
        assert torch.equal(buffer[:, 256:], rest)

    def test_expanded_rows(self, kernel_of):
        a, b = ints(1, 136).expand(200, 136), ints(1, 136).expand(72, 136)
        assert torch.equal(kernel_of(F16)(a, b), mm(a, b.t()))


@pytest.mark.kernels(F16, NARROW)
class TestAlignment:
    @pytest.mark.parametrize(("k", "align"), [(4096, 16), (4092, 8), (4090, 4), (4091, 2)])
    def test_c02_refused_by_the_wide_kernel_and_run_by_its_variant(self, kernel_of, k, align):
        kernel, a, b = kernel_of(F16), ints(128, k), ints(136, k)
        if align < 16:
            with pytest.raises(ArgumentError, match=rf"a: .* is 16 \(got {align}.* is {2 * k} B"):
                kernel(a, b)
        variant = kernel.variant_for(a, b)
        assert (variant.config.a.align, variant.config.b.align, variant.config.d.align) == (align, align, 16)
        assert (variant is kernel) == (align == 16)
        assert torch.equal(variant(a, b), mm(a, b.t()))
        torch.cuda.synchronize()

    def test_c04_row_stride_of_65(self, kernel_of):
        base = ints(1, 65 * 64)
        a, b = base.as_strided((64, 64), (65, 1)), ints(64, 64)
        with pytest.raises(ArgumentError, match="the pitch along M is 130 B"):
            kernel_of(F16)(a, b, b_is="nk")
        assert torch.equal(kernel_of(NARROW)(a, b, b_is="nk"), mm(a, b.t()))

    @pytest.mark.parametrize("which", ["a", "b", "out"])
    def test_odd_base_address(self, kernel_of, which):
        shapes = {"a": (128, 64), "b": (72, 64), "out": (128, 72)}
        tensors = {name: ints(*shape) for name, shape in shapes.items()}
        rows, columns = shapes[which]
        tensors[which] = ints(rows * columns + 1)[1:].view(rows, columns)
        with pytest.raises(ArgumentError, match=f"{which}: .*the address is a multiple of 2 B"):
            kernel_of(F16)(**tensors)
        want = mm(tensors["a"], tensors["b"].t())
        assert torch.equal(kernel_of(NARROW)(**tensors), want)


@pytest.mark.kernels(NARROW)
class TestVectors:
    @pytest.mark.parametrize(
        ("m", "n", "k"), [(1, 1000, 4096), (1000, 1, 4096), (1, 1, 4096), (1, 1, 1), (5, 7, 1), (1, 9, 1)]
    )
    def test_e06(self, kernel_of, m, n, k):
        a, b = ints(m, k), ints(k, n)
        for y in (b.t().contiguous().t(), b.t().contiguous()):
            assert torch.equal(kernel_of(NARROW)(a, y), mm(a, b))
        run_exact(kernel_of(NARROW), m, n, k, alpha=2, beta=1)

    def test_e06_strides_of_slices(self, kernel_of):
        big = ints(64, 4104)
        row = big[3:4, 5:4101]
        column = big[:, 7:8]
        assert torch.equal(kernel_of(NARROW)(row, row.t()), mm(row, row.t()))
        assert torch.equal(kernel_of(NARROW)(column, column, b_is="nk"), mm(column, column.t()))


@pytest.mark.kernels(F16)
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            {"a": torch.zeros(16, 64, dtype=torch.float16)},
            r"a: must be on a cuda device \(got a tensor on cpu",
        ),
        ({"b": torch.zeros(32, 64, dtype=torch.float16)}, r"b: must be on a cuda device"),
        ({"b": torch.zeros(32, 64, dtype=torch.bfloat16)}, r"b: must be on a cuda device"),
        ({"a": torch.zeros(16, 64).numpy()}, r"a: must be a torch tensor .*numpy.ndarray"),
    ],
)
def test_f07_j06(kernel_of, change, match):
    call = {"a": ints(16, 64), "b": ints(32, 64)}
    with pytest.raises(ArgumentError, match=match):
        kernel_of(F16)(**{**call, **change})
    with pytest.raises(ArgumentError, match=r"a: dtype must be torch.float16"):
        kernel_of(F16)(call["a"].bfloat16(), call["b"])
