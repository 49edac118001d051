"""Faults put into rendered kernels, each of which the sanitizer must name at the right line.

Some give right numbers on a GPU, and some even here: what finds them is the order of events, not luck.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import pytest

from cutegen import emulator
from cutegen.config import GemmConfig
from cutegen.loader import load
from cutegen.plan import plan
from cutegen.render import RenderedKernel, render
from tests.support.emulated import Problem

pytestmark = pytest.mark.emulated

EXAMPLES = Path(__file__).parents[2] / "examples"
WAIT = "cp_async_wait<(STAGES > 1 ? STAGES - 2 : 0)>();"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A change of the rendered text, and what must be reported.

    Attributes:
        name: For the test's id.
        old: Text that is there exactly once.
        new: What takes its place.
        kinds: Kinds of which at least one must be found.
        at: Text of a line that a finding of such a kind must name; empty: any line.
        shape: (M, N, K).
        beta: Factor of C.
        example: The config.
    """

    name: str
    old: str
    new: str
    kinds: tuple[str, ...]
    at: str = ""
    shape: tuple[int, int, int] = (128, 128, 128)
    beta: float = 0.0
    example: str = "multistage"


S2R = "copy_unpack(typename Operand::S2R{}, sX, rX);"
G2S = "copy_unpack(copy, gX, sX);"
FAULTS = (
    Fault(name="no-wait", old=WAIT, new="", kinds=("async-in-flight",), at=S2R),
    Fault(
        name="wait-one-too-few",
        old=WAIT,
        new="cp_async_wait<STAGES - 1>();",
        kinds=("async-in-flight",),
        at=S2R,
    ),
    Fault(name="no-commit", old="      cp_async_fence();\n", new="", kinds=("async-in-flight",), at=S2R),
    Fault(
        name="no-barrier-after-wait",
        old="    }\n    __syncthreads();\n  };\n  auto fetch",
        new="    }\n  };\n  auto fetch",
        kinds=("race-raw",),
    ),
    Fault(
        name="barrier-before-wait",
        old="    if constexpr (ASYNC) {\n      " + WAIT + "\n    }\n    __syncthreads();\n",
        new="    __syncthreads();\n    if constexpr (ASYNC) {\n      " + WAIT + "\n    }\n",
        kinds=("race-raw", "async-in-flight"),
        at=S2R,
    ),
    Fault(
        name="prefetch-into-the-stage-that-is-read",
        old="load(false_type{}, write, k, PARTS,",
        new="load(false_type{}, read, k, PARTS,",
        kinds=("race-war",),
        at=G2S,
    ),
    Fault(
        name="prefetch-before-the-barrier",
        old="wait();\n          }\n          fetch(",
        new="wait();\n          }\n"
        "          if (k == 0) load(false_type{}, read ? read - Config::STAGE_BYTES : LAST, 0, 4, false);\n"
        "          fetch(",
        kinds=("race-war", "async-in-flight"),
        at=G2S,
        shape=(128, 128, 256),
    ),
    Fault(
        name="no-barrier-before-epilogue",
        old="  __syncthreads();  // the epilogue may use the ring's memory\n",
        new="",
        kinds=("race-war",),
        at="*to = scaled",
    ),
    Fault(
        name="no-drain",
        old="    cp_async_wait<0>();\n",
        new="",
        kinds=("async-in-flight",),
        at="*to = scaled",
        example="no-drain",
    ),
    Fault(
        name="no-barrier-in-epilogue",
        old="  __syncthreads();\n  T* d = ",
        new="  T* d = ",
        kinds=("race-raw",),
        at="*g = *s;",
    ),
    Fault(
        name="no-barrier-after-c",
        old="n_begin, smem);\n    __syncthreads();\n",
        new="n_begin, smem);\n",
        kinds=("race-raw",),
        beta=1.0,
    ),
    Fault(
        name="misaligned-shared-address",
        old="shared_ptr_at<T>(smem(i) + stage)), Layout<Int<VEC>>{});\n        typename",
        new="shared_ptr_at<T>(smem(i) + stage + 8)), Layout<Int<VEC>>{});\n        typename",
        kinds=("misaligned",),
        at=G2S,
    ),
    Fault(
        name="stage-beyond-the-end",
        old="constexpr uint32_t LAST = (STAGES - 1) * Config::STAGE_BYTES;",
        new="constexpr uint32_t LAST = STAGES * Config::STAGE_BYTES;",
        kinds=("out-of-bounds-shared",),
    ),
    Fault(
        name="no-edge-predicate",
        old="bool inside = mn < left;",
        new="bool inside = true;",
        kinds=("out-of-bounds-global",),
        at=G2S,
        shape=(120, 120, 64),
    ),
    Fault(
        name="no-k-predicate",
        old="inside = inside && k_first + k >= 0;",
        new="",
        kinds=("out-of-bounds-global",),
        at=G2S,
        shape=(128, 128, 40),
    ),
    Fault(
        name="no-store-predicate",
        old="bool inside = row < row_left && col < run_left;",
        new="bool inside = true;",
        kinds=("out-of-bounds-global",),
        at="*g = *s;",
        shape=(120, 128, 64),
    ),
    Fault(
        name="store-to-an-input",
        old="T* d = static_cast<T*>(p.d) +",
        new="T* d = (T*)(p.a) +",
        kinds=("write-to-read-only",),
        at="*g = *s;",
    ),
    Fault(
        name="barrier-for-half-the-threads",
        old="  __syncthreads();\n  T* d = ",
        new="  if (threadIdx.x < 64) { __syncthreads(); }\n  T* d = ",
        kinds=("divergent-barrier",),
        at="threadIdx.x < 64",
    ),
    Fault(
        name="barrier-for-half-a-warp",
        old="  __syncthreads();\n  T* d = ",
        new="  if (threadIdx.x % 32 < 16) { __syncthreads(); } else {\n __syncthreads(); }\n  T* d = ",
        kinds=("divergent-barrier",),
    ),
    Fault(
        name="deadlock",
        old="  __syncthreads();\n  T* d = ",
        new='  asm volatile("bar.sync 1, 256;");\n  T* d = ',
        kinds=("deadlock",),
        at="bar.sync 1, 256",
    ),
    Fault(
        name="stage-never-loaded",
        old="    for (int s = 0; s < STAGES - 1; ++s) {\n",
        new="    for (int s = 0; s < STAGES - 2; ++s) {\n",
        kinds=("uninitialised-shared",),
        at=S2R,
    ),
    # NOTE: CuTe's own tensors begin as zeros, so only plain arrays can be read before they are written.
    Fault(
        name="accumulators-not-cleared",
        old="          auto acc = tCrC(_, m, n);\n",
        new="          float raw[4]; auto acc = make_tensor(make_rmem_ptr(raw), Layout<_4>{});\n",
        kinds=("uninitialised-fragment",),
        at="mma_unpack",
    ),
    Fault(
        name="fragment-not-loaded",
        old="mma_unpack(Config::Mma{}, acc, tCrA(_, m, k, buffer),",
        new="half_t raw[8]; mma_unpack(Config::Mma{}, acc, make_tensor(make_rmem_ptr(raw), Layout<_8>{}),",
        kinds=("uninitialised-fragment",),
        at="mma_unpack",
    ),
    Fault(
        name="lanes-apart",
        old="          mma_unpack(Config::Mma{}, acc,",
        new="          if (threadIdx.x % 32 < 16)\n          mma_unpack(Config::Mma{}, acc,",
        kinds=("divergent-collective",),
    ),
    Fault(
        name="two-ctas-one-tile",
        old="  int m_begin = (Config::RASTER_ALONG_M ? x : y) * Config::BLK_M;",
        new="  int m_begin = 0;",
        kinds=("race-waw",),
        at="*g = *s;",
        shape=(256, 128, 64),
    ),
    Fault(
        name="unknown-instruction",
        old="  zero(tCrC);\n",
        new='  zero(tCrC);\n  float t = 1; asm volatile("tanh.approx.f32 %0, %0;" : "+f"(t));\n',
        kinds=("unsupported-instruction",),
        at="tanh.approx",
    ),
    Fault(
        name="wild-pointer",
        old="  zero(tCrC);\n",
        new="  zero(tCrC);\n  if (p.m < 0) { zero(tCrC); } *(int volatile*)(8) = 1;\n",
        kinds=("wild-access",),
        at="volatile*)(8)",
    ),
    Fault(
        name="simt-no-barrier-after-tile",
        old="        mma_k_block(tCrA, tCrB, tCrC, 0);\n      }\n      __syncthreads();\n",
        new="        mma_k_block(tCrA, tCrB, tCrC, 0);\n      }\n",
        kinds=("race-war",),
        example="gemm_device",
        shape=(128, 128, 32),
    ),
    Fault(
        name="register-staging-no-barrier",
        old="    }\n    __syncthreads();\n  };\n  auto fetch",
        new="    }\n  };\n  auto fetch",
        kinds=("race-raw",),
        example="sm75_f16",
    ),
)


def config_of(example: str) -> GemmConfig:
    """An example, or BASE as a single stage that leaves copies in flight."""
    if example == "no-drain":
        return load(EXAMPLES / "multistage.yaml")
    return load(EXAMPLES / f"{example}.yaml")


def mutated(rendered: RenderedKernel, fault: Fault) -> RenderedKernel:
    """The kernel with the fault."""
    assert rendered.text.count(fault.old) == 1, f"{fault.old!r} stands {rendered.text.count(fault.old)} times"
    return dataclasses.replace(rendered, text=rendered.text.replace(fault.old, fault.new))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_fault_is_found(fault: Fault) -> None:
    config = config_of(fault.example)
    rendered = mutated(render(plan(config)), fault)
    problem = Problem(config, *fault.shape, beta=fault.beta)
    report = problem.run(emulator.compile(rendered), processes=1)
    found = [finding for finding in report.findings if finding.kind in fault.kinds]
    assert found, f"nothing of {fault.kinds} among: {[str(f) for f in report.findings]}"
    lines = rendered.text.splitlines()
    if fault.at:
        named = [lines[f.place.line - 1] for f in found if 0 < f.place.line <= len(lines)]
        assert any(fault.at in line for line in named), f"the lines were {named}"


def test_too_much_shared_memory_is_found() -> None:
    config = config_of("multistage")
    rendered = render(plan(config))
    launch = dataclasses.replace(rendered.launch, smem_bytes=200 * 1024)
    kernel = emulator.compile(dataclasses.replace(rendered, launch=launch))
    report = Problem(config, 128, 128, 64).run(kernel)
    assert [f.kind for f in report.findings] == ["shared-limit"]


def test_too_little_shared_memory_is_found() -> None:
    config = config_of("multistage")
    rendered = render(plan(config))
    launch = dataclasses.replace(rendered.launch, smem_bytes=rendered.launch.smem_bytes - 16)
    kernel = emulator.compile(dataclasses.replace(rendered, launch=launch))
    report = Problem(config, 128, 128, 128).run(kernel)
    assert {f.kind for f in report.findings} == {"out-of-bounds-shared"}


def test_race_across_processes_is_found() -> None:
    config = config_of("multistage")
    fault = next(f for f in FAULTS if f.name == "two-ctas-one-tile")
    kernel = emulator.compile(mutated(render(plan(config)), fault))
    report = Problem(config, 256, 256, 64).run(kernel, processes=2)
    assert "race-waw" in {f.kind for f in report.findings}
