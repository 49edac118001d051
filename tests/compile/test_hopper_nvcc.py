"""``tma_wgmma`` through nvcc: no spills, wgmma not serialised, a main loop of little but what it needs."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import cutegen
from cutegen.build import Artifact, compile_kernel
from cutegen.config import GemmConfig
from cutegen.resources_wgmma import accumulator_registers, sum_sets
from tests.support import sass
from tests.support.wgmma_variants import VARIANTS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "hopper").glob("*.yaml"))

#: Each takes templates or operations that the examples do not.
COMPILED = (
    *("cluster_of_four", "m_major", "f16_in_f16", "s8_to_s8", "narrow_panels", "more_than_a_box"),
    *("three_consumers_wide", "registers_pingpong", "registers_three_consumers", "registers_along_n"),
    *("registers_atoms", "registers_one_set", "stream_k_registers", "swapped_registers_pdl"),
    *("s8_scaled", "scaled_m_major", "scaled_direct", "scaled_f16_in_f16", "swapped_scaled"),
    *("promoted", "promoted_one_set", "promoted_pingpong"),
    *("swapped_8_rows", "swapped_direct", "swapped_m_major", "split_in_eight", "split_pingpong"),
    *("split_f16_in_f16", "split_two_consumers", "pdl_a_ahead", "pdl_split_cluster"),
    *("stream_k_pingpong_wide", "stream_k_promoted", "stream_k_pdl", "stream_k_f16_in_f16"),
    *("semaphore_pingpong", "semaphore_scaled", "five_chunks", "two_atoms", "m_major_direct_atoms"),
)


#: What ptxas says of wgmma that it mends: C7510 to C7515, one after the other; C7517, C7519, a wait or an
#: arrive injected.
REPAIRED = re.compile(r"\(C75\d\d\)|serializ|is injected")

COMMIT = "  warpgroup_commit_batch();\n"
STEP = "            scale, make_int_sequence<ACCUMULATORS>{});\n"
REPAIRS = {  # a change of the kernel, and what ptxas must say
    "accumulators touched between products": (STEP, STEP + "      rC(0) *= 2.0f;\n", "serialized"),
    "accumulators touched before the wait": (COMMIT, COMMIT + "  tCrC(0) += 1.0f;\n", "wait is injected"),
    "no fence before the products": ("  warpgroup_arrive();\n", "", "arrive is injected"),
}


def build(config: GemmConfig) -> Artifact:
    return compile_kernel(cutegen.render(cutegen.plan(config)))


def check_build(artifact: Artifact) -> None:
    assert artifact.target == "sm_90a"
    assert artifact.resources.spill_stores == artifact.resources.spill_loads == artifact.resources.stack == 0
    log = artifact.log.read_text(encoding="utf-8")
    assert not REPAIRED.search(log), log


def without_stores(loop: list[str], kind: str, chunks: int) -> list[str]:
    """The loop once the last tile's chunks have left: a branch behind the products leads past them."""
    products = max(i for i, line in enumerate(loop) if kind in line)
    branch = next(i for i in range(products, len(loop)) if "BRA" in loop[i])
    wait = next(i for i in range(branch, len(loop)) if "WARPGROUP.DEPBAR" in loop[i])
    assert sum("UTMASTG" in line for line in loop[branch:wait]) == chunks
    return loop[: branch + 1] + loop[wait:]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_compile_to_a_tight_loop(path: Path) -> None:
    config = cutegen.load(path)
    artifact = build(config)
    check_build(artifact)
    plan = cutegen.plan(config)
    kind = "QGMMA" if plan.config.a.dtype in ("e4m3", "e5m2") else "HGMMA"
    sets = sum_sets(plan.config)
    expected = max(1, sets) * plan.groups.atoms_m * (plan.tile[2] // plan.atom.shape[2])
    adds = sets * accumulator_registers(plan.config)
    loop = sass.shortest_loop(sass.instructions(sass.nvdisasm(), artifact.cubin), kind, expected)
    assert sum(kind in line for line in loop) == expected
    if plan.config.epilogue.overlap:
        loop = without_stores(loop, kind, len(plan.shared.chunks) * plan.groups.atoms_m)
    loads = 9 * expected if plan.a.registers else 0  # four of A, an exchange of its halves, a wait
    assert len(loop) < 5 * expected + adds + loads + 50, "\n".join(loop)
    assert sum("FADD" in line for line in loop) == adds


@pytest.mark.parametrize("name", COMPILED)
def test_variants_compile(name: str) -> None:
    check_build(build(VARIANTS[name]))


@pytest.mark.parametrize("fault", REPAIRS)
def test_what_ptxas_repairs_is_seen(fault: str) -> None:
    old, new, said = REPAIRS[fault]
    rendered = cutegen.render(cutegen.plan(VARIANTS["pingpong_64_rows"]))
    assert rendered.text.count(old) == 1
    artifact = compile_kernel(dataclasses.replace(rendered, text=rendered.text.replace(old, new)))
    log = artifact.log.read_text(encoding="utf-8")
    assert said in log
    assert REPAIRED.search(log)
    with pytest.raises(AssertionError):
        check_build(artifact)
