"""Kernel calls with real torch tensors in host memory, over a launcher that computes with numpy."""

from __future__ import annotations

import numpy as np
import pytest

from cutegen.errors import ArgumentError
from cutegen.signature import make_guard
from tests.support.fake_kernel import config, make_kernel

torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")


def ints(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(-2, 3, shape, generator=generator).to(dtype)


@pytest.fixture
def make(monkeypatch):
    def make(*args, **options):
        return make_kernel(config(*args, **options), monkeypatch, device_type="cpu")

    return make


@pytest.mark.parametrize("d", ["n", "m"])
@pytest.mark.parametrize("b", ["k", "n"])
@pytest.mark.parametrize("a", ["k", "m"])
def test_is_torch_mm(make, a, b, d):
    kernel, _ = make("f32", a=a, b=b, d=d)
    x = ints(136, 72) if a == "k" else ints(72, 136).t()
    y = ints(264, 72).t() if b == "k" else ints(72, 264)
    assert torch.equal(kernel(x, y), torch.mm(x, y))
    out = torch.full((136, 264), torch.nan) if d == "n" else torch.full((264, 136), torch.nan).t()
    for _ in range(3):
        assert kernel(x, y, out=out) is out
        assert torch.equal(out, torch.mm(x, y))


def test_f01_linear_weight(make):
    kernel, library = make("f32")
    x, weight = ints(16, 64), torch.nn.Parameter(ints(32, 64))
    for _ in range(2):
        assert torch.equal(kernel(x, weight.t()), x @ weight.t())
    assert library.launches[0].p.b == weight.data_ptr()
    assert not kernel(x, weight.t()).requires_grad


def test_half_precision_and_s8(make):
    kernel, _ = make("f16")
    x, y = ints(16, 64, dtype=torch.float16), ints(64, 64, dtype=torch.float16)
    assert torch.equal(kernel(x, y.t()), (x.float() @ y.float().t()).half())
    kernel, _ = make("s8")
    x, y = ints(16, 64, dtype=torch.int8), ints(32, 64, dtype=torch.int8)
    assert torch.equal(kernel(x, y), x.int() @ y.int().t())


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t: t.numpy(), r"must be a torch tensor .*numpy.ndarray"),
        (lambda t: t.tolist(), r"must be a torch tensor .*builtins.list"),
        (lambda t: t.double(), r"dtype must be torch.float32 \(got torch.float64\)"),
        (lambda t: t[None], r"must have 2 dimensions"),
        (lambda t: t.to("meta"), r"must be on"),
        (lambda t: t.to_sparse(), r"must be a plain strided tensor \(got torch.sparse_coo\)"),
        (lambda t: torch._neg_view(t), r"must be a plain strided tensor \(got a lazily negated view\)"),
    ],
)
@pytest.mark.parametrize("name", ["a", "b", "out"])
@pytest.mark.parametrize("warm", [False, True])
def test_refusals_cold_and_warm(make, change, match, name, warm):
    kernel, library = make("f32")
    call = {"a": ints(16, 64), "b": ints(32, 64), "out": ints(16, 32)}
    if warm:
        kernel(**call)
    launched = len(library.launches)
    with pytest.raises(ArgumentError, match=f"^{name}: {match}"):
        kernel(**{**call, name: change(call[name])})
    assert len(library.launches) == launched


def test_a_cuda_kernel_refuses_cpu_tensors_without_a_gpu(monkeypatch):
    kernel, _ = make_kernel(config("f32"), monkeypatch)
    with pytest.raises(ArgumentError, match=r"a: must be on a cuda device \(got a tensor on cpu\)"):
        kernel(ints(16, 64), ints(32, 64))


def test_metadata_changed_in_place_is_noticed(make):
    kernel, _ = make("f32")
    a, b, out = ints(64, 64), ints(32, 64), ints(64, 32)
    kernel(a, b, out=out)
    a.t_()
    with pytest.raises(ArgumentError, match="a: K must have stride 1"):
        kernel(a, b, out=out)


def test_modes_of_torch_do_not_confuse_the_guard(make):
    kernel, library = make("f32")
    a, b, out = ints(16, 64), ints(32, 64), ints(16, 32)
    expected = a @ b.t()
    for context in (torch.no_grad, torch.inference_mode, torch.enable_grad):
        with context():
            for _ in range(2):
                out.fill_(torch.nan)
                assert torch.equal(kernel(a, b, out=out), expected)
    assert len(library.launches) == 6


class TestGuard:
    def guards(self, monkeypatch, *tensors):
        yield make_guard(*tensors)
        monkeypatch.delattr(torch._C._dynamo.guards, "TensorGuards")
        yield make_guard(*tensors)

    def test_torchs_own_and_the_comparison_agree(self, monkeypatch):
        a, b = ints(8, 4), ints(4, 4)
        others = [
            (ints(8, 4), ints(4, 4), True),
            (ints(8, 5)[:, :4], ints(4, 4), False),
            (ints(8, 4), ints(4, 4).t(), False),
            (ints(4, 8), ints(4, 4), False),
            (ints(8, 4).double(), ints(4, 4), False),
            (ints(8, 4), ints(4, 4, dtype=torch.int32), False),
            (ints(8, 4).numpy(), ints(4, 4), False),
            (None, ints(4, 4), False),
            (ints(8, 4).to("meta"), ints(4, 4), False),
            (torch._neg_view(ints(8, 4)), ints(4, 4), False),
            (ints(8, 4)[4:], ints(4, 4), False),
        ]
        for guard in self.guards(monkeypatch, a, b):
            assert guard(a, b)
            assert [bool(guard(x, y)) for x, y, _ in others] == [same for *_, same in others]


def test_result_of_numpy_comparison_is_not_vacuous(make):
    kernel, library = make("f32")
    library._compute = False
    out = torch.full((16, 32), torch.nan)
    kernel(ints(16, 64), ints(32, 64), out=out)
    assert np.isnan(out.numpy()).all()
