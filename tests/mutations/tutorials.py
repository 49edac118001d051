"""Faults of CUTLASS's CuTe tutorials."""

from __future__ import annotations

from tests.mutations.model import Mutation

__all__ = ["TUTORIALS"]


def _fault(
    kernel: str, name: str, fault: str, old: str, new: str, *kinds: str, at: str = "", count: int = 1
) -> Mutation:
    return Mutation(
        name=f"{kernel}-{name}", kernel=kernel, fault=fault, old=old, new=new, kinds=kinds, at=at, count=count
    )


_CONSUMED = "    __syncthreads();         // Wait for all threads to consume smem\n"
_LOOP_WAIT = "        cp_async_wait<K_PIPE_MAX-2>();\n"
_WGMMA = "cute::gemm(mma, tCrA"
_EXPECT = "ProducerBarType::arrive_and_expect_tx(&producer_mbar[pipe], tma_transaction_bytes);"

TUTORIALS = (
    _fault(
        "sgemm_1",
        "no-barrier-after-copy",
        "no barrier after a tile was written",
        "    __syncthreads();         // Wait for all threads to write to smem\n",
        "",
        "race-raw",
        at="gemm(tCsA, tCsB, tCrC)",
    ),
    _fault(
        "sgemm_1",
        "no-barrier-after-gemm",
        "no barrier after a tile was read",
        "    __syncthreads();         // Wait for all threads to read from smem\n",
        "",
        "race-war",
        at="copy(t",
    ),
    _fault(
        "sgemm_2",
        "no-barrier-before-copy",
        "no barrier before the next tile is written",
        f"{_CONSUMED}    copy(tArA, tAsA);",
        "    copy(tArA, tAsA);",
        "race-war",
        at="copy(t",
    ),
    _fault(
        "sgemm_2",
        "no-barrier-after-copy",
        "no barrier after a tile was written",
        f"    copy(tBrB, tBsB);\n{_CONSUMED}",
        "    copy(tBrB, tBsB);\n",
        "race-raw",
        at="gemm(mma, tCsA, tCsB, tCrC)",
    ),
    _fault(
        "sgemm_2",
        "load-beyond-k",
        "a k-tile beyond the last one is loaded",
        "(k_tile + 1 < K_TILE_MAX) ? k_tile + 1 : k_tile;",
        "k_tile + 1;",
        "out-of-bounds-global",
        at="k_tile_next)",
    ),
    _fault(
        "sgemm_sm80",
        "no-wait",
        "no wait for the copies in the loop",
        _LOOP_WAIT,
        "",
        "async-in-flight",
        at="copy(s2r_atom_",
    ),
    _fault(
        "sgemm_sm80",
        "wait-one-too-few",
        "wait leaves one group too many in flight",
        _LOOP_WAIT,
        "        cp_async_wait<K_PIPE_MAX-1>();\n",
        "async-in-flight",
        at="copy(s2r_atom_",
    ),
    _fault(
        "sgemm_sm80",
        "no-barrier",
        "no barrier after the wait",
        f"{_LOOP_WAIT}        __syncthreads();\n",
        _LOOP_WAIT,
        "race-raw",
        at="copy(s2r_atom_",
    ),
    _fault(
        "sgemm_sm80",
        "no-commit",
        "copies of the loop are never committed to a group",
        "        cp_async_fence();\n\n        // Advance the gmem tile",
        "        // Advance the gmem tile",
        "async-in-flight",
        at="copy(s2r_atom_",
    ),
    _fault(
        "sgemm_sm80",
        "no-wait-in-prefetch",
        "the first fragments are read without a wait",
        "    cp_async_wait<K_PIPE_MAX-2>();\n    __syncthreads();\n\n    // Prefetch the first rmem",
        "    __syncthreads();\n\n    // Prefetch the first rmem",
        "async-in-flight",
        at="copy(s2r_atom_",
    ),
    _fault(
        "sgemm_sm80",
        "load-beyond-k",
        "k-tiles beyond the last one are loaded",
        "        if (k_tile_count > 0) { ++k_tile_next; }\n\n",
        "        ++k_tile_next;\n\n",
        "out-of-bounds-global",
        at="k_tile_next)",
    ),
    _fault(
        "wgmma",
        "no-proxy-fence",
        "no fence between cp.async and wgmma",
        "    cutlass::arch::fence_view_async_shared();\n",
        "",
        "missing-proxy-fence",
        at=_WGMMA,
    ),
    _fault(
        "wgmma",
        "no-barrier",
        "no barrier between the copies and wgmma",
        "    cutlass::arch::fence_view_async_shared();\n    __syncthreads();\n",
        "    cutlass::arch::fence_view_async_shared();\n",
        "race-raw",
        at=_WGMMA,
    ),
    _fault(
        "wgmma",
        "no-wait",
        "no wait for the copies",
        "    cp_async_wait<0>();\n",
        "",
        "async-in-flight",
        at=_WGMMA,
    ),
    _fault(
        "wgmma", "no-arrive", "no fence before wgmma", "    warpgroup_arrive();\n", "", "missing-wgmma-fence"
    ),
    _fault(
        "wgmma",
        "in-flight",
        "wgmma is not waited for",
        "    warpgroup_wait<0>();\n",
        "    warpgroup_wait<1>();\n",
        "wgmma-in-flight",
    ),
    _fault(
        "wgmma_tma",
        "no-wait",
        "no wait for the producer",
        "ProducerBarType::wait(&producer_mbar[read_pipe], read_state.phase());",
        "",
        "async-in-flight",
        "uninitialised-shared",
    ),
    _fault(
        "wgmma_tma",
        "phase-never-flips",
        "the consumer waits for the first phase only",
        "ProducerBarType::wait(&producer_mbar[read_pipe], read_state.phase());",
        "ProducerBarType::wait(&producer_mbar[read_pipe], 0);",
        "async-in-flight",
        "race-raw",
        "deadlock",
    ),
    _fault(
        "wgmma_tma",
        "in-flight",
        "wgmma is not waited for",
        "    warpgroup_wait<0>();\n",
        "    warpgroup_wait<1>();\n",
        "race-war",
        "async-in-flight",
    ),
    _fault(
        "wgmma_tma",
        "no-arrive",
        "no fence before wgmma",
        "    warpgroup_arrive();\n",
        "",
        "missing-wgmma-fence",
    ),
    _fault(
        "wgmma_tma",
        "too-many-bytes",
        "the barrier expects 16 bytes more than come",
        _EXPECT,
        _EXPECT.replace("_bytes", "_bytes + 16"),
        "deadlock",
        count=2,
    ),
    _fault(
        "wgmma_tma",
        "too-few-bytes",
        "the barrier expects 16 bytes fewer than come",
        _EXPECT,
        _EXPECT.replace("_bytes", "_bytes - 16"),
        "deadlock",
        "async-in-flight",
        "bad-arrival",
        count=2,
    ),
    _fault(
        "wgmma_tma",
        "arrival-count",
        "the barrier counts one arrival too many",
        "ConsumerBarType::init(&consumer_mbar[pipe], 128);",
        "ConsumerBarType::init(&consumer_mbar[pipe], 129);",
        "deadlock",
    ),
    _fault(
        "wgmma_tma",
        "half-the-arrivals",
        "the barrier counts half of the arrivals",
        "ConsumerBarType::init(&consumer_mbar[pipe], 128);",
        "ConsumerBarType::init(&consumer_mbar[pipe], 64);",
        "race-war",
        "bad-arrival",
        "deadlock",
    ),
    _fault(
        "wgmma_tma",
        "one-producer-barrier",
        "B's copy reports to another stage's barrier",
        "copy(tma_b.with(producer_mbar[pipe]), tBgB(_,k_tile), tBsB(_,pipe));",
        "copy(tma_b.with(producer_mbar[0]), tBgB(_,k_tile), tBsB(_,pipe));",
        "deadlock",
        "async-in-flight",
        "bad-arrival",
        count=2,
    ),
)
