"""The harness of the GPU tests, over a launcher that computes with numpy: it passes only what is right."""

from __future__ import annotations

import pytest

import cutegen
from cutegen.config import GemmConfig
from tests.support.fake_kernel import make_kernel
from tests.support.gpu import EXTENTS, Case, Pool, all_cases, fits, gemm_config, latin_shapes, run_exact

torch = pytest.importorskip("torch", reason="torch is not installed; install cutegen[torch]")

PREFIXES = ("multistage-sm_80-f16-f32", "multistage-sm_80-s8", "simt-sm_80-f32", "simt-sm_80-f64")
CASES = [case for case in all_cases() if case.name.startswith(PREFIXES)]


def make(case, monkeypatch):
    return make_kernel(case.config, monkeypatch, device_type="cpu")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_right_kernels_pass(case, monkeypatch):
    kernel, library = make(case, monkeypatch)
    for seed, shape in enumerate(s for s in latin_shapes(3, EXTENTS[1:5]) if fits(case.config, *s)):
        run_exact(kernel, *shape, seed=seed, alpha=2, beta=seed % 2, device="cpu")
    assert library.launches


FAULTS = {
    "one element": lambda d: d.__setitem__((3, 5), d[3, 5] + 1),
    "a column left out": lambda d: d.__setitem__((slice(None), -1), float("nan")),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_kernels_fail_with_config_place_and_repro(fault, monkeypatch):
    case = Case("f16", lambda: gemm_config("f16", d="f16"))
    kernel, library = make(case, monkeypatch)
    right = library.launch

    def wrong(packed):
        status = right(packed)
        p = library.launches[-1].p
        from tests.support.fake_kernel import _matrix

        FAULTS[fault](_matrix(p.d, (p.m, p.n), p.ldd, 1, "float16"))
        return status

    kernel._launch = wrong
    with pytest.raises(AssertionError) as caught:
        run_exact(kernel, 136, 72, 64, seed=4, device="cpu")
    text = str(caught.value)
    assert "elements are wrong; the first: D(" in text
    assert "CTA tile (0, 0), warp " in text
    assert "cutegen run config.yaml --m 136 --n 72 --k 64 --seed 4" in text
    assert "arch: sm_80" in text


@pytest.mark.parametrize("where", [(-1, 0), (0, -1), (136, 3), (5, 72)])
def test_writing_outside_fails(where, monkeypatch):
    case = Case("f16", lambda: gemm_config("f16", d="f16"))
    kernel, library = make(case, monkeypatch)
    right = library.launch

    def stray(packed):
        status = right(packed)
        p = library.launches[-1].p
        import ctypes

        address = p.d + 2 * (where[0] * p.ldd + where[1])
        ctypes.c_uint16.from_address(address).value = 0x3C00
        return status

    kernel._launch = stray
    with pytest.raises(AssertionError, match=rf"wrote outside D, first at row {where[0]}, column {where[1]}"):
        run_exact(kernel, 136, 72, 64, device="cpu")


def test_latin_shapes_meet_every_pair():
    shapes = latin_shapes(7)
    assert len(shapes) == 64
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert len({(s[i], s[j]) for s in shapes}) == 64


def test_the_pool_builds_once_and_together(monkeypatch):
    batches = []

    def try_build_many(configs, **options):
        batches.append((len(configs), options))
        return [cutegen.CheckFailedError("no") if c.stages == 2 else c for c in configs]

    monkeypatch.setattr("tests.support.gpu.try_build_many", try_build_many)
    pool = Pool(jobs=3)
    one, two, bad = (gemm_config("f16", stages=s) for s in (1, 3, 2))
    pool.want([one, two, two, bad])
    assert pool(one).stages == 1
    assert pool(cutegen.resolve(two)).stages == 3
    assert batches == [(3, {"jobs": 3})]
    with pytest.raises(AssertionError, match="no\narch: sm_80"):
        pool(bad)
    assert isinstance(pool(gemm_config("f16", stages=4)), GemmConfig)
    assert [count for count, _ in batches] == [3, 1]


def test_the_cases_cover_what_they_should():
    names = {case.name for case in all_cases()}
    assert len(names) == len(all_cases()) > 150
    for mainloop in ("multistage", "direct"):
        for kind in ("f16-f32", "f16-f16", "bf16", "tf32", "f64"):
            for layout in ("tn", "tt", "nn", "nt"):
                assert [n for n in names if n.startswith(f"{mainloop}-sm_80-{kind}") and f"-{layout}-" in n]
        for kind in ("sm_80-s8", "sm_89-e4m3", "sm_89-e5m2", "sm_75-f16"):
            assert [n for n in names if n.startswith(f"{mainloop}-{kind}")]
