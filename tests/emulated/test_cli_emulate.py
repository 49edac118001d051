"""``cutegen emulate``: its pages' examples, and each way that it ends."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutegen
from cutegen.emulator import Launch
from cutegen.toolchain.headers import find_cutlass
from tests.support.cli import document, invoke

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "emulate.md"
EXAMPLES = ROOT / "examples" / "emulate"
TUTORIAL = "examples/cute/tutorial/hopper/wgmma_sm90.cu"

SCALE = """
#include <cutlass/numeric_types.h>
template <class T>
__global__ void scale(T* x, T by, int n) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) { x[i] = x[i] * by; }
}
__global__ void fill(float* x, float value) { x[threadIdx.x] = value; }
"""


def console_blocks() -> list[tuple[str, str]]:
    """Commands of the page and what they print."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"```console\n\$ (.*)\n((?:.*\n)*?)```\n", text)


def normal(text: str) -> str:
    """Text without what differs from run to run."""
    text = re.sub(r" in \d+\.\d+ s", " in 0.01 s", text)
    return re.sub(r"CUTE_GEMM:.*", "CUTE_GEMM:", text).strip()


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files that the page names."""
    source = find_cutlass()[0].include.parent / TUTORIAL
    if not source.is_file():
        pytest.skip(f"this CUTLASS has no {TUTORIAL}")
    for path in (source, *EXAMPLES.iterdir()):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_shows_what_the_commands_print(examples: Path, update_goldens: bool) -> None:
    blocks = console_blocks()
    assert len(blocks) == 4
    page = PAGE.read_text(encoding="utf-8")
    for command, shown in blocks:
        printed = normal(invoke(*shlex.split(command)[1:]).output)
        if update_goldens:
            page = page.replace(f"$ {command}\n{shown}", f"$ {command}\n{printed}\n")
        else:
            assert printed == normal(shown), command
    if update_goldens:
        PAGE.write_text(page, encoding="utf-8")
    for path in EXAMPLES.iterdir():
        assert path.read_text(encoding="utf-8").strip() in page, path.name


def test_json_has_findings_counts_and_outputs(examples: Path) -> None:
    found = document("emulate", "reduction.cu", "--launch", "reduction.yaml", "--processes", "1", "--json")
    assert (found["ok"], found["exit_code"], found["error"]) == (False, 1, "CheckFailedError")
    (finding,) = found["report"]["findings"]
    assert (finding["kind"], finding["place"]["line"], finding["block"]) == ("race-war", 11, [0, 0, 0])
    assert {t["place"]["file"] for t in found["report"]["traffic"]} == {"reduction.cu"}
    assert found["outputs"][0]["name"] == "y"
    assert not found["outputs"][0]["ok"]
    fixed = document("emulate", "reduction.cu", "--launch", "reduction.yaml", "--json", "--option", "-DFIXED")
    assert (fixed["ok"], fixed["report"]["clean"], fixed["outputs"][0]["ok"]) == (True, True, True)


def test_several_orders_of_threads(examples: Path) -> None:
    found = invoke("emulate", "reduction.cu", "--launch", "reduction.yaml", "--schedules", "4", "--no-counts")
    assert found.exit_code == 1
    assert "4 orders of threads were run" in found.output
    assert "y differs between the orders 0 and " in found.output
    assert found.output.count("elements wrong") >= 1


def test_wrong_numbers_alone_are_a_failure(examples: Path) -> None:
    spec = (
        "{kernel: reduce<128>, grid: 1, block: 128, arguments: [{shape: 128}, {shape: 1, expect: 1000}, 128]}"
    )
    found = invoke("emulate", "reduction.cu", "--launch", spec, "--option", "-DFIXED", "--no-sanitize")
    assert found.exit_code == 1
    assert "WRONG argument1: 1 of 1 elements wrong, first [0]: got " in found.output
    assert "must be 1000" in found.output


@pytest.fixture
def scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a kernel over element types."""
    path = tmp_path / "scale.cu"
    path.write_text(SCALE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


@pytest.mark.parametrize(
    ("cxx", "dtype"),
    [("cutlass::half_t", "f16"), ("cutlass::bfloat16_t", "bf16"), ("float", "f32"), ("double", "f64")],
)
def test_scalars_and_arrays_of_a_type(scale: Path, cxx: str, dtype: str) -> None:
    spec = (
        f"{{kernel: 'scale<{cxx}>', grid: 2, block: 64, "
        f"arguments: [{{name: x, dtype: {dtype}, shape: [10, 10], "
        f"order: column, fill: arange, expect: x * 0.5, save: x.npy}}, {{value: 0.5, dtype: {dtype}}}, 100]}}"
    )
    found = invoke("emulate", str(scale), "--launch", spec)
    assert found.exit_code == 0, found.output
    assert "wrote x.npy" in found.output
    saved = np.load("x.npy")
    assert saved.shape == (10, 10)
    assert saved.flags.f_contiguous


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("[{shape: 4}, 1.5]", "scale<float>: the kernel has more or fewer parameters than are passed"),
        ("[1, 1.5, 4]", "scale<float>: argument 0: a number is passed for a parameter that is a pointer"),
        ("[{shape: 4}, {shape: 4}, 4]", "argument 1: an array is passed for a parameter that is no pointer"),
        ("[{shape: 4}, null, 4]", "argument 1: a null pointer is passed for a parameter that is no pointer"),
        ("[{shape: 4}, {value: 1, dtype: f64}, 4]", "argument 1: a value of another size than the parameter"),
    ],
)
def test_arguments_must_fit_the_parameters(scale: Path, arguments: str, message: str) -> None:
    spec = f"{{kernel: scale<float>, grid: 1, block: 64, arguments: {arguments}}}"
    found = invoke("emulate", str(scale), "--launch", spec)
    assert found.exit_code == 2
    assert message in found.output


def test_a_number_for_a_class_type_needs_its_type(scale: Path) -> None:
    spec = "{kernel: scale<cutlass::half_t>, grid: 1, block: 64, arguments: [{shape: 64}, 2, 4]}"
    found = invoke("emulate", str(scale), "--launch", spec)
    assert found.exit_code == 2
    assert "argument 1: a number is passed for a parameter of a class type" in found.output


PROGRAM = """#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
__global__ void twice(float* x) { x[blockIdx.x * 64 + threadIdx.x] *= 2; }
int main(int argc, char** argv) {
  float* d;
  cudaMalloc((void**)&d, ELEMENTS * sizeof(float));
  cudaMemset(d, 0, ELEMENTS * sizeof(float));
  twice<<<4, 64>>>(d);
  cudaDeviceSynchronize();
  if (argc > 2) { std::abort(); }
  std::printf("%s\\n", argv[1]);
  return argv[1][0] == 'x';
}
"""


@pytest.mark.parametrize(
    ("elements", "words", "code", "text"),
    [
        ("256", ["y"], 0, "clean"),
        ("256", ["x"], 1, "main returned 1"),
        ("250", ["y"], 1, "program.cu:4: global memory out of bounds [out-of-bounds-global]"),
        ("256", ["y", "crash"], 5, "the emulator stopped with status"),
        ("256 +", ["y"], 4, "program.cu:"),
    ],
    ids=["clean", "status", "overrun", "crash", "no-compile"],
)
def test_a_program_and_its_exit_code(
    tmp_path: Path, elements: str, words: list[str], code: int, text: str
) -> None:
    source = tmp_path / "program.cu"
    source.write_text(PROGRAM, encoding="utf-8")
    found = invoke("emulate", str(source), "--option", f"-DELEMENTS={elements}", "--", *words)
    assert found.exit_code == code, found.output
    assert text in found.output
    assert "please report this" not in found.output


def test_options_that_a_precompiled_header_cannot_bear(tmp_path: Path) -> None:
    source = tmp_path / "program.cu"
    source.write_text("int main() { return __cplusplus < 202002L || T != 3; }\n", encoding="utf-8")
    found = invoke("emulate", str(source), "--option", "-std=c++20", "--option", "-DT=3")
    assert found.exit_code == 0, found.output
    named = invoke("emulate", str(source), "--option", "-DT=3")  # CUTLASS has parameters of this name
    assert named.exit_code == 1, named.output


def test_a_missing_compiler(monkeypatch: pytest.MonkeyPatch, scale: Path) -> None:
    monkeypatch.setenv("CUTEGEN_CXX", "/nowhere/g++")
    spec = "{kernel: fill, grid: 1, block: 64, arguments: [{shape: 64, output: true}, 1.5]}"
    assert invoke("emulate", str(scale), "--launch", spec).exit_code == 3


def test_from_python_over_several_orders(examples: Path) -> None:
    x, y = np.ones(1000, np.float32), np.zeros(8, np.float32)
    launch = Launch(
        kernel="reduce<128>",
        grid=(8, 1, 1),
        block=(128, 1, 1),
        arguments=(x, y, 1000),
        outputs=(1,),
        names=("x", "y"),
    )
    report = cutegen.emulate("reduction.cu", launch, options=("-DFIXED",), schedules=3)
    assert report.clean
    assert report.notes == ("3 orders of threads were run",)
    assert y.tolist() == [128.0] * 7 + [104.0]
    racy: Any = cutegen.emulate("reduction.cu", launch, schedules=3)
    assert {f.kind for f in racy.findings} <= {"race-war", "race-raw"}
    assert any(n.startswith("y differs between the orders 0 and ") for n in racy.notes)
    assert json.dumps(racy.to_dict())
