"""Changes of ``tma_wgmma`` that the emulator does not find: what it does not model, and what is no fault."""

from __future__ import annotations

from tests.mutations.hopper import INIT_FENCE, fault

__all__ = ["HOPPER_UNFOUND"]

_one = fault("pingpong")
_four = fault("cluster")
_m = fault("m-major")
_PASS = "    if (tile + step < order.count) {\n      turn.pass();\n    }\n"
_FENCE = "      tma_store_fence();\n"
_BY_FENCE = (
    "in PTX's memory model a proxy fence may stand anywhere between the two accesses, also behind the barrier"
)

HOPPER_UNFOUND = (
    _four(
        "no-init-fence",
        "no fence behind the barriers' initialisation",
        INIT_FENCE,
        "",
        unfound="the arrival at the cluster's barrier releases the initialisation as well",
    ),
    _m(
        "turn-barrier",
        "the epilogue's named barriers are those of the turns",
        "FIRST_BARRIER = 2;",
        "FIRST_BARRIER = 0;",
        unfound="copies come so late that one warpgroup's epilogue is over before the other multiplies",
        gap=True,
    ),
    _one(
        "no-fence-operand",
        "accumulators are not fenced behind the last wait",
        "  fence_accumulators(tCrC);\n",
        "",
        unfound="it keeps nvcc from moving instructions, which the emulator has no part in",
        gap=True,
    ),
    _one(
        "never-zero",
        "the first k-step does not overwrite the sum",
        "auto scale = k == 0 && first ?",
        "auto scale = false ?",
        unfound="CuTe's tensors begin as zeros, on a GPU as well; it costs instructions",
    ),
    _one(
        "no-k-tile",
        "without K no k-tile is multiplied",
        "      count = 1;\n",
        "",
        shape=(128, 64, 0),
        unfound="CuTe's tensors begin as zeros, and no slot is used",
    ),
    _one(
        "leading-bytes",
        "the descriptor's leading bytes are half of what they must be",
        "Operand::LEADING_BYTES / 16",
        "Operand::LEADING_BYTES / 32",
        unfound="swizzled K-major tiles do not use them",
    ),
    _one(
        "no-turn-wait-short",
        "a warpgroup does not wait for its turn, with fewer k-tiles than stages",
        "    turn.wait();\n",
        "",
        unfound="it cannot be a lap ahead: its slots become free by turns all the same",
    ),
    _one(
        "pass-always",
        "the turn is passed on though no tile is left",
        _PASS,
        "    turn.pass();\n",
        unfound="nobody waits for that turn",
    ),
    _one(
        "fence-behind-the-barrier",
        "the fence is behind the barrier",
        _FENCE + "      __syncwarp();\n",
        "      __syncwarp();\n" + _FENCE,
        unfound=_BY_FENCE,
    ),
    _m(
        "fence-behind-the-barrier",
        "the fence is behind the barrier",
        _FENCE + "      meet();\n",
        "      meet();\n" + _FENCE,
        unfound=_BY_FENCE,
    ),
)
