"""``st.async``: stores to another CTA of a cluster, seen behind its mbarrier and not before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cutegen.emulator import EmulatorReport, Launch, emulate

pytestmark = pytest.mark.emulated

#: Each of two CTAs sends 16 bytes for each thread to the other one, twice.
SOURCE = """
#include <cstdint>
__device__ uint32_t peer(uint32_t at, uint32_t rank) {
  uint32_t to;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(to) : "r"(at), "r"(rank));
  return to;
}
__device__ void wait(uint32_t barrier, uint32_t parity) {
  asm volatile("{.reg .pred p; L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra D; bra L; D: }"
               :: "r"(barrier), "r"(parity) : "memory");
}
__device__ void meet() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
__global__ void __cluster_dims__(2, 1, 1) kernel(float* out) {
  extern __shared__ __align__(16) char smem[];
  uint32_t base = uint32_t(__cvta_generic_to_shared(smem)), barrier = base + 512, t = threadIdx.x;
  uint32_t rank = blockIdx.x % 2, other = 1 - rank;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier));
    asm volatile("fence.mbarrier_init.release.cluster;");
  }
  meet();
  float sum = 0;
  for (int round = 0; round < 2; ++round) {
    if (t == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                   :: "r"(barrier), "r"(BYTES) : "memory");
    }
    uint32_t to = peer(base + t * 16 + OFFSET, other), at = peer(barrier, BARRIER_RANK);
    float x = t + 100 * rank + 1000 * round;
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];"
                 :: "r"(to), "f"(x), "f"(2 * x), "r"(at) : "memory");
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 :: "r"(to + 8), "r"(__float_as_uint(3 * x)), "r"(at) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 :: "r"(to + 12), "r"(__float_as_uint(4 * x)), "r"(at) : "memory");
    WAIT;
    float4 got = *reinterpret_cast<float4*>(smem + t * 16);
    sum += got.x + 10 * got.y + 100 * got.z + 1000 * got.w;
    MEET;
  }
  out[blockIdx.x * 32 + t] = sum;
  meet();
}
"""
GOOD = {
    "OFFSET": "0",
    "BYTES": "512",
    "BARRIER_RANK": "other",
    "WAIT": "wait(barrier, round)",
    "MEET": "meet()",
}


def run(tmp_path: Path, arch: str = "sm_90a", **changes: str) -> tuple[EmulatorReport, np.ndarray]:
    text = SOURCE
    for name, value in (GOOD | changes).items():
        text = text.replace(name, value)
    source = tmp_path / "kernel.cu"
    source.write_text(text, encoding="utf-8")
    out = np.zeros(64, dtype=np.float32)
    launch = Launch(
        kernel="kernel",
        grid=(2, 1, 1),
        cluster=(2, 1, 1),
        block=(32, 1, 1),
        shared=1024,
        arguments=(out,),
        outputs=(0,),
    )
    return emulate(source, launch, arch=arch), out


def test_what_is_sent_arrives(tmp_path: Path) -> None:
    report, out = run(tmp_path)
    assert report.clean, report.summary()
    sent = np.arange(32)[None, :] + 100.0 * np.array([[1], [0]])  # the other one's
    assert np.array_equal(out.reshape(2, 32), (2 * sent + 1000) * 4321)


FAULTS = {
    "not waited for": ({"WAIT": ""}, "async-in-flight"),
    "sent again before it was read": ({"MEET": ""}, "race-waw"),
    "fewer bytes than expected": ({"BYTES": "528"}, "deadlock"),
    "the barrier of another CTA": ({"BARRIER_RANK": "rank"}, "bad-arrival"),
    "misaligned": ({"OFFSET": "4"}, "misaligned"),
    "outside": ({"OFFSET": "1024"}, "out-of-bounds-shared"),
    "on an older architecture": ({"arch": "sm_80"}, "unsupported-on-arch"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(tmp_path: Path, fault: str) -> None:
    changes, kind = FAULTS[fault]
    report, _ = run(tmp_path, **changes)
    assert kind in {finding.kind for finding in report.findings}, report.summary()
