"""``collective`` on the CPU emulator: the rendered text, its host code included, is exact and clean.

A compilation takes the host compiler about a minute, so one kernel stands for all unless slow tests run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutegen
from cutegen.config import GemmConfig
from cutegen.errors import LaunchError
from cutegen.numerics import storage
from cutegen.plan import plan
from cutegen.reference import check, exact_inputs
from cutegen.render import render
from tests.support.emulated import Problem, kernel_of
from tests.support.rule_cases_collective import collective

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = EXAMPLES / "collective"
S8: dict[str, Any] = {"a.dtype": "s8", "b.dtype": "s8"}
E4M3: dict[str, Any] = {"a.dtype": "e4m3", "b.dtype": "e4m3"}
SLOW: dict[str, GemmConfig] = {
    **{name: cutegen.load(FOLDER / f"{name}.yaml") for name in ("pingpong", "warp_specialized", "e4m3")},
    "cooperative": cutegen.load(FOLDER / "cooperative.yaml"),
    "slow_accumulation": collective(E4M3, tile=[128, 128, 128], fast_accumulation=False),
    "s8": collective(S8, tile=[64, 128, 128]),
    "direct": collective({"epilogue.store": "direct", "d.align": 2}, tile=[64, 128, 64]),
}
ALL: dict[str, Any] = {"epilogue": {"scale_a": "row", "scale_b": "column", "bias": "column"}}
TENSORS: dict[str, Any] = {"epilogue": {"scale_a": "tensor", "scale_b": "tensor"}}
SCALED: dict[str, GemmConfig] = {
    "fp8_rowwise": cutegen.load(FOLDER / "fp8_rowwise.yaml"),
    "vllm_m16": cutegen.load(EXAMPLES / "vllm" / "m16_n1280.yaml"),
    "tensors": collective(E4M3 | TENSORS, tile=[128, 128, 128], schedule="cooperative"),
    "s8_to_s32": collective(S8 | ALL | {"c.dtype": "f32"}, tile=[64, 128, 128], schedule="pingpong"),
    "s8_with_f32_c": collective(
        S8 | ALL | {"d.dtype": "bf16", "c.dtype": "f32", "c.major": "m"},
        **{"tile": [128, 64, 128], "schedule": "cooperative", "cluster": [2, 1, 1]},
    ),
    "stream_k": collective(ALL | {"scheduler.kind": "stream_k"}, tile=[256, 128, 64], schedule="cooperative"),
}

#: Parts of tiles; less than a tile; a single row.
SHAPES = ((272, 272, 208), (16, 32, 16), (1, 16, 80))


def run(config: GemmConfig) -> None:
    kernel = kernel_of(config)
    for beta in (0.0, 1.0):
        for seed in (0, 1, 5):
            shapes = SHAPES if seed == 0 else SHAPES[:1]
            for shape in shapes:
                if "m" in (config.a.major, config.c.major, config.d.major) and shape[0] % 8:
                    continue
                problem = Problem(config, *shape, beta=beta, seed=seed)
                if beta == 0 and problem.c.dtype.kind != "i":  # D stands in for C: NaN, lest it be read
                    problem.d[...] = np.frombuffer(b"\xff" * problem.d.itemsize, dtype=problem.d.dtype)[0]
                report = problem.run(kernel, seed=seed)
                assert report.clean, report.summary()
                assert problem.exact, (shape, beta, seed)


def test_stream_k_is_exact_and_clean() -> None:
    config = cutegen.load(FOLDER / "stream_k.yaml")
    run(config)
    with pytest.raises(LaunchError, match="K of at least 1"):
        Problem(config, 128, 128, 0).run(kernel_of(config))


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_it_is_exact_and_clean(name: str) -> None:
    run(SLOW[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SCALED)
def test_scales_and_bias_are_exact_and_clean(name: str) -> None:
    run(SCALED[name])


INTEGERS: dict[str, GemmConfig] = {
    "s32": collective(S8, tile=[64, 128, 128], schedule="pingpong"),
    "s32_from_registers": collective(
        S8 | {"epilogue.store": "direct", "c.dtype": "f32"}, tile=[128, 64, 128], schedule="cooperative"
    ),
    "s8": collective(S8 | {"d.dtype": "s8"}, tile=[64, 128, 128], schedule="warp_specialized"),
    "u8": collective(
        {"a.dtype": "u8", "b.dtype": "u8", "d.dtype": "u8"}, tile=[64, 128, 128], schedule="pingpong"
    ),
}
FACTORS = ((0.5, 0.0), (-0.5, 1.5), (0.25, 0.0), (2.0**27, 0.0), (-(2.0**27), 2.0**30), (0.3, 0.7))


@pytest.mark.slow
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_rounded_and_saturate(name: str) -> None:
    """Halves to even, bit for bit; what lies between two integers, to the nearer one."""
    config = plan(INTEGERS[name]).config
    kernel = kernel_of(config)
    x = exact_inputs(config, 100, 96, 144, seed=3)
    for alpha, beta in FACTORS:
        d = np.full((100, 96), 77, dtype=storage(config.d.dtype or "s32"))
        report = kernel.run(x.a, x.b, d, x.c, alpha=alpha, beta=beta)
        assert report.clean, report.summary()
        exact = alpha != 0.3
        found = check(config, d, x.a, x.b, x.c, alpha=alpha, beta=beta, exact=exact)
        assert found.ok, (alpha, beta, str(found))


FAULTS = {  # a change of the source's host code, which must not pass
    "stride of a": (
        SLOW["pingpong"],
        "stride_of<typename Gemm::StrideA>(lda)",
        "stride_of<typename Gemm::StrideA>(lda + 8)",
    ),
    "alpha": (SLOW["pingpong"], "C::Scale(p.alpha)", "C::Scale(p.beta)"),
    "scale_b": (SCALED["fp8_rowwise"], "const*>(p.scale_b)", "const*>(p.scale_a)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_host_code_are_seen(fault: str) -> None:
    import dataclasses

    from cutegen import emulator

    config, old, new = FAULTS[fault]
    rendered = render(plan(config))
    assert rendered.text.count(old) == 1
    kernel = emulator.compile(dataclasses.replace(rendered, text=rendered.text.replace(old, new)))
    problem = Problem(config, 272, 272, 208)
    report = problem.run(kernel)
    assert not (report.clean and problem.exact)
