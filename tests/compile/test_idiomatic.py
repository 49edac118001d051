"""The idiomatic style compiles, does not spill, and makes the compiler emit what the resolved style does."""

from __future__ import annotations

from pathlib import Path

import pytest

import cutegen
from cutegen.build import Artifact, compile_kernel
from cutegen.config import GemmConfig
from cutegen.render import Style
from tests.support import sass
from tests.support.oracle_configs import HANDMADE

ROOT = Path(__file__).parents[2]

#: Each needs templates or copies that the others do not.
COMPILED = (
    "example:simple",
    "example:smem",
    "example:gemm_device",
    "example:sm75_f16",
    "handmade:padded_stages",
    "handmade:simt_f16",
)


def _config(key: str) -> GemmConfig:
    kind, _, name = key.partition(":")
    if kind == "handmade":
        return GemmConfig.model_validate(HANDMADE[name])
    return cutegen.load(ROOT / f"examples/{name}.yaml")


def _build(key: str, style: Style) -> Artifact:
    return compile_kernel(cutegen.render(cutegen.plan(_config(key)), style=style))


@pytest.mark.parametrize("key", COMPILED)
def test_it_compiles_without_spills(key: str) -> None:
    resources = _build(key, "idiomatic").resources
    assert resources.spill_stores == resources.spill_loads == 0


@pytest.mark.parametrize("name", ["ampere_bf16", "multistage"])
def test_both_styles_loop_over_the_same_instructions(name: str) -> None:
    tool = sass.nvdisasm()
    found = {}
    for style in ("resolved", "idiomatic"):
        artifact = _build(f"example:{name}", style)  # type: ignore[arg-type]
        loop = sass.counts(sass.main_loop(sass.instructions(tool, artifact.cubin)))
        found[style] = {opcode: loop[opcode] for opcode in ("HMMA", "LDSM", "LDGSTS", "BAR")}
    plan = cutegen.plan(cutegen.load(ROOT / f"examples/{name}.yaml"))
    assert found["idiomatic"] == found["resolved"]
    assert found["idiomatic"]["HMMA"] == plan.output.atoms_m * plan.output.atoms_n * plan.a.fragments.k_blocks
    assert found["idiomatic"]["LDSM"] == sum(o.read.copies * o.fragments.k_blocks for o in (plan.a, plan.b))  # type: ignore[union-attr]
    assert found["idiomatic"]["LDGSTS"] == plan.a.copy.steps + plan.b.copy.steps
