"""Scales and bias on a GPU: every store and mainloop, shapes as torch._scaled_mm has them, and graphs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import cutegen
from tests.support.gpu import Case, fits, gemm_config, latin_shapes, run_exact
from tests.support.vector_variants import VECTOR_VARIANTS

VLLM = cutegen.load(Path(__file__).parents[2] / "examples" / "vllm_int8.yaml")
CASES = [
    *(Case(name, lambda config=config: config) for name, config in VECTOR_VARIANTS.items()),
    Case("vllm_int8", lambda: VLLM),
]
SHAPES = [(256, 512, 64), (1008, 1072, 208), (16, 32, 16), (128, 128, 0)]
SCALES = {"scale_a": "row", "scale_b": "column", "bias": "column"}
INT8 = gemm_config("s8", d="bf16", epilogue=SCALES)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_exact(case, kernel_of):
    kernel = kernel_of(case.config)
    for seed, shape in enumerate([*SHAPES, *latin_shapes(3)]):
        if fits(kernel.config, *shape):
            run_exact(kernel, *shape, seed=seed, alpha=1.0 + seed % 2, beta=float(seed % 2))


@pytest.mark.kernels(INT8)
def test_shapes_as_torch_has_them_and_a_graph(kernel_of):
    kernel = kernel_of(INT8)
    a, b = (torch.randint(-5, 6, (n, 256), device="cuda", dtype=torch.int8) for n in (304, 176))
    scale_a, scale_b = (torch.rand(n, device="cuda") for n in (304, 176))
    bias = torch.randn(176, device="cuda", dtype=torch.bfloat16)
    product = a.double() @ b.double().t()
    want = product * scale_a[:, None].double() * scale_b[None].double() + bias.double()
    d = kernel(a, b.t(), scale_a=scale_a[:, None], scale_b=scale_b[None], bias=bias)
    torch.testing.assert_close(d.double(), want, rtol=2**-8, atol=1e-3)
    assert torch.equal(kernel(a, b.t(), scale_a=scale_a, scale_b=scale_b, bias=bias), d)

    launch = kernel.plan(a, b.t(), scale_a=scale_a, scale_b=scale_b, bias=bias)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch()
    scale_a.mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    want = 2 * (want - bias.double()) + bias.double()
    torch.testing.assert_close(launch.out.double(), want, rtol=2**-8, atol=1e-3)
