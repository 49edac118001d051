"""``collective`` through nvcc: no spills, wgmma not serialised, and a library that needs no CUDA runtime."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import cutegen
from cutegen.binding import KernelLibrary
from cutegen.build import Artifact, compile_kernel
from cutegen.toolchain import find_toolchain
from cutegen.toolchain.process import run
from tests.support.collective_variants import MEMORY

ROOT = Path(__file__).parents[2] / "examples"
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


@pytest.mark.slow
@pytest.mark.parametrize("path", OTHERS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_examples_build(path: Path) -> None:
    build(path)


@pytest.mark.slow
def test_shared_memory_and_stages_are_those_of_the_builders(tmp_path: Path) -> None:
    """All types in one file, which tells their figures in its PTX; no kernel is compiled."""
    tools = find_toolchain()
    parts: list[str] = []
    for index, (config, _, _) in enumerate(MEMORY.values()):
        plan = cutegen.plan(config)
        text = cutegen.render(plan).text
        begin, end = text.index(f"namespace {plan.name}"), text.index("static_assert(Gemm::")
        if not parts:
            parts.append(text[:begin])
        parts.append(text[begin:end].replace(plan.name, f"k{index}", 1) + "}\n")
        parts.append(f"__constant__ int bytes{index} = k{index}::Gemm::SharedStorageSize;\n")
        parts.append(f"__constant__ int stages{index} = k{index}::Mainloop::DispatchPolicy::Stages;\n")
    (tmp_path / "types.cu").write_text("".join(parts), encoding="utf-8")
    includes = [f"-I{path}" for path in (tools.cutlass.include, *tools.nvcc.extra_includes)]
    options = ["-std=c++17", "--expt-relaxed-constexpr", "-arch=compute_90a"]
    done = run([str(tools.nvcc.path), "-ptx", *options, *includes, "types.cu"], cwd=tmp_path, env=None)
    assert done.returncode == 0, done.output
    ptx = (tmp_path / "types.ptx").read_text(encoding="utf-8")
    said = {name: int(value) for name, value in re.findall(r"\.u32 (\w+) = (\d+);", ptx)}
    for index, (name, (_, stages, nbytes)) in enumerate(MEMORY.items()):
        assert (said[f"stages{index}"], said[f"bytes{index}"]) == (stages, nbytes), name
