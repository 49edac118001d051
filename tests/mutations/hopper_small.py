"""Faults of what ``tma_wgmma`` has for few rows: swapped operands, split K, dependent launches."""

from __future__ import annotations

from tests.mutations.hopper import fault

__all__ = ["HOPPER_SMALL"]

_swapped = fault("swapped")
_split = fault("split")
_three = fault("split-in-three")
_dependent = fault("dependent")
_SENT = "st.async."
_TAKEN_WAIT = "    taken.wait(phase ^ 1);\n"
_ARRIVED_WAIT = "    arrived.wait(phase);\n"
_EXPECT = "arrived.arrive_and_expect_tx(SENDERS * SENDER_BYTES);"
_TAKEN = "    taken.arrive(first_rank + (lane + 1) * Cluster::TILES, lane < SENDERS);\n"
_WAIT = "wait_for_kernel_before();\n"
_BEFORE_LOADS = (
    f"  if ((loads_a && !OperandA::CONSTANT) || (loads_b && !OperandB::CONSTANT)) {{\n    {_WAIT}  }}\n"
)
_BYTES = "(loads_a ? OperandA::STAGE_BYTES : 0) + (loads_b ? OperandB::STAGE_BYTES : 0)"

HOPPER_SMALL = (
    _swapped("extents-stay", "M and N do not change places", "  exchange(p.m, p.n);\n", "", "numbers"),
    _split(
        "no-taken-wait",
        "sums are sent before the ones of the last tile were read",
        _TAKEN_WAIT,
        "",
        "async-in-flight",
        "race-war",
        "race-waw",
    ),
    _split(
        "taken-parity",
        "a sender waits for the other parity",
        _TAKEN_WAIT,
        _TAKEN_WAIT.replace(" ^ 1", ""),
        "deadlock",
    ),
    _split(
        "no-arrived-wait",
        "sums of others are added before they have arrived",
        _ARRIVED_WAIT,
        "",
        "async-in-flight",
        "uninitialised-shared",
    ),
    _split(
        "phase-stays",
        "the phase of the sums does not flip",
        "    phase ^= 1;\n    return share",
        "    return share",
        "async-in-flight",
        "race-raw",
        "race-war",
        "deadlock",
    ),
    _split(
        "half-the-bytes",
        "half of a sum is waited for",
        _EXPECT,
        _EXPECT.replace(");", " / 2);"),
        "async-in-flight",
        "deadlock",
    ),
    _split("no-taken-arrival", "nobody tells that sums were read", _TAKEN, "", "deadlock"),
    _split(
        "taken-early",
        "a warp tells that sums were read before all of its lanes have",
        "    __syncwarp();\n    int lane = threadIdx.x % 32;\n    taken",
        "    int lane = threadIdx.x % 32;\n    taken",
        "race-war",
        at=_SENT,
    ),
    _split(
        "all-store",
        "every CTA of the cluster stores",
        "return share == 0;",
        "return true;",
        "race-waw",
        "async-in-flight",
        "numbers",
    ),
    _split(
        "same-share",
        "all CTAs multiply the first share of K",
        "first = cluster.share * all / Config::SPLIT_K;\n",
        "first = 0;\n",
        "numbers",
    ),
    _three(
        "senders-overlap",
        "all senders write to the same place",
        "buffer + (share - 1) * SENDER_BYTES",
        "buffer",
        "race-waw",
        "async-in-flight",
        at=_SENT,
    ),
    _dependent(
        "no-wait-before-loads",
        "A is loaded while the kernel before may write it",
        _BEFORE_LOADS,
        "",
        "missing-grid-wait",
    ),
    _dependent(
        "no-wait-before-stores",
        "D is written while the kernel before may read it",
        f"  {_WAIT}  #pragma unroll 1\n",
        "  #pragma unroll 1\n",
        "missing-grid-wait",
    ),
    _dependent(
        "one-producer-counts",
        "a slot is full when one of two producers has come",
        "barriers.full[s].init(Config::PRODUCERS);",
        "barriers.full[s].init(1);",
        "bad-arrival",
        "async-in-flight",
        "uninitialised-shared",
    ),
    _dependent(
        "bytes-of-both",
        "each producer expects the bytes of both operands",
        _BYTES,
        "Config::STAGE_BYTES",
        "deadlock",
    ),
)
