"""Scales and bias on the CPU emulator: every store and mainloop, and arguments as callers give them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cutegen
from cutegen.errors import ArgumentError
from cutegen.reference import check, exact_inputs, reference
from tests.support.cases import config
from tests.support.emulated import Problem, kernel_of
from tests.support.sampling import sampled
from tests.support.vector_variants import VECTOR_VARIANTS

VLLM = cutegen.load(Path(__file__).parents[2] / "examples" / "vllm_int8.yaml")
SCALED = config(
    {
        "a.dtype": "s8", "b.dtype": "s8", "d.dtype": "f16",
        "epilogue": {"scale_a": "row", "scale_b": "column", "bias": "column"},
    },
    tile=(64, 64, 64),
)  # fmt: skip
TENSORS = config({"epilogue": {"scale_a": "tensor", "scale_b": "tensor"}}, tile=(64, 64, 32))


BOTH = [(name, style) for name in VECTOR_VARIANTS for style in ("resolved", "idiomatic")]
IDIOMATIC_IN_CI = ("smem", "direct", "simt")


def in_ci(case: tuple[str, str]) -> bool:
    return case[1] == "resolved" or case[0] in IDIOMATIC_IN_CI


@pytest.mark.parametrize("case", sampled(BOTH, in_ci, "-".join))
def test_it_is_exact_and_clean(case: tuple[str, cutegen.render.Style]) -> None:
    name, style = case
    kernel = kernel_of(VECTOR_VARIANTS[name], style)
    for seed, (shape, beta) in enumerate((((144, 112, 80), 0.0), ((16, 80, 16), 1.0), ((64, 128, 0), 1.0))):
        problem = Problem(VECTOR_VARIANTS[name], *shape, beta=beta, seed=seed)
        report = problem.run(kernel, seed=seed)
        assert report.clean, report.summary()
        assert problem.exact, (shape, beta)


@pytest.mark.parametrize("style", sampled(["resolved", "idiomatic"], lambda style: style == "resolved"))
def test_vllm_s_kernel_in_several_orders(style: cutegen.render.Style) -> None:
    kernel = kernel_of(VLLM, style)
    for seed in range(4):
        problem = Problem(VLLM, 144, 272, 144 + 16 * seed, seed=seed)
        assert problem.run(kernel, seed=seed).clean
        assert problem.exact


@pytest.fixture(scope="module")
def scaled() -> cutegen.Kernel:
    return cutegen.build(SCALED, device="cpu")


@pytest.fixture(scope="module")
def tensors() -> cutegen.Kernel:
    return cutegen.build(TENSORS, device="cpu")


def test_numpy(scaled):
    x = exact_inputs(scaled.config, 72, 136, 48)
    d = scaled(x.a, x.b, x.c, None, 2.0, 1.0, **x.vectors, b_is="nk")
    assert check(scaled.config, d, x.a, x.b, x.c, alpha=2.0, beta=1.0, **x.vectors).ok
    wide = {name: v[:, None] if name == "scale_a" else v[None] for name, v in x.vectors.items()}
    assert np.array_equal(scaled(x.a, x.b, x.c, None, 2.0, 1.0, **wide, b_is="nk"), d)
    launch = scaled.plan(x.a, x.b, x.c, None, 2.0, 1.0, **x.vectors, b_is="nk")
    assert np.array_equal(launch(), d)
    assert launch.vectors[0] is x.vectors["scale_a"]


def test_torch(scaled, tensors):
    torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")
    x = exact_inputs(scaled.config, 72, 136, 48, device="cpu")
    d = scaled(x.a, x.b.t(), **x.vectors)
    want = reference(scaled.config, x.a, x.b, **x.vectors)
    assert torch.equal(d.double(), want.half().double())
    a, b = torch.ones(64, 32).half(), torch.ones(64, 32).half()
    for shape in ((), (1,), (1, 1)):
        scale = torch.full(shape, 0.5)
        assert torch.equal(tensors(a, b.t(), scale_a=scale, scale_b=scale), torch.full((64, 64), 8.0).half())


def test_other_vectors_of_a_known_call(scaled):
    x, y = (exact_inputs(scaled.config, 72, 136, 48, seed=seed) for seed in (1, 2))
    for vectors in (x.vectors, y.vectors, x.vectors | {"bias": y.vectors["bias"]}):
        d = scaled(x.a, x.b, **vectors, b_is="nk")
        assert check(scaled.config, d, x.a, x.b, **vectors).ok


def test_nan_beyond_the_edge_is_not_read(scaled):
    x = exact_inputs(scaled.config, 8, 8, 16)
    long = {name: np.full(64, np.nan, v.dtype) for name, v in x.vectors.items()}
    for name, v in x.vectors.items():
        long[name][:8] = v
    d = scaled(x.a, x.b, **{name: v[:8] for name, v in long.items()}, b_is="nk")
    assert check(scaled.config, d, x.a, x.b, **x.vectors).ok


WRONG = [
    ({"scale_a": None}, r"scale_a: must be given: M elements of f32, as .* is row \(got None\)"),
    ({"scale_a": np.ones(9, "f4")}, r"scale_a: .* \(M,\) or \(M,1\) with M = 8, .*\(got \(9,\)\)"),
    ({"scale_a": np.ones(1, "f4")}, r"\(got \(1,\)\); use a kernel built with epilogue: \{scale_a: tensor\}"),
    ({"scale_a": np.ones((8, 2), "f4")}, r"scale_a: must have shape .*\(got \(8, 2\)\)"),
    ({"scale_b": np.ones((1, 1, 8), "f4")}, r"scale_b: must have shape \(N,\) or \(1,N\) with N = 8"),
    ({"scale_b": np.ones(8)}, r"scale_b: dtype must be float32 \(got float64\)"),
    ({"scale_b": np.ones(16, "f4")[::2]}, r"scale_b: must be contiguous .* with strides \(2,\)\)"),
    ({"bias": np.ones(8, "f4")}, r"bias: dtype must be float16 \(got float32\)"),
    ({"bias": [1.0] * 8}, r"bias: must be a numpy array or a torch tensor on the CPU \(got builtins.list\)"),
    (
        {"scale_b": np.frombuffer(bytes(40), "u1")[2:34].view("f4")},
        r"scale_b: the address must be a multiple",
    ),
]


@pytest.mark.parametrize(("change", "words"), WRONG)
def test_what_does_not_fit_is_named(scaled, change, words):
    x = exact_inputs(scaled.config, 8, 8, 16)
    for call in (scaled, scaled.plan, scaled.emulate):
        with pytest.raises(ArgumentError, match=words):
            call(x.a, x.b, **(dict(x.vectors) | change), b_is="nk")


def test_vectors_that_a_kernel_has_not(tensors):
    x = exact_inputs(tensors.config, 8, 8, 16)
    with pytest.raises(ArgumentError, match=r"bias: must be left out, .*epilogue: \{bias: column\}"):
        tensors(x.a, x.b, **x.vectors, bias=np.ones(8, np.float16), b_is="nk")
    with pytest.raises(ArgumentError, match=r"scale_a: must be given: one element of f32"):
        tensors(x.a, x.b, b_is="nk")
    with pytest.raises(
        ArgumentError, match=r"got \(8,\)\); use a kernel built with epilogue: \{scale_a: row\}"
    ):
        tensors(x.a, x.b, scale_a=np.ones(8, np.float32), scale_b=x.vectors["scale_b"], b_is="nk")


def test_out_may_not_overlap_a_vector(scaled):
    x = exact_inputs(scaled.config, 8, 8, 16)
    memory = np.zeros(64, np.float16)
    with pytest.raises(ArgumentError, match="out: must not overlap bias in memory"):
        scaled(x.a, x.b, None, memory.reshape(8, 8), **(dict(x.vectors) | {"bias": memory[56:]}), b_is="nk")


def test_a_variant_asks_for_no_vectors(scaled):
    x = exact_inputs(scaled.config, 8, 8, 16)
    assert scaled.variant_for(x.a, x.b, b_is="nk") is scaled


def test_wrong_factors_are_seen(scaled):
    x = exact_inputs(scaled.config, 72, 136, 48)
    d = scaled(x.a, x.b, **x.vectors, b_is="nk")
    for name in x.vectors:
        other = dict(x.vectors) | {name: np.roll(x.vectors[name], 1)}
        assert check(scaled.config, d, x.a, x.b, **other).bad > 100
        assert check(scaled.config, d, x.a, x.b, **other, exact=False).bad > 100
    assert check(scaled.config, d, x.a, x.b, **x.vectors, exact=False).ok
