"""Faults of the products of ``tma_wgmma``, of their order and of the turns of pingpong."""

from __future__ import annotations

from tests.mutations.hopper import LOAD, LONG_K, WAIT, WGMMA, fault

__all__ = ["HOPPER_PRODUCTS"]

_one = fault("pingpong")
_four = fault("cluster")
_mn = fault("mn-major")
_LAST_WAIT = "  warpgroup_wait<0>();\n"
_SCALE = "auto scale = k == 0 && first ?"
_STRIDE = "uint64_t(Operand::STRIDE_BYTES / 16)"
_LEADING = "uint64_t(Operand::LEADING_BYTES / 16)"
_SKIP = "    if (Config::PINGPONG) {\n      slot.advance(k_tiles);\n    }\n"
_OTHERS = "      cutlass::arch::NamedBarrier::arrive(THREADS, other);\n    }\n  }\n\n  CUTE_DEVICE void wait"
_TURN = "    turn.wait();\n"

HOPPER_PRODUCTS = (
    _one(
        "no-arrive", "no fence before wgmma", "  warpgroup_arrive();\n", "", "missing-wgmma-fence", at=WGMMA
    ),
    _one(
        "no-commit",
        "products are not committed to a group",
        "  warpgroup_commit_batch();\n",
        "",
        "wgmma-in-flight",
    ),
    _one(
        "wait-two",
        "the wait leaves two stages in flight",
        WAIT,
        WAIT.replace("1", "2"),
        "race-war",
        "async-in-flight",
        at=LOAD,
    ),
    _one("no-wait", "no wait for products in the loop", WAIT, "", "race-war", "async-in-flight", at=LOAD),
    _one(
        "last-wait-one",
        "a tile's last stage is not waited for",
        _LAST_WAIT,
        _LAST_WAIT.replace("0", "1"),
        "wgmma-in-flight",
    ),
    _one("no-last-wait", "no wait behind the loop", _LAST_WAIT, "", "wgmma-in-flight"),
    _one("zero-each-stage", "every stage overwrites the sum", _SCALE, "auto scale = k == 0 ?", "numbers"),
    _one(
        "zero-each-step",
        "every k-step of the first stage overwrites the sum",
        _SCALE,
        "auto scale = first ?",
        "numbers",
    ),
    _one(
        "stride-bytes",
        "the descriptor's stride is half of what it must be",
        _STRIDE,
        _STRIDE.replace("16", "32"),
        "numbers",
    ),
    _one(
        "swizzle-mode",
        "the descriptor's swizzle is a narrower one",
        "uint64_t(Operand::SWIZZLE_MODE)",
        "uint64_t(Operand::SWIZZLE_MODE + 1)",
        "numbers",
    ),
    _one("same-atom", "both atoms multiply the same rows", "OperandA::AtomBytes{}(m) + ", "", "numbers"),
    _one(
        "same-step",
        "every k-step multiplies the first columns of A",
        " + OperandA::StepBytes{}(k)) / 16",
        ") / 16",
        "numbers",
    ),
    _one(
        "b-slot",
        "B is read from the first slot always",
        "smem_b + slot.index * OperandB::STAGE_BYTES",
        "smem_b",
        "async-in-flight",
        "race-raw",
        at=WGMMA,
    ),
    _four(
        "same-warpgroup",
        "both warpgroups multiply the same rows",
        "along_m * OperandA::WARPGROUP_BYTES",
        "0",
        "numbers",
    ),
    _mn(
        "stride-bytes",
        "the descriptor's stride is half of what it must be",
        _STRIDE,
        _STRIDE.replace("16", "32"),
        "numbers",
    ),
    _mn(
        "leading-bytes",
        "the descriptor's leading bytes are half of what they must be",
        _LEADING,
        _LEADING.replace("16", "32"),
        "numbers",
    ),
    _mn(
        "descriptor-swapped",
        "leading bytes stand where the stride must stand",
        _STRIDE,
        _LEADING,
        "async-in-flight",
        "numbers",
    ),
    _mn(
        "a-major",
        "A is multiplied as if it were K-major",
        "GMMA::Major::MN, SM90::GMMA::Major::MN",
        "GMMA::Major::K, SM90::GMMA::Major::MN",
        "async-in-flight",
        "numbers",
    ),
    # NOTE: a warpgroup that does not wait for its turn may take one lap of the ring for another only where a
    # tile has as many k-tiles as there are stages.
    _one(
        "no-turn-wait",
        "a warpgroup does not wait for its turn",
        _TURN,
        "",
        "deadlock",
        "bad-arrival",
        "async-in-flight",
        "uninitialised-shared",
        shape=LONG_K,
    ),
    _one(
        "turn-of-one",
        "the turn counts one warpgroup",
        "THREADS = 256;",
        "THREADS = 128;",
        "deadlock",
        "bad-arrival",
        "async-in-flight",
        "uninitialised-shared",
        shape=LONG_K,
    ),
    _one("no-turn-pass", "the turn is not passed on", "      turn.pass();\n", "", "deadlock"),
    _one("no-first-turn", "nobody gives the first turn", _OTHERS, _OTHERS.partition("\n")[2], "deadlock"),
    _one(
        "no-advance",
        "slots of the other's tile are not skipped",
        _SKIP,
        "",
        "async-in-flight",
        "race-raw",
        "deadlock",
        at=WGMMA,
    ),
    _one(
        "no-first-advance",
        "slots of the other's first tile are not skipped",
        "    slot.advance(k_tiles);\n    first += step;\n",
        "    first += step;\n",
        "deadlock",
        "async-in-flight",
        "race-raw",
    ),
    _one(
        "same-first-tile", "both warpgroups begin with the same tile", "    first += step;\n", "", "race-waw"
    ),
    _one(
        "stride",
        "each warpgroup takes every tile",
        "Config::PINGPONG ? 2 * step : step;",
        "step;",
        "deadlock",
        "race-waw",
    ),
)
