"""Scales and bias through nvcc: vLLM's kernel, with 128 accumulators of a thread, does not spill."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutegen
from cutegen.build import compile_kernel

VLLM = cutegen.load(Path(__file__).parents[2] / "examples" / "vllm_int8.yaml")


@pytest.mark.parametrize(("style", "bias"), [("resolved", None), ("resolved", "column"), ("idiomatic", None)])
def test_vllm_s_kernel_does_not_spill(style: cutegen.render.Style, bias: str | None) -> None:
    config = VLLM.replace(epilogue=VLLM.epilogue.replace(bias=bias))
    resources = compile_kernel(cutegen.render(cutegen.plan(config), style=style)).resources
    assert resources.spill_stores == resources.spill_loads == 0
