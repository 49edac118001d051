"""``cutegen.matmul`` on a real GPU, against float64."""

from __future__ import annotations

from typing import Any

import pytest

import cutegen


def operands(m: int, n: int, k: int, kind: str) -> tuple[Any, Any]:
    import torch

    generator = torch.Generator(device="cuda").manual_seed(m + n + k)

    def draw(rows: int) -> Any:
        values = torch.randint(-2, 3, (rows, k), device="cuda", generator=generator)
        return values.to(torch.float16).to(getattr(torch, kind))

    return draw(m), draw(n)


def exact(d: Any, a: Any, w: Any) -> None:
    import torch

    want = a.double() @ w.double().t()
    assert torch.equal(d.double(), want.to(d.dtype).double())


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(1, 512, 256), (64, 2112, 512), (333, 1000, 136), (2048, 2048, 512), (0, 8, 8), (8, 8, 0)],
)
@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_shapes(m: int, n: int, k: int, kind: str) -> None:
    a, w = operands(m, n, k, kind)
    exact(cutegen.matmul(a, w.t()), a, w)


@pytest.mark.parametrize("kind", ["float32", "float64", "int8", "float8_e4m3fn"])
def test_types(kind: str) -> None:
    import torch

    if kind.startswith("float8") and torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("no 8-bit floats on this GPU")
    a, w = operands(200, 136, 128, kind)
    exact(cutegen.matmul(a, w.t()), a, w)


def test_layouts_alignment_and_out() -> None:
    import torch

    a, w = operands(256, 384, 128, "float16")
    turned = a.t().contiguous().t()
    exact(cutegen.matmul(turned, w.t().contiguous()), a, w)
    odd_a, odd_w = a[:, 1:100], w[:, 1:100]
    exact(cutegen.matmul(odd_a, odd_w.t()), odd_a, odd_w)
    out = torch.full((256, 384), float("nan"), device="cuda")
    assert cutegen.matmul(a, w.t(), out=out) is out
    exact(out, a, w)


def test_a_graph_captures_a_call_once_the_kernel_is_there() -> None:
    import torch

    a, w = operands(128, 256, 64, "bfloat16")
    out = cutegen.matmul(a, w.t())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        cutegen.matmul(a, w.t(), out=out)
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    exact(out, a, w)
