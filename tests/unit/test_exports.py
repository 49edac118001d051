"""What ``cutegen`` offers, whatever was imported before."""

from __future__ import annotations

import subprocess
import sys

import pytest

import cutegen


@pytest.mark.parametrize("name", cutegen.__all__)
def test_every_name_is_there(name):
    assert getattr(cutegen, name) is not None
    assert name in dir(cutegen)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'cutegen' has no attribute 'nothing'"):
        _ = cutegen.nothing


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import cutegen.build, cutegen.plan, cutegen.render, cutegen.resolve, cutegen.lint",
        "from cutegen.building import build",
        "import cutegen; cutegen.build; import cutegen.build",
        "from cutegen.build import compile_kernel",
    ],
)
def test_functions_are_not_hidden_by_modules_of_their_name(before):
    code = (
        f"{before}\nimport cutegen\nfrom cutegen import build, lint, plan, render, resolve\n"
        "for name in ('build', 'plan', 'render', 'resolve', 'load', 'check', 'build_many', 'lint'):\n"
        "    assert type(getattr(cutegen, name)).__name__ in ('function', '_lru_cache_wrapper'), name\n"
        "from cutegen.build import compile_kernel\nfrom cutegen.resolve.types import resolve_types\n"
        "assert cutegen.build is build and cutegen.loader.load is cutegen.load\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_what_is_no_config_is_said_to_be_none() -> None:
    for function in (cutegen.check, cutegen.plan, cutegen.resolve):
        with pytest.raises(cutegen.ConfigError, match=r"must be a GemmConfig \(got str\); load the file"):
            function("gemm.yaml")  # type: ignore[arg-type]
    with pytest.raises(cutegen.ConfigError, match=r"takes a KernelPlan"):
        cutegen.render("gemm.yaml")  # type: ignore[arg-type]
    config = cutegen.loads("{arch: sm_80, a: {dtype: f16}, b: {dtype: f16}}")
    with pytest.raises(cutegen.ConfigError, match="style must be one of resolved, idiomatic"):
        cutegen.render(cutegen.plan(config), style="pretty")  # type: ignore[arg-type]


def test_only_the_interface_is_listed() -> None:
    assert dir(cutegen) == cutegen.__all__ == sorted(set(cutegen.__all__))
