"""``tma_wgmma`` through nvcc: no spills, wgmma not serialised, a main loop of little but what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutegen
from cutegen.build import Artifact, compile_kernel
from cutegen.config import GemmConfig
from tests.support import sass
from tests.support.wgmma_variants import VARIANTS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "hopper").glob("*.yaml"))

#: Each takes templates or operations that the examples do not.
COMPILED = ("cluster_of_four", "m_major", "f16_in_f16", "s8_to_s8", "narrow_panels", "more_than_a_box")


def build(config: GemmConfig) -> Artifact:
    return compile_kernel(cutegen.render(cutegen.plan(config)))


def check_build(artifact: Artifact) -> None:
    assert artifact.target == "sm_90a"
    assert artifact.resources.spill_stores == artifact.resources.spill_loads == 0
    log = artifact.log.read_text(encoding="utf-8")
    assert "serializ" not in log, log  # ptxas C7510 to C7515: wgmma one after the other


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_compile_to_a_tight_loop(path: Path) -> None:
    config = cutegen.load(path)
    artifact = build(config)
    check_build(artifact)
    plan = cutegen.plan(config)
    kind = "QGMMA" if plan.config.a.dtype in ("e4m3", "e5m2") else "HGMMA"
    expected = plan.groups.atoms_m * (plan.tile[2] // plan.atom.shape[2])
    loop = sass.shortest_loop(sass.instructions(sass.nvdisasm(), artifact.cubin), kind, expected)
    assert sum(kind in line for line in loop) == expected
    assert len(loop) < 5 * expected + 50, "\n".join(loop)


@pytest.mark.parametrize("name", COMPILED)
def test_variants_compile(name: str) -> None:
    check_build(build(VARIANTS[name]))
