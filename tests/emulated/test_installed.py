"""The emulator from an installed wheel, far from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from cutegen.emulator.host import find_cuda_headers

ROOT = Path(__file__).parents[2]


def test_an_installed_wheel_runs_kernels(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed; install cutegen[dev]")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").iterdir()
    home = tmp_path / "new env"
    venv.create(home, with_pip=False)
    python = str(home / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    (site,) = (home / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    config = tmp_path / "c.yaml"
    config.write_text("arch: sm_80\na: {dtype: bf16}\nb: {dtype: bf16}\ntile: [64, 64, 64]\n")
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CUDA_HOME")}
    env["CUTEGEN_CUDA_INCLUDE"] = str(find_cuda_headers()[0][0])
    where = [python, "-c", "import cutegen.emulator; print(cutegen.emulator.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).is_relative_to(site)
    command = [str(home / "bin" / "cutegen"), "run", str(config), "--device", "cpu"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no findings" in done.stdout
