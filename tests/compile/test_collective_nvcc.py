"""``collective`` through nvcc: no spills, wgmma not serialised, and a library that needs no CUDA runtime."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cutegen
from cutegen.binding import KernelLibrary
from cutegen.build import Artifact, compile_kernel
from cutegen.toolchain import find_toolchain
from cutegen.toolchain.process import run
from tests.support.collective_variants import MEMORY
from tests.support.rule_cases_collective import collective

ROOT = Path(__file__).parents[2] / "examples"
SUPPORT = Path(__file__).parents[1] / "support"
PROBLEM = {
    **{"a": 0x1000, "b": 0x2000, "c": 0x3000, "d": 0x4000, "m": 1000, "n": 504, "k": 1024},
    **{"lda": 1040, "ldb": 1024, "ldc": 1008, "ldd": 1024},
}
SCALES = {"scale_a": 0x5004, "scale_b": 0x6008}
SAMPLE = ROOT / "vllm" / "m16_n1280.yaml"
OTHERS = [
    p for folder in ("collective", "vllm") for p in sorted((ROOT / folder).glob("*.yaml")) if p != SAMPLE
]


def build(path: Path) -> Artifact:
    config = cutegen.load(path)
    artifact = compile_kernel(cutegen.render(cutegen.plan(config)))
    assert artifact.target == config.arch
    assert artifact.resources.spill_stores == artifact.resources.spill_loads == 0
    log = artifact.log.read_text(encoding="utf-8")
    assert not re.search(r"\(C75\d\d\)|serializ|is injected", log), log
    return artifact


def test_a_kernel_of_vllm_builds_to_a_library_of_its_own() -> None:
    artifact = build(SAMPLE)
    assert artifact.cubin.stat().st_size > 0
    assert "setmaxnreg" not in artifact.header.read_text(encoding="utf-8")
    symbols = subprocess.run(
        ["nm", "-D", str(artifact.so)], capture_output=True, text=True, check=True
    ).stdout
    undefined = re.findall(r" U (\w+)", symbols)
    assert undefined
    assert not [name for name in undefined if name.startswith(("cu", "__cuda"))]
    exported = re.findall(r" T (\w+)", symbols)
    assert all(name.startswith(("cutegen_", artifact.name)) for name in exported)
    assert KernelLibrary(artifact.so).loaded(0) is None
    assert not list(artifact.dir.glob("*.o"))


def drive(artifact: Artifact, directory: Path, *steps: tuple[str, Any]) -> list[Any]:
    """What came back from the library, and the calls that a fake driver got from it and its host code."""
    cuda = directory / "libcuda.so.1"
    sources = ["-shared", "-fPIC", "-o", str(cuda), str(SUPPORT / "fake_cuda.c"), "-lpthread"]
    subprocess.run(["gcc", *sources], check=True)
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "launcher_driver.py"), str(artifact.so), str(cuda)],
        input=json.dumps([*steps, ("calls", None)]),
        env={**os.environ, "LD_LIBRARY_PATH": str(directory)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return list(json.loads(done.stdout))


def verbs(calls: list[str]) -> list[str]:
    return [call.split()[0] for call in calls]


def test_its_host_code_makes_maps_and_grid(tmp_path: Path) -> None:
    artifact = build(SAMPLE)
    problem = {**PROBLEM, **SCALES}
    refused = {**problem, "k": 0}
    done, single, none, words, calls = drive(
        artifact,
        tmp_path,
        ("launch", {**problem, "beta": 0.0, "c": 0}),
        ("launch", {**problem, "m": 16, "n": 1, "ldb": 0}),
        ("launch", refused),
        ("error", -6),
    )
    assert (done, single, none) == (0, 0, -6)
    assert words.startswith("k is 0, must be at least 1")
    maps = [call for call in calls if call.startswith("encode ")]
    ends = "by 1 1 interleave 0 swizzle {} promotion 2 fill 0"
    # A is shared by the two CTAs of a cluster, 32 rows each; D stands in for C, which is not read.
    assert maps[:4] == [
        f"encode 1 type 0 rank 3 at 1000 extents 1024 1000 stride 1040 box 128 32 {ends.format(3)}",
        f"encode 2 type 0 rank 3 at 2000 extents 1024 504 stride 1024 box 128 16 {ends.format(3)}",
        f"encode 3 type 9 rank 3 at 4000 extents 1000 504 stride 2000 box 64 16 {ends.format(3)}",
        f"encode 4 type 9 rank 3 at 4000 extents 1000 504 stride 2048 box 64 16 {ends.format(3)}",
    ]
    assert "extents 1024 1 stride 1024" in maps[5]  # a single row of B, whose leading stride is none
    launches = [call for call in calls if call.startswith("launch ")]
    assert [re.findall(r"grid (\d+ \d+ \d+) block (\d+)", call)[0] for call in launches] == [
        ("16 32 1", "256"),
        ("1 2 1", "256"),
    ]
    assert "allocate" not in verbs(calls)


@pytest.mark.slow
def test_a_workspace_belongs_to_one_launch(tmp_path: Path) -> None:
    artifact = build(ROOT / "collective" / "stream_k.yaml")
    *codes, calls = drive(
        artifact,
        tmp_path,
        ("launch", PROBLEM),
        ("launch", PROBLEM),
        ("tell", {"fill_error": 2}),
        ("launch", PROBLEM),
        ("tell", {"fill_error": 0, "launch_error": 2}),
        ("launch", PROBLEM),
        ("tell", {"launch_error": 0, "allocate_error": 2}),
        ("launch", PROBLEM),
    )
    assert [code for code in codes if code is not None] == [0, 0, 2, 2, 2]
    used = [verb for verb in verbs(calls) if verb in ("pool", "allocate", "fill", "launch", "free")]
    whole = ["allocate", "fill", "launch", "free"]
    assert used == ["pool", *whole, *whole, "allocate", "fill", "free", *whole, "allocate"]
    assert {re.findall(r"stream (\w+)", call)[0] for call in calls if call.split()[0] in whole} == {"77"}


@pytest.mark.slow
@pytest.mark.parametrize("path", OTHERS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_examples_build(path: Path) -> None:
    build(path)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_100a", "sm_120a"])
def test_scales_and_bias_build_for_later_gpus(arch: str) -> None:
    types = {"a.dtype": "e4m3", "b.dtype": "e4m3"}
    vectors = {"epilogue": {"scale_a": "row", "scale_b": "column", "bias": "column"}}
    artifact = compile_kernel(cutegen.render(cutegen.plan(collective(types | vectors, arch=arch))))
    assert artifact.target == arch


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patches", "arch"),
    [({}, "sm_90a"), ({"epilogue.store": "direct", "c.dtype": "f32"}, "sm_90a"), ({}, "sm_100a")],
    ids=["tma", "direct", "sm_100a"],
)
def test_rounded_integers_build(patches: dict[str, Any], arch: str) -> None:
    config = collective({"a.dtype": "s8", "b.dtype": "s8"} | patches, arch=arch, tile=[128, 128, 128])
    resources = compile_kernel(cutegen.render(cutegen.plan(config))).resources
    assert resources.spill_stores == resources.spill_loads == 0


@pytest.mark.slow
def test_shared_memory_and_stages_are_those_of_the_builders(tmp_path: Path) -> None:
    """All types in one file, which tells their figures in its PTX; no kernel is compiled."""
    tools = find_toolchain()
    parts: list[str] = []
    for index, (config, _, _) in enumerate(MEMORY.values()):
        plan = cutegen.plan(config)
        text = cutegen.render(plan).text
        begin, end = text.index(f"namespace {plan.name}"), text.index("static_assert(Gemm::")
        parts.append(text[begin:end].replace(plan.name, f"k{index}") + "}\n")
        parts.append(f"__constant__ int bytes{index} = k{index}::Gemm::SharedStorageSize;\n")
        parts.append(f"__constant__ int stages{index} = k{index}::Mainloop::DispatchPolicy::Stages;\n")
    parts.insert(0, text[:begin])  # with the parameters of the last, which has vectors
    (tmp_path / "types.cu").write_text("".join(parts), encoding="utf-8")
    includes = [f"-I{path}" for path in (tools.cutlass.include, *tools.nvcc.extra_includes)]
    options = ["-std=c++17", "--expt-relaxed-constexpr", "-arch=compute_90a"]
    done = run([str(tools.nvcc.path), "-ptx", *options, *includes, "types.cu"], cwd=tmp_path, env=None)
    assert done.returncode == 0, done.output
    ptx = (tmp_path / "types.ptx").read_text(encoding="utf-8")
    said = {name: int(value) for name, value in re.findall(r"\.u32 (\w+) = (\d+);", ptx)}
    for index, (name, (_, stages, nbytes)) in enumerate(MEMORY.items()):
        assert (said[f"stages{index}"], said[f"bytes{index}"]) == (stages, nbytes), name
