"""Warnings: each kind has a config that gets it and a close one that does not, and its way out works."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

import cutegen
from cutegen.config import GemmConfig
from cutegen.fuzz.generate import odd_config, sparse_config
from cutegen.lint import LintWarning, accesses, all_advices, lint
from cutegen.loader import load
from cutegen.plan import plan
from cutegen.rules import all_rules, check
from tests.support.cases import base, config
from tests.support.fixes import fixed_configs, ways_out

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Tutorials: they show one step of the way to a fast kernel, and get told so.
TUTORIALS = {"smem": ["scattered-stores", "one-stage"], "gemm_device": ["one-stage"]}

PLAIN = {"shape": [8, 32], "stride": [32, 1]}
SIMT = {"mainloop": "simt", "a.dtype": "f32", "b.dtype": "f32", "tile": [16, 16, 8]}
DOWN = {"threads": {"shape": [128, 1]}, "values": {"shape": [1, 8]}, "bits": 128}

#: id, field, a config that is warned of, one that is not.
CASES: list[tuple[str, str, GemmConfig, GemmConfig]] = [
    ("bank-conflicts", "smem.a.swizzle", base({"smem.a": PLAIN}), base()),
    (
        "bank-conflicts",
        "smem.b.swizzle",
        base({"smem.b": {**PLAIN, "swizzle": [1, 3, 3]}}),
        base({"smem.b": {"shape": [8, 32], "stride": [40, 1]}}),  # padded rows have none either
    ),
    (
        "narrow-copies",
        "g2s.a.bits",
        config({"g2s.a.bits": 64}),
        config({"g2s.a.bits": 64, "a.align": 8}),
    ),
    (
        "scattered-loads",
        "g2s.b.threads",
        config({"g2s.b": DOWN, "tile": [128, 128, 32]}),
        config(tile=[128, 128, 32]),
    ),
    (
        "scattered-stores",
        "epilogue.store",
        config({"epilogue.store": "direct"}),
        config({"epilogue.store": "direct", "d.dtype": "f32"}),  # pairs of f32, four to a sector
    ),
    ("registers-spill", "min_blocks", base(min_blocks=3), base(min_blocks=2)),
    ("registers-spill", "tile", base(tile=[128, 256, 32]), base(tile=[128, 192, 32], fragment_buffers=1)),
    (
        "min-blocks-smem",
        "min_blocks",
        config(tile=[64, 64, 32], min_blocks=6, stages=4),
        config(tile=[64, 64, 32], min_blocks=4, stages=4),
    ),
    ("one-stage", "stages", base(stages=1), base(stages=2)),
    (
        "limits-unreachable",
        "limits.max_smem_bytes",
        base({"limits.max_smem_bytes": 49151}),
        base({"limits.max_smem_bytes": 49152}),
    ),
    (
        "limits-unreachable",
        "limits.max_registers",
        base({"limits.max_registers": 128, "limits.max_spills": 0}),
        base({"limits.max_registers": 128}),  # spills are allowed
    ),
    (
        "idle-threads",
        "tile",
        config({"tile": [16, 16, 16], "tiled_mma.layout": [1, 2, 1], "d.align": 16}),
        config({"tile": [32, 32, 16], "tiled_mma.layout": [1, 2, 1], "d.align": 16}),
    ),
    (
        "idle-threads",
        "tiled_mma.layout",
        config({**SIMT, "tiled_mma.layout": [4, 4, 1]}),
        config({**SIMT, "tiled_mma.layout": [8, 4, 1]}),
    ),
]
IDS = [f"{name}-{field}" for name, field, *_ in CASES]


def of(name: str, cfg: GemmConfig) -> list[LintWarning]:
    return [w for w in lint(cfg) if w.id == name]


@pytest.mark.parametrize(("name", "field", "bad", "good"), CASES, ids=IDS)
def test_each_warning(name: str, field: str, bad: GemmConfig, good: GemmConfig) -> None:
    assert not check(bad)
    assert [w.field for w in of(name, bad)] == [field]
    assert not check(good)
    assert of(name, good) == []


@pytest.mark.parametrize(("name", "field", "bad", "good"), CASES, ids=IDS)
def test_the_ways_out_lead_out(name: str, field: str, bad: GemmConfig, good: GemmConfig) -> None:
    (warning,) = of(name, bad)
    for way, fixed in fixed_configs(bad, warning):  # type: ignore[arg-type]  # it has a fix, as a violation has
        assert not check(fixed), way
        assert of(name, fixed) == [], way
    if warning.fix.startswith(("use ", "leave ")) and "smaller" not in warning.fix and ":" in warning.fix:
        assert ways_out(warning)  # type: ignore[arg-type]


def test_every_advice_has_a_case() -> None:
    assert {name for name, *_ in CASES} == {a.id for a in all_advices()}


def test_ids_reasons_and_sources() -> None:
    ids = [a.id for a in all_advices()]
    assert len(set(ids)) == len(ids)
    assert not set(ids) & {r.id for r in all_rules()}
    for each in all_advices():
        assert each.reason.endswith("."), each.id
        assert len(each.source) > 10, each.id


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda p: p.stem)
def test_examples(path: Path) -> None:
    if "matrix" in path.stem:
        pytest.skip("a matrix file; the command line looks at its cases")
    assert [w.id for w in lint(load(path))] == TUTORIALS.get(path.stem, [])


@pytest.mark.parametrize("seed", range(60))
def test_what_is_chosen_for_the_user_is_not_warned_of(seed: int) -> None:
    """Types, majors, alignments and architecture are the user's; all the rest is cutegen's own choice."""
    rng = Random(seed)
    cfg = sparse_config(rng)
    keep = {name: getattr(cfg, name) for name in ("arch", "mainloop", "a", "b", "c", "d", "accumulator")}
    cfg = GemmConfig(**keep)
    if not check(cfg):
        narrow = min(cfg.a.align or 16, cfg.b.align or 16) < 4  # below cp.async: bytes pass through registers
        assert [w for w in lint(cfg) if not (narrow and w.id == "registers-spill")] == []


@pytest.mark.parametrize("seed", range(60))
def test_any_legal_config_can_be_looked_at(seed: int) -> None:
    """Nothing raises, the costs make sense, and each way out that is a patch is legal and leads out."""
    cfg = odd_config(Random(1000 + seed))
    if check(cfg):
        return
    for access in accesses(plan(cfg)):
        assert access.requests > 0
        assert access.degree >= 1
        assert access.worst <= access.cost
    for warning in lint(cfg):
        for way, fixed in fixed_configs(cfg, warning):  # type: ignore[arg-type]
            assert not check(fixed), (warning, way)
            if warning.id != "bank-conflicts":  # of which a fix may leave some
                assert warning.id not in {w.id for w in lint(fixed) if w.field == warning.field}, (
                    warning,
                    way,
                )


def test_a_config_that_breaks_a_rule_is_not_warned_of() -> None:
    with pytest.raises(cutegen.ConfigError, match="this config cannot work"):
        lint(base(tile=[100, 128, 32]))
    with pytest.raises(cutegen.ConfigError, match="must be a GemmConfig"):
        lint("gemm.yaml")  # type: ignore[arg-type]


def test_a_warning_says_what_it_costs() -> None:
    (warning,) = cutegen.lint(base({"smem.a": PLAIN}))
    assert warning.to_dict() == {
        "id": "bank-conflicts",
        "field": "smem.a.swizzle",
        "message": "reading fragments takes 512 wavefronts a k-tile for 128, 4 times as many as without bank "
        "conflicts",
        "got": "no swizzle",
        "fix": "use smem.a.swizzle: [2, 3, 3], which takes 128",
    }
    assert str(warning).endswith(
        "(got no swizzle); use smem.a.swizzle: [2, 3, 3], which takes 128 [bank-conflicts]"
    )


@pytest.mark.parametrize(
    ("pitch", "swizzle", "ways"),
    [
        (32, "none", 4), (32, [1, 3, 3], 2), (32, [2, 3, 3], 1), (32, [3, 3, 3], 1),
        (64, "none", 8), (64, [1, 3, 3], 4), (64, [2, 3, 3], 2), (64, [3, 3, 3], 1), (64, [3, 3, 4], 2),
        (40, "none", 1), (72, "none", 1),
    ],
)  # fmt: skip
def test_degrees_measured_on_an_h200(pitch: int, swizzle: Any, ways: int) -> None:
    run = 32 if pitch < 64 else 64
    smem = {"shape": [8, run], "stride": [pitch, 1], "swizzle": swizzle}
    cfg = config({"tile": [128, 128, run], "smem.a": smem, "tiled_mma.layout": [2, 2, 1], "stages": 2})
    (access,) = [a for a in accesses(plan(cfg)) if a.name == "S2R A"]
    assert access.degree == ways


def test_the_output_is_staged_without_conflicts() -> None:
    for element, out in (("f16", "f16"), ("f16", "f32"), ("f64", "f64"), ("s8", "s32"), ("tf32", "f32")):
        for major in "nm":
            cfg = config({"a.dtype": element, "b.dtype": element, "d": {"dtype": out, "major": major}})
            cfg = cfg.model_copy(
                update={"tile": (64, 64, 32), "epilogue": cfg.epilogue.model_copy(update={"store": "smem"})}
            )
            found = {a.name: a.degree for a in accesses(plan(cfg)) if a.space == "shared"}
            assert found["R2S D"] == found["S2G D"] == 1, (element, out, major)
