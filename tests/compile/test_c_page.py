"""The programs of ``docs/c.md``: compiled without a warning, linked with a built kernel, and run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import cutegen
from cutegen.toolchain import find_toolchain

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "c.md").read_text(encoding="utf-8")
SUPPORT = Path(__file__).parent.parent / "support"
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    return str(found)


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@dataclass(frozen=True)
class Built:
    """A kernel of the page's config, the fake driver, and where cuda.h is."""

    kernel: cutegen.Kernel
    driver: Path
    headers: Path

    @property
    def options(self) -> tuple[str, ...]:
        return (
            f'-DKERNEL="{self.kernel.header.name}"',
            f"-I{self.kernel.header.parent}",
            f"-isystem{self.headers}",
        )

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": f"{self.driver.parent}:{self.kernel.so.parent}"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = tmp_path_factory.mktemp("c page")
    headers = next(p for p in find_toolchain().nvcc.includes if (p / "cuda.h").is_file())
    driver = root / "libcuda.so.1"
    flags = ("-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O2", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    run(
        "gcc", *flags, "-o", driver, SUPPORT / "fake_cuda.c", SUPPORT / "fake_memory.c", "-lpthread", cwd=root
    )
    return Built(kernel=cutegen.build(cutegen.loads(block("yaml"))), driver=driver, headers=headers)


@pytest.mark.parametrize("standard", ["c99", "c11", "c2x"])
def test_the_program_in_c(standard: str, built: Built, tmp_path: Path) -> None:
    (tmp_path / "app.c").write_text(block("c"))
    link = (f"-L{built.kernel.so.parent}", f"-l{built.kernel.name}", built.driver, "-lm")
    run("gcc", f"-std={standard}", *STRICT, *built.options, "app.c", *link, "-o", "app", cwd=tmp_path)
    assert run(tmp_path / "app", cwd=tmp_path, env=built.environment) == block("text")


def test_the_commands(built: Built, tmp_path: Path) -> None:
    (tmp_path / "gemm.yaml").write_text(block("yaml"))
    (tmp_path / "app.c").write_text(block("c"))
    (tmp_path / "libcuda.so").symlink_to(built.driver)
    command = tmp_path / "bin" / "cutegen"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cutegen "$@"\n')
    command.chmod(0o755)
    environment = {
        **built.environment,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "CUDA_HOME": str(built.headers.parent),
        "LIBRARY_PATH": str(tmp_path),
    }
    assert "header" in run("bash", "-ec", block("console"), cwd=tmp_path, env=environment)
    assert run(tmp_path / "app", cwd=tmp_path, env=built.environment) == block("text")


@pytest.mark.parametrize("standard", ["c++11", "c++17", "c++20"])
def test_the_program_in_cpp(standard: str, built: Built, tmp_path: Path) -> None:
    (tmp_path / "app.cpp").write_text(block("cpp"))
    run("g++", f"-std={standard}", *STRICT, *built.options, "app.cpp", "-ldl", "-o", "app", cwd=tmp_path)
    words = run(
        tmp_path / "app", built.kernel.so, "libm.so.6", "/no/such.so", cwd=tmp_path, env=built.environment
    )
    first, *rest = words.splitlines()
    assert json.loads(first)["name"] == built.kernel.name
    assert json.loads(first)["b"] == {"dtype": "tf32", "major": "k", "align": 16}
    assert rest == [
        "d is null: a matrix or vector is missing, is one too many, or overlaps D (-7)",
        "no kernel library, it lacks cutegen_abi",
        "/no/such.so: cannot open shared object file: No such file or directory",
    ]


def test_every_code_is_on_the_page(built: Built) -> None:
    header = built.kernel.header.read_text(encoding="utf-8")
    codes = dict(re.findall(r"#define (CUTEGEN_\w+) \((-\d+)\)", header))
    rows = {
        name: code for code, name in re.findall(r"^\| (-\d+) \| `(CUTEGEN_\w+)`", PAGE, flags=re.MULTILINE)
    }
    assert len(codes) == 9
    assert rows == codes


def test_the_header_says_what_the_kernel_takes(built: Built) -> None:
    header = built.kernel.header.read_text(encoding="utf-8")
    assert (
        " *   A       M x K    tf32, 4 B      K                 16 B: lda and K are multiples of 4\n"
        in header
    )
    assert (
        " *   D       M x N    f32, 4 B       N                 16 B: ldd and N are multiples of 4\n"
        in header
    )
    assert "alpha and beta are applied in f32" in header
