"""Rendered kernels on the CPU: exact at even and odd shapes, clean in every schedule, and counted."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from cutegen import emulator
from cutegen.config import GemmConfig
from cutegen.errors import ArgumentError, CompileError, ConfigError
from cutegen.loader import load
from cutegen.plan import plan
from cutegen.render import render
from tests.support.emulated import Problem, kernel_of

pytestmark = pytest.mark.emulated

EXAMPLES = Path(__file__).parents[2] / "examples"


def _is_single(path: Path) -> bool:
    try:
        load(path)
    except ConfigError:
        return False
    return True


NAMES = [path.stem for path in sorted(EXAMPLES.glob("*.yaml")) if _is_single(path)]


@cache
def config_of(name: str) -> GemmConfig:
    return load(EXAMPLES / f"{name}.yaml")


@cache
def base() -> emulator.EmulatedKernel:
    return kernel_of(config_of("multistage"))


@pytest.mark.parametrize("name", NAMES)
def test_example_is_exact_and_clean(name: str) -> None:
    kernel = kernel_of(config_of(name))
    for shape, beta in (
        ((256, 256, 128), 0.0),
        ((136, 264, 80), 0.0),
        ((256, 256, 64), 1.0),
        ((256, 256, 0), 1.0),
    ):
        problem = Problem(config_of(name), *shape, beta=beta)
        report = problem.run(kernel)
        assert problem.exact, (name, shape, beta)
        assert report.clean, report.summary()
        assert report.ctas > 0


@pytest.mark.parametrize("name", ["sm75_f16", "sm80_s8", "sm80_tf32"])
def test_staged_c_is_clean_beyond_the_edge(name: str) -> None:
    problem = Problem(config_of(name), 136, 264, 80, beta=1.0)
    report = problem.run(kernel_of(config_of(name)))
    assert problem.exact
    assert report.clean, report.summary()


@pytest.mark.parametrize("name", ["multistage", "gemm_device", "simple"])
def test_idiomatic_style_is_exact_and_clean(name: str) -> None:
    kernel = kernel_of(config_of(name), "idiomatic")
    for beta in (0.0, 1.0):
        problem = Problem(config_of(name), 136, 264, 80, beta=beta)
        report = problem.run(kernel)
        assert problem.exact
        assert report.clean, report.summary()


def test_odd_extents_are_exact_where_alignment_allows_them() -> None:
    operand = {"dtype": "f16", "align": 2}
    config = GemmConfig.model_validate(
        {"arch": "sm_80", "tile": (64, 64, 32), "a": operand, "b": operand, "c": operand, "d": operand}
    )
    kernel = kernel_of(config)
    for shape in ((1, 1, 1), (63, 65, 33), (127, 3, 31), (5, 129, 64)):
        problem = Problem(config, *shape)
        report = problem.run(kernel)
        assert problem.exact, shape
        assert report.clean, report.summary()


@pytest.mark.parametrize("residue", range(1, 8))
def test_every_residue_of_k_is_exact(residue: int) -> None:
    for extra in range(4):
        problem = Problem(config_of("multistage"), 8 * residue, 128 + 8 * residue, 8 * (residue + 8 * extra))
        assert problem.run(base()).clean
        assert problem.exact


@pytest.mark.parametrize("seed", range(20))
def test_every_schedule_is_clean(seed: int) -> None:
    problem = Problem(config_of("multistage"), 136, 128, 104, beta=1.0, seed=seed)
    report = problem.run(base(), seed=seed + 1, processes=1)
    assert report.clean, report.summary()
    assert problem.exact


def test_without_the_sanitizer_nothing_is_counted() -> None:
    problem = Problem(config_of("multistage"), 256, 128, 64)
    report = problem.run(base(), sanitize=False)
    assert problem.exact
    assert not report.traffic
    assert not report.sanitized


def test_counts_of_base() -> None:
    report = Problem(config_of("multistage"), 256, 256, 128).run(base())
    shared, sectors = report.by_kind("shared"), report.by_kind("global")
    for kind in ("S2R A", "S2R B", "R2S", "S2G"):
        assert shared[kind].degree == 1.0, kind
    assert sectors["G2S A"].cost == sectors["G2S A"].ideal == 2 * 256 * 128 * 2 // 32
    assert sectors["R2G"].cost == 256 * 256 * 2 // 32
    mma = [i for i in report.instructions if i.name.startswith("mma.sync m16n8k16")]
    assert sum(i.count for i in mma) == 256 * 256 * 128 // (16 * 8 * 16)


def test_a_missing_swizzle_costs_four_wavefronts_for_one() -> None:
    config = config_of("multistage")
    rendered = render(plan(config))
    text = rendered.text.replace("using SmemSwizzle = Swizzle<2,3,3>;", "using SmemSwizzle = Swizzle<0,3,3>;")
    problem = Problem(config, 128, 128, 64)
    report = problem.run(emulator.compile(dataclasses.replace(rendered, text=text)))
    assert problem.exact
    assert report.clean
    assert report.by_kind("shared")["S2R A"].degree == 4.0


def test_padding_of_d_stays_untouched() -> None:
    problem = Problem(config_of("multistage"), 64, 64, 64)
    wide = np.full((64, 96), 7, dtype=np.float16)
    report = base().run(problem.a, problem.b, wide[:, :64])
    assert report.clean
    assert np.array_equal(wide[:, :64], problem.want.astype(np.float16))
    assert (wide[:, 64:] == 7).all()


def test_c_may_be_d_itself() -> None:
    problem = Problem(config_of("multistage"), 128, 136, 64, beta=1.0)
    problem.d[...] = problem.c
    report = base().run(problem.a, problem.b, problem.d, problem.d, beta=1.0)
    assert report.clean, report.summary()
    assert problem.exact


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    problem = Problem(config_of("multistage"), 1024, 1024, 128)
    problem.run(base(), progress=lambda done, total: seen.append((done, total)))
    assert problem.exact
    assert all(done <= total for done, total in seen)


def test_the_report_is_json() -> None:
    report = Problem(config_of("multistage"), 128, 128, 64).run(base())
    data = json.loads(json.dumps(report.to_dict()))
    assert data["clean"] is True
    assert data["traffic"][0]["place"]["line"] > 0


def test_shapes_that_do_not_fit_are_refused() -> None:
    problem = Problem(config_of("multistage"), 64, 64, 64)
    with pytest.raises(ArgumentError, match=r"b must be \(64, 64\)"):
        base().run(problem.a, problem.b[:, :32], problem.d)


def test_a_text_that_does_not_compile_names_its_line() -> None:
    rendered = render(plan(config_of("multistage")))
    broken = dataclasses.replace(
        rendered, text=rendered.text.replace("zero(tCrC);\n  mainloop", "zer(tCrC);\n  mainloop")
    )
    with pytest.raises(CompileError, match=r"\.cu:\d+"):
        emulator.compile(broken)


def test_a_second_compile_comes_from_the_cache() -> None:
    assert kernel_of(config_of("multistage")).compiled.cached
