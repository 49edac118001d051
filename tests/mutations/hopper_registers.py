"""Faults of ``tma_wgmma`` with A in registers: of their loads, their turns, and of giving slots back."""

from __future__ import annotations

from tests.mutations.hopper import LOAD, WGMMA, fault

__all__ = ["HOPPER_REGISTERS"]

_one = fault("registers")
_three = fault("registers-three")
_WAIT = "      warpgroup_wait<SETS - 1>();\n"
_FULL = "    barriers.full[slot.index].wait(slot.phase);\n"
_WRITE = "tCrA(i, m) = "
_READ = "*shared_ptr_at<uint32_t const>"

HOPPER_REGISTERS = (
    _one("no-wait", "no wait before a set is loaded anew", _WAIT, "", "wgmma-in-flight", at=_WRITE),
    _one(
        "wait-one-more",
        "the wait leaves the products in flight whose registers are loaded",
        "<SETS - 1>",
        "<SETS>",
        "wgmma-in-flight",
        at=_WRITE,
    ),
    _one(
        "one-set",
        "all k-steps use one set of registers",
        "step % SETS",
        "0",
        "wgmma-in-flight",
        count=2,
        at=_WRITE,
    ),
    _one(
        "no-arrive",
        "no fence between loads and products",
        "  warpgroup_arrive();\n",
        "",
        "missing-wgmma-fence",
        at=WGMMA,
    ),
    _one(
        "no-commit",
        "products are not committed to a group",
        "  warpgroup_commit_batch();\n",
        "",
        "wgmma-in-flight",
    ),
    _one("no-full-wait", "no wait for the bytes of a slot", _FULL, "", "async-in-flight", at=_READ),
    _one(
        "release-early",
        "a slot is given back while products still read B",
        "step == SETS - 1 && k > 0",
        "step == 0 && k > 0",
        "race-war",
        "async-in-flight",
        at=LOAD,
    ),
    _one(
        "no-syncwarp",
        "a slot is given back while lanes of the warp may read A",
        "    __syncwarp();\n    if constexpr (TILES == 1)",
        "    if constexpr (TILES == 1)",
        "race-war",
        at=LOAD,
    ),
    _one(
        "first-warp",
        "the first warp gives back what four read",
        "      if (lane == 0) {\n        empty.arrive();\n",
        "      if (threadIdx.x % 128 == 0) {\n        for (int i = 0; i < 4; ++i) empty.arrive();\n",
        "race-war",
        at=LOAD,
    ),
    _three(
        "readers", "a slot is free when a warp of each group has read it", "4 * GROUPS", "GROUPS", "deadlock"
    ),
    _three(
        "a-slot",
        "A is read from the first slot",
        "smem_a + slot.index * OperandA::STAGE_BYTES",
        "smem_a",
        "race-raw",
        "race-war",
        "async-in-flight",
    ),
    _one(
        "same-order",
        "lanes of even and odd columns load in the same order",
        "odd = thread % 2 == 1;",
        "odd = false;",
        "conflicts",
        at=_READ,
    ),
    _one(
        "no-exchange", "halves are not exchanged", "odd ? loaded[i ^ 2] : loaded[i]", "loaded[i]", "numbers"
    ),
    _one(
        "no-swizzle",
        "A's rows are read without their swizzle",
        "OperandA::ReadSwizzle{}(OperandA::ThreadBytes{}(thread))",
        "OperandA::ThreadBytes{}(thread)",
        "numbers",
    ),
    _one("same-atom", "both atoms multiply the same rows", " + OperandA::AtomBytes{}(m)", "", "numbers"),
    _one(
        "same-step", "every k-step has the first columns of A", " + OperandA::StepBytes{}(k)", "", "numbers"
    ),
    _one(
        "b-step",
        "every k-step has the first columns of B",
        " + OperandB::StepBytes{}(step) / 16",
        "",
        "numbers",
    ),
    _one("zero-each-step", "every k-step overwrites the sum", "k == 0 && step == 0", "k == 0", "numbers"),
)
