"""Hand-written kernels: measured access patterns, small faults, and CUTLASS's own tutorials."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutegen import emulator
from cutegen.emulator import Launch, emulate
from cutegen.toolchain.headers import find_cutlass
from tests.support.tutorial_main import checking_main

pytestmark = pytest.mark.emulated

HERE = Path(__file__).parent
PATTERNS = json.loads((HERE.parent / "data" / "ncu_sample.json").read_text(encoding="utf-8"))
SOURCE = (HERE / "patterns.cu").read_text(encoding="utf-8").splitlines()
KINDS = [line.rsplit("// ", 1)[1] for line in SOURCE if re.search(r"if \(kind == \d+\)", line)]


def _run_pattern(pattern: dict[str, Any]) -> emulator.EmulatorReport:
    offsets = np.array([-1 if x is None else x for x in pattern["lane_offsets"]], dtype=np.int32)
    sources = np.array(pattern["src_offsets"] or [0] * 32, dtype=np.int32)
    arguments = (
        KINDS.index(pattern["kind"]),
        offsets,
        sources - sources.min(),
        np.zeros(1 << 22, dtype=np.uint8),
        np.zeros(32, dtype=np.uint32),
    )
    launch = Launch(
        kernel="pattern",
        grid=(1, 1, 1),
        block=(32, 1, 1),
        shared=96 * 1024,
        arguments=arguments,
        outputs=(4,),
    )
    return emulate(HERE / "patterns.cu", launch, arch="sm_90a", processes=1)


@pytest.mark.parametrize("kind", KINDS)
def test_wavefronts_are_those_that_were_measured(kind: str) -> None:
    line = next(i for i, text in enumerate(SOURCE, 1) if text.endswith(f"// {kind}"))
    patterns = [p for p in PATTERNS if p["kind"] == kind]
    assert patterns
    for pattern in patterns:
        report = _run_pattern(pattern)
        # Patterns in which several lanes store to one place do race.
        assert {f.kind for f in report.findings} <= {"race-waw", "async-in-flight"}, report.summary()
        here = [t for t in report.traffic if t.place.line == line and t.space == "shared"]
        measured = pattern["wavefronts_per_instruction"]
        if measured is None:
            assert not here, "the hardware counts nothing"
            continue
        assert sum(t.requests for t in here) == 1, (pattern["pattern"], here)
        assert here[0].cost == measured, (pattern["pattern"], pattern["pitch"], pattern["swizzle"])


SMALL = """
__global__ void reduce(float const* x, float* y, int n) {
  __shared__ float part[4];
  __shared__ float other[8], unused;
  float v = threadIdx.x < n ? x[threadIdx.x] : 0.0f;
  for (int o = 16; o; o /= 2) { v += __shfl_xor_sync(0xffffffffu, v, o); }
  if (threadIdx.x % 32 == 0) { part[threadIdx.x / 32] = v; }
  BARRIER
  if (threadIdx.x == 0) { y[0] = part[0] + part[1] + part[2] + part[3]; atomicAdd(y + 1, 1.0f); }
}
"""


@pytest.mark.parametrize(
    ("barrier", "kinds"), [("__syncthreads();", set()), ("", {"race-raw", "uninitialised-shared"})]
)
def test_a_reduction(tmp_path: Path, barrier: str, kinds: set[str]) -> None:
    source = tmp_path / "reduce.cu"
    source.write_text(SMALL.replace("BARRIER", barrier), encoding="utf-8")
    x, y = np.arange(128, dtype=np.float32), np.zeros(2, dtype=np.float32)
    report = emulate(
        source,
        Launch(kernel="reduce", grid=(1, 1, 1), block=(128, 1, 1), arguments=(x, y, 128), outputs=(1,)),
    )
    assert {f.kind for f in report.findings} <= kinds
    assert bool(report.findings) == bool(kinds)
    if not kinds:
        assert y.tolist() == [x.sum(), 1.0]


def test_an_overrun_names_buffer_and_offset(tmp_path: Path) -> None:
    source = tmp_path / "overrun.cu"
    source.write_text(
        "__global__ void add(float const* x, float* y) {\n"
        "  int i = blockIdx.x * 32 + threadIdx.x;\n"
        "  y[i] = x[i] + 1;\n"
        "}\n",
        encoding="utf-8",
    )
    x, y = np.ones(33, dtype=np.float32), np.zeros(64, dtype=np.float32)
    launch = Launch(kernel="add", grid=(2, 1, 1), block=(32, 1, 1), arguments=(x, y), outputs=(1,))
    (finding,) = emulate(source, launch).findings
    assert (finding.kind, finding.tensor, finding.offset, finding.place.line) == (
        "out-of-bounds-global",
        "argument0",
        33 * 4,
        3,
    )


def test_a_program_with_its_own_main(tmp_path: Path) -> None:
    source = tmp_path / "program.cu"
    source.write_text(
        """#include <cstdio>
#include <cuda_runtime.h>
template <int N> __global__ void scale(float* x, float by) { x[blockIdx.x * N + threadIdx.x] *= by; }
int main(int argc, char** argv) {
  float h[256], *d;
  for (int i = 0; i < 256; ++i) h[i] = i;
  cudaMalloc((void**)&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  scale<64><<<dim3(4), 64>>>(d, 3.0f);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%s %g\\n", argv[1], h[255]);
  return h[255] != 765;
}
""",
        encoding="utf-8",
    )
    report = emulate(source, arguments=("hello",))
    assert report.status == 0
    assert report.clean
    assert report.output == "hello 765\n"


def _tutorial(name: str, directory: Path, *changes: tuple[str, str]) -> Path:
    """A tutorial of CUTLASS with a ``main`` that checks both transpositions exactly."""
    cutlass = find_cutlass()[0].include.parent
    source = cutlass / "examples" / "cute" / "tutorial" / name
    if not source.is_file():
        pytest.skip(f"this CUTLASS has no {name}")
    text = re.sub(r"\bint\s+main\s*\(", "int tutorial_main(", source.read_text(encoding="utf-8"))
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path = directory / source.name
    path.write_text(text + checking_main(), encoding="utf-8")
    return path


TMA = "hopper/wgmma_tma_sm90.cu"
UNMODIFIED = (
    ("sgemm_1.cu", "sm_80", "f4", ("128", "128", "8", "N", "T")),
    ("sgemm_1.cu", "sm_80", "f4", ("128", "128", "8", "T", "N")),
    ("sgemm_2.cu", "sm_80", "f4", ("128", "128", "8", "N", "T")),
    ("sgemm_sm70.cu", "sm_80", "f4", ("128", "128", "8", "T", "N")),
    ("sgemm_sm80.cu", "sm_80", "f2", ("128", "128", "128", "T", "N")),
    ("hopper/wgmma_sm90.cu", "sm_90a", "f2", ("128", "128", "128", "N", "T")),
    (TMA, "sm_90a", "f2", ("256", "128", "128", "T", "N")),  # its clusters have two CTAs along M
)


@pytest.mark.parametrize(
    ("name", "arch", "dtype", "words"), UNMODIFIED, ids=[c[0] + c[3][3] for c in UNMODIFIED]
)
def test_tutorials_run_as_they_are(
    tmp_path: Path, name: str, arch: str, dtype: str, words: tuple[str, ...]
) -> None:
    source = find_cutlass()[0].include.parent / "examples" / "cute" / "tutorial" / name
    if not source.is_file():
        pytest.skip(f"this CUTLASS has no {name}")
    report = emulate(source, arch=arch, arguments=words, processes=1, dump=tmp_path)
    assert report.status == 0, report.output
    # The tutorial of cp.async and wgmma does race; see below.
    faults = {"race-raw", "missing-proxy-fence"} if name.endswith("wgmma_sm90.cu") else set()
    assert {f.kind for f in report.findings} == faults
    m, n, k = map(int, words[:3])
    # They leave A, B and, in their last allocation, C in the order of BLAS.
    paths = sorted(tmp_path.glob("*.bin"), key=lambda p: int(p.stem))
    a, b, c = (np.fromfile(paths[i], dtype=dtype).astype(np.float64) for i in (0, 1, -1))
    left = a.reshape(k, m).T if words[3] == "N" else a.reshape(m, k)
    right = b.reshape(k, n) if words[4] == "T" else b.reshape(n, k).T
    tolerance = {"f4": 1e-5, "f2": 3e-2}[dtype]
    assert np.abs(c.reshape(n, m).T - left @ right).max() < tolerance


def test_the_tma_tutorial_is_exact_and_clean(tmp_path: Path) -> None:
    report = emulate(_tutorial(TMA, tmp_path), arch="sm_90a", processes=1)
    assert report.status == 0
    assert report.clean, report.summary()


def test_the_wgmma_tutorial_is_exact_and_races(tmp_path: Path) -> None:
    # It waits for its own cp.async and passes no barrier before wgmma reads what other threads have copied.
    report = emulate(_tutorial("hopper/wgmma_sm90.cu", tmp_path), arch="sm_90a", processes=1)
    assert report.status == 0
    assert {f.kind for f in report.findings} == {"race-raw", "missing-proxy-fence"}


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("ProducerBarType::wait(&producer_mbar[read_pipe], read_state.phase());", "", {"async-in-flight"}),
        ("warpgroup_wait<0>();", "warpgroup_wait<1>();", {"race-war", "async-in-flight"}),
        ("warpgroup_arrive();", "", {"missing-wgmma-fence"}),
        (
            "ProducerBarType::arrive_and_expect_tx(&producer_mbar[pipe], tma_transaction_bytes);",
            "ProducerBarType::arrive_and_expect_tx(&producer_mbar[pipe], tma_transaction_bytes + 16);",
            {"deadlock"},
        ),
    ],
    ids=["no-wait", "wgmma-in-flight", "no-wgmma-fence", "wrong-transaction-count"],
)
def test_faults_of_the_tma_tutorial_are_found(tmp_path: Path, old: str, new: str, kinds: set[str]) -> None:
    report = emulate(_tutorial(TMA, tmp_path, (old, new)), arch="sm_90a", processes=1)
    assert kinds & {f.kind for f in report.findings}, report.summary()
