"""Kernels of which ``registers-spill`` warns do spill, and close ones of which it does not, do not."""

from __future__ import annotations

import pytest

import cutegen
from cutegen.kernel import Kernel
from tests.support.cases import base, config

SPILL = {
    "three CTAs of 128 accumulators": base(min_blocks=3),
    "192 accumulators, two buffers": base(tile=[128, 192, 32], fragment_buffers=2),
    "plain loads": config({"a.dtype": "f64", "b.dtype": "f64", "tile": [64, 64, 16], "min_blocks": 6}),
}
FIT = {
    "two CTAs of 128 accumulators": base(min_blocks=2),
    "CUDA cores": config(
        {"a.dtype": "f32", "b.dtype": "f32", "tile": [128, 128, 8], "stages": 2, "min_blocks": 2}
    ),
}


@pytest.fixture(scope="module")
def built() -> dict[str, Kernel]:
    cases = SPILL | FIT
    return dict(zip(cases, cutegen.build_many(list(cases.values()), jobs=2, target="sm_80"), strict=True))


@pytest.mark.parametrize("name", SPILL | FIT)
def test_spills_are_as_predicted(name: str, built: dict[str, Kernel]) -> None:
    warned = any(w.id == "registers-spill" for w in cutegen.lint((SPILL | FIT)[name]))
    used = built[name].resources
    assert warned == (name in SPILL)
    assert (used.spill_stores + used.spill_loads > 100) == warned
