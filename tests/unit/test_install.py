"""The command that a message gives for what is missing works where it is read."""

from __future__ import annotations

import importlib.metadata
import shlex
from pathlib import Path

import pytest

from cutegen import install
from cutegen.install import install_command

ROOT = Path(__file__).parents[2]


def test_in_a_checkout_it_names_the_checkout() -> None:
    assert shlex.split(install_command("cuda13")) == ["pip", "install", "-e", f"{ROOT}[cuda13]"]


def test_elsewhere_it_names_the_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(install, "_ROOT", tmp_path)
    listed = [
        "click>=8.1",
        "nvidia-cuda-nvcc==13.0.88; extra == 'cuda13'",
        'nvidia-nvvm==13.0.88 ; python_version > "3" and extra == "cuda13"',
        "torch>=2.4; extra == 'torch'",
    ]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: listed)
    packages = ["nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88"]
    assert shlex.split(install_command("cuda13")) == ["pip", "install", *packages]
    assert install_command("torch") == "pip install 'torch>=2.4'"


def test_nothing_else_writes_such_a_command() -> None:
    for path in [*(ROOT / "cutegen").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        if path.name != "install.py":
            assert "pip install 'cutegen[" not in path.read_text(encoding="utf-8"), path
