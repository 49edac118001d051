"""What the compiler makes of the templates: no spills, and fragments loaded well ahead of their use."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutegen
from cutegen.build import Artifact, compile_kernel
from tests.support import sass

ROOT = Path(__file__).parent.parent.parent
DOUBLE_BUFFERED = ("multistage", "sm80_bf16", "sm80_bf16_nt", "sm90_bf16")


def _artifact(name: str, target: str | None = None) -> Artifact:
    plan = cutegen.plan(cutegen.load(ROOT / f"examples/{name}.yaml"))
    return compile_kernel(cutegen.render(plan), target=target)


@pytest.mark.parametrize("name", DOUBLE_BUFFERED)
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_double_buffered_fragments_are_loaded_14_mma_ahead(name: str, target: str) -> None:
    artifact = _artifact(name, target)
    loop = sass.main_loop(sass.instructions(sass.nvdisasm(), artifact.cubin))
    plan = cutegen.plan(cutegen.load(ROOT / f"examples/{name}.yaml"))
    assert plan.double_buffer
    repeats = plan.output.atoms_m * plan.output.atoms_n
    assert sass.counts(loop)["HMMA"] == repeats * plan.a.fragments.k_blocks
    distances = sass.ldmatrix_distances(loop)
    assert distances
    assert min(distances) >= 14, distances


@pytest.mark.parametrize("name", DOUBLE_BUFFERED)
def test_the_main_loop_holds_neither_spills_nor_branches(name: str) -> None:
    artifact = _artifact(name)
    assert artifact.resources.spill_stores == artifact.resources.spill_loads == 0
    found = sass.counts(sass.main_loop(sass.instructions(sass.nvdisasm(), artifact.cubin)))
    assert found["LDL"] == found["STL"] == 0
    assert found["BRA"] == 1  # the one that closes it
    assert found["BAR"] == 1


@pytest.mark.parametrize(("name", "width"), [("gemm_device", "STG.E.128"), ("smem", "STG.E")])
def test_no_direct_store_is_split(name: str, width: str) -> None:
    """With and without C, each piece of a fragment leaves in one store."""
    plan = cutegen.plan(cutegen.load(ROOT / f"examples/{name}.yaml"))
    assert plan.config.epilogue.store == "direct"
    stores = [i for i in sass.instructions(sass.nvdisasm(), _artifact(name).cubin) if "STG" in i]
    pieces = 2 * plan.output.registers // plan.d_vector
    assert len(stores) == pieces
    assert all(width in i.split() for i in stores), stores


def test_the_check_sees_a_load_right_before_its_use() -> None:
    loop = [
        "LDSM.16.M88.4 R8, [R0+UR4]",
        "HMMA.16816.F32.BF16 R20, R8, R12, R20",
        "LDSM.16.M88.4 R12, [R2+UR4]",
        "HMMA.16816.F32.BF16 R24, R4, R16, R24",
    ]
    assert sass.ldmatrix_distances(loop) == [0, 1]
