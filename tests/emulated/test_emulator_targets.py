"""Instructions that the architecture of a kernel does not have are reported, though the CPU can do them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cutegen.emulator import Launch, emulate
from cutegen.emulator.rewrite.ptx import Instruction
from cutegen.emulator.rewrite.targets import requirement

SOURCE = """
#include <cstdint>
__global__ void kernel(float* out) {
  extern __shared__ char smem[];
  uint32_t at = uint32_t(__cvta_generic_to_shared(smem)) + threadIdx.x * 16, r[8] = {};
  float d[4] = {};
#if CASE == 0
  asm volatile("cp.async.wait_all;");
#elif CASE == 1
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 " REGISTERS);
#elif CASE == 2
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 " REGISTERS);
#elif CASE == 3
  asm volatile("stmatrix.sync.aligned.x1.m8n8.shared.b16 [%0], {%1};" :: "r"(at), "r"(r[0]));
#elif CASE == 4
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#elif CASE == 5
  asm volatile("wgmma.fence.sync.aligned;");
#elif CASE == 6
  asm volatile("fence.proxy.async.shared::cta;");
#endif
  out[threadIdx.x] = d[0] + float(at) * 0;
}
""".replace(
    "REGISTERS",
    '"{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])'
    ' : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5])',
)
CASES = (
    ("cp.async.wait_all", "sm_75", "sm_80"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_75", "sm_80"),
    ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_86", "sm_89"),
    ("stmatrix.sync.aligned.x1.m8n8.shared.b16", "sm_89", "sm_90"),
    ("setmaxnreg.inc.sync.aligned.u32", "sm_90", "sm_90a"),
    ("wgmma.fence.sync.aligned", "sm_90", "sm_90a"),
    ("fence.proxy.async.shared::cta", "sm_89", "sm_90a"),
)


@pytest.mark.emulated
@pytest.mark.parametrize("case", range(len(CASES)), ids=[name.split(".")[0] for name, _, _ in CASES])
def test_instruction_is_missing_on_the_older_architecture(tmp_path: Path, case: int) -> None:
    name, without, having = CASES[case]
    source = tmp_path / "kernel.cu"
    source.write_text(SOURCE, encoding="utf-8")
    out = np.ones(32, dtype=np.float32)
    launch = Launch(kernel="kernel", grid=(1, 1, 1), block=(32, 1, 1), shared=1024, arguments=(out,))
    (finding,) = emulate(source, launch, arch=without, options=(f"-DCASE={case}",)).findings
    assert finding.kind == "unsupported-on-arch"
    assert finding.message.startswith(f"{name} needs ")
    assert finding.message.endswith(f"this is {without}")
    assert name.split(".")[0] in SOURCE.splitlines()[finding.place.line - 1]
    assert not out.any()  # it was carried out all the same
    assert emulate(source, launch, arch=having, options=(f"-DCASE={case}",)).clean


FENCES = """
#include <cute/arch/copy_sm80.hpp>

extern "C" __global__ void kernel(float* out) {
  cute::cp_async_fence();
  cute::cp_async_wait<1>();
  cute::cp_async_wait<0>();
  out[threadIdx.x] = 0;
}
"""


@pytest.mark.emulated
def test_what_cute_leaves_out_on_an_older_architecture_is_no_finding(tmp_path: Path) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text(FENCES, encoding="utf-8")
    out = np.ones(32, dtype=np.float32)
    launch = Launch(kernel="kernel", grid=(1, 1, 1), block=(32, 1, 1), arguments=(out,))
    report = emulate(source, launch, arch="sm_75")
    assert report.clean, report.summary()
    assert not out.any()


@pytest.mark.parametrize(
    ("opcode", "needed"),
    [
        ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", None),
        ("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", (80, False)),
        ("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", None),
        ("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", (80, False)),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", (80, False)),
        ("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", (90, False)),
        ("ldmatrix.sync.aligned.x4.m8n8.shared.b16", None),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", (90, False)),
        ("mbarrier.init.shared::cta.b64", (80, False)),
        ("mbarrier.try_wait.parity.shared::cta.b64", (90, False)),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", (90, True)),
        ("cvt.rn.satfinite.e4m3x2.f32", (89, False)),
        ("cvt.rna.tf32.f32", (80, False)),
        ("add.f32x2", (100, False)),
        ("fence.acq_rel.gpu", None),
        ("bar.sync", None),
    ],
)
def test_targets_are_those_of_the_ptx_isa(opcode: str, needed: tuple[int, bool] | None) -> None:
    assert requirement(Instruction(opcode, ())) == needed
