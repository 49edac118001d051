"""Predicted shared memory and CTAs per SM against what the driver says of the loaded kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutegen.arch import ARCHS
from cutegen.loader import load
from cutegen.occupancy import occupancy
from cutegen.plan import plan

torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")

EXAMPLES = Path(__file__).parents[2] / "examples"
PATHS = sorted(
    path
    for folder in (EXAMPLES, EXAMPLES / "hopper")
    for path in folder.glob("*.yaml")
    if "matrix" not in path.stem
)
CONFIGS = [load(path) for path in PATHS]


@pytest.mark.kernels(*CONFIGS)
@pytest.mark.parametrize("config", CONFIGS, ids=[path.stem for path in PATHS])
def test_what_an_sm_holds(kernel_of, config):
    major, minor = torch.cuda.get_device_capability()
    here = next((a for a in ARCHS.values() if a.cc == 10 * major + minor), None)
    if here is None:
        pytest.skip(f"the limits of compute capability {major}.{minor} are not known here")
    kernel, predicted = kernel_of(config), plan(config)
    seen = kernel.attributes()
    smem = seen.static_smem + seen.dynamic_smem
    assert smem == predicted.smem_bytes
    found = occupancy(here, threads=predicted.threads, registers=seen.registers, smem=smem)
    assert found.ctas == seen.blocks_per_sm
