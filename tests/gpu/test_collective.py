"""``collective`` on Hopper: schedules and types bit for bit; workspaces on streams and in graphs."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import cutegen
from cutegen.device import gpus
from cutegen.errors import LaunchError
from cutegen.reference import exact_inputs
from tests.support.gpu import Case, fits, run_exact
from tests.support.rule_cases_collective import collective

pytestmark = pytest.mark.skipif(
    bool(gpus()) and gpus()[0].cc != 90, reason="these collectives are for compute capability 9.0 only"
)

ROOT = Path(__file__).parents[2] / "examples"
E4M3 = {"a.dtype": "e4m3", "b.dtype": "e4m3"}
S8 = {"a.dtype": "s8", "b.dtype": "s8"}
ALL = {"epilogue": {"scale_a": "row", "scale_b": "column", "bias": "column"}}
TENSORS = {"epilogue": {"scale_a": "tensor", "scale_b": "tensor"}}
OTHER_C = {"d.dtype": "bf16", "c.dtype": "f32", "c.major": "m"}
SINGLE = E4M3 | ALL | {"d.major": "m", "accumulator": "f16"}
EXAMPLES = [
    *(p for p in sorted((ROOT / "collective").glob("*.yaml")) if not p.stem.startswith("sm1")),
    *sorted((ROOT / "vllm").glob("*.yaml")),
]
CASES = [
    *(Case(f"{p.parent.name}-{p.stem}", lambda p=p: cutegen.load(p)) for p in EXAMPLES),
    Case("slow_accumulation", lambda: collective(E4M3, tile=[128, 128, 128], fast_accumulation=False)),
    Case("s8", lambda: collective(S8, tile=[64, 128, 128])),
    Case("scaled_s8", lambda: collective(S8 | ALL, tile=[64, 128, 128], schedule="pingpong")),
    Case("scaled_s8_with_f32_c", lambda: collective(S8 | ALL | OTHER_C, tile=[128, 64, 128])),
    Case("tensors", lambda: collective(E4M3 | TENSORS, tile=[128, 256, 128])),
    Case("scaled_single", lambda: collective(SINGLE, tile=[64, 16, 256], schedule="warp_specialized")),
    Case("scaled_stream_k", lambda: collective(ALL | {"scheduler.kind": "stream_k"}, tile=[256, 128, 64])),
    Case("tf32", lambda: collective({"a.dtype": "tf32", "b.dtype": "tf32"}, tile=[128, 128, 32])),
    Case("direct", lambda: collective({"epilogue.store": "direct", "d.align": 2}, tile=[64, 128, 64])),
    Case("f16_accumulator", lambda: collective(E4M3, accumulator="f16", tile=[64, 128, 128])),
    Case("slices_of_two_rows", lambda: collective(tile=[128, 16, 64], cluster=[8, 1, 1])),
    Case("raster_n", lambda: collective({"scheduler.raster": "n"}, cluster=[1, 2, 1])),
]
INTEGERS = [
    Case("s32", lambda: collective(S8, tile=[64, 128, 128])),
    Case("s32_from_registers", lambda: collective(S8 | {"epilogue.store": "direct"}, tile=[64, 128, 128])),
    Case("s8", lambda: collective(S8 | {"d.dtype": "s8"}, tile=[64, 128, 128])),
]
SHAPES = [
    (256, 512, 64),
    (1024, 1024, 1024),
    (1008, 1072, 208),
    (304, 2112, 512),
    (4096, 2112, 1024),
    (16, 32, 16),
    (1, 256, 4096),
]
ROWWISE = cutegen.load(ROOT / "collective" / "fp8_rowwise.yaml")
STREAM_K = cutegen.load(ROOT / "collective" / "stream_k.yaml")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_exact(case, kernel_of):
    kernel = kernel_of(case.config)
    for seed, shape in enumerate(SHAPES):
        if fits(kernel.config, *shape):
            run_exact(kernel, *shape, seed=seed, beta=float(seed % 2))


@pytest.mark.parametrize("case", INTEGERS, ids=str)
def test_integers_are_rounded_half_to_even_and_saturate(case, kernel_of):
    kernel = kernel_of(case.config)
    for seed, (alpha, beta) in enumerate([(0.5, 0.0), (-0.5, 1.5), (0.25, 0.0), (2.0**27, 0.0)]):
        run_exact(kernel, 304, 2112, 512, seed=seed, alpha=alpha, beta=beta)


@pytest.mark.kernels(ROWWISE)
def test_vectors_begin_at_any_element(kernel_of):
    kernel = kernel_of(ROWWISE)
    x = exact_inputs(kernel.config, 304, 176, 256, device="cuda")
    want = kernel(x.a, x.b, **x.vectors, b_is="nk")
    for offset in (1, 2, 3):
        moved = {name: torch.cat([v[:offset], v])[offset:] for name, v in x.vectors.items()}
        assert torch.equal(kernel(x.a, x.b, **moved, b_is="nk"), want)


@pytest.mark.kernels(STREAM_K)
def test_stream_k_shares_a_few_long_tiles(kernel_of):
    for seed, shape in enumerate([(128, 128, 65536), (384, 256, 8192), (640, 1152, 4096), (128, 136, 16384)]):
        run_exact(kernel_of(STREAM_K), *shape, seed=seed, beta=float(seed % 2))


@pytest.mark.kernels(STREAM_K)
def test_streams_have_workspaces_of_their_own(kernel_of):
    kernel = kernel_of(STREAM_K)
    streams = [torch.cuda.Stream() for _ in range(4)]
    a = [torch.randint(-1, 2, (384, 8192), device="cuda").bfloat16() for _ in streams]
    b = torch.randint(-1, 2, (256, 8192), device="cuda").bfloat16()
    want = [(x.float() @ b.float().t()).bfloat16() for x in a]
    torch.cuda.synchronize()
    for _ in range(20):
        got = []
        for stream, x in zip(streams, a, strict=True):
            with torch.cuda.stream(stream):
                got.append(kernel(x, b, b_is="nk"))
        torch.cuda.synchronize()
        assert all(torch.equal(x, y) for x, y in zip(got, want, strict=True))


@pytest.mark.kernels(STREAM_K)
def test_workspaces_do_not_pile_up(kernel_of):
    kernel = kernel_of(STREAM_K)
    a = torch.randint(-1, 2, (384, 8192), device="cuda").bfloat16()
    b = torch.randint(-1, 2, (256, 8192), device="cuda").bfloat16()
    out = kernel(a, b, b_is="nk")
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    for _ in range(500):
        kernel(a, b, b_is="nk", out=out)
    torch.cuda.synchronize()
    assert before - torch.cuda.mem_get_info()[0] < 1 << 27


@pytest.mark.kernels(STREAM_K)
def test_a_graph_with_a_workspace_replays(kernel_of):
    kernel = kernel_of(STREAM_K)
    a = torch.randint(-1, 2, (384, 8192), device="cuda").bfloat16()
    b = torch.randint(-1, 2, (256, 8192), device="cuda").bfloat16()
    out = kernel(a, b, b_is="nk")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(a, b, b_is="nk", out=out)
    for _ in range(3):
        a.copy_(torch.randint(-1, 2, a.shape, device="cuda").bfloat16())
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, (a.float() @ b.float().t()).bfloat16())


@pytest.mark.kernels(STREAM_K)
def test_no_k_is_refused(kernel_of):
    a, b = torch.empty(128, 0, device="cuda").bfloat16(), torch.empty(128, 0, device="cuda").bfloat16()
    with pytest.raises(LaunchError, match="k is 0, must be at least 1"):
        kernel_of(STREAM_K)(a, b, b_is="nk")
