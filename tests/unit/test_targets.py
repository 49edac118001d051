from __future__ import annotations

from pathlib import Path

import pytest

from cutegen.errors import ConfigError, ToolchainError
from cutegen.toolchain import check_target, require_target, target_for_device
from cutegen.toolchain.nvcc import find_nvcc
from tests.support.build_fakes import (
    Fakes,
    make_fakes,
)


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fakes:
    return make_fakes(tmp_path, monkeypatch)


# ---- targets


@pytest.mark.parametrize(
    ("arch", "target", "expected"),
    [
        ("sm_80", None, "sm_80"),
        ("sm_80", "sm_80", "sm_80"),
        ("sm_80", "sm_90", "sm_90"),
        ("sm_80", "sm_120", "sm_120"),
        ("sm_80", "sm_90a", "sm_90a"),
        ("sm_90a", None, "sm_90a"),
        ("sm_90a", "sm_90a", "sm_90a"),
    ],
)
def test_targets_that_fit(arch: str, target: str | None, expected: str) -> None:
    assert check_target(arch, target) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arch", "target", "rule"),
    [
        ("sm_89", "sm_80", "target-below-arch"),
        ("sm_90a", "sm_90", "target-arch-specific"),
        ("sm_90a", "sm_100", "target-arch-specific"),
        ("sm_100a", "sm_103a", "target-arch-specific"),
        ("sm_80", "sm_100f", "target-family"),
        ("sm_80", "native", "target-form"),
        ("sm_80", "compute_90", "target-form"),
        ("sm_80", "90", "target-form"),
    ],
)
def test_targets_that_cannot_work(arch: str, target: str, rule: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_target(arch, target)  # type: ignore[arg-type]
    (violation,) = caught.value.violations
    assert violation.rule == rule
    assert violation.field == "target"
    assert violation.got == target
    assert arch in violation.need + violation.fix


def test_a_target_that_nvcc_does_not_list(fakes: Fakes) -> None:
    nvcc = find_nvcc()
    for target in nvcc.gpu_codes:
        require_target(nvcc, target)
    require_target(nvcc, "sm_90a")
    for target in ("sm_70", "sm_103", "sm_101a", "sm_80a"):
        with pytest.raises(ToolchainError) as caught:
            require_target(nvcc, target)
        assert f"nvcc 13.0.88 ({fakes.nvcc}) cannot build for {target}" in str(caught.value)
        assert "sm_75, sm_80, sm_86, sm_90, sm_100, sm_120" in str(caught.value)


def test_the_target_for_a_device() -> None:
    assert target_for_device("sm_80", (9, 0)) == "sm_90"
    assert target_for_device("sm_90a", (9, 0)) == "sm_90a"
    with pytest.raises(ConfigError, match="sm_75"):
        target_for_device("sm_80", (7, 5))
    with pytest.raises(ConfigError, match="sm_100"):
        target_for_device("sm_90a", (10, 0))
