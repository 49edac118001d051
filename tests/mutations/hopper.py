"""Faults of the mainloop ``tma_wgmma``: its ring of slots, its products, its turns and its tiles."""

from __future__ import annotations

from tests.mutations.model import Mutation

__all__ = ["HOPPER", "SHAPE", "fault"]

#: What ``tests/emulated/test_wgmma.py`` runs first: a ring that goes round, parts of tiles, several tiles a CTA.
SHAPE = (304, 528, 208)


def fault(
    kernel: str,
    name: str,
    words: str,
    old: str,
    new: str,
    *kinds: str,
    at: str = "",
    count: int = 1,
    shape: tuple[int, int, int] = SHAPE,
) -> Mutation:
    """A fault of one of the Hopper kernels."""
    return Mutation(
        name=f"{kernel}-{name}",
        kernel=kernel,
        fault=words,
        old=old,
        new=new,
        kinds=kinds,
        at=at,
        count=count,
        shape=shape,
    )


_EMPTY_WAIT = "      barriers.empty[slot.index].wait(slot.phase ^ 1);\n"
_FULL_WAIT = "    barriers.full[slot.index].wait(slot.phase);\n"
_RELEASE = "    if (k > 0) {\n      cluster.release(barriers.empty[previous.index]);\n    }\n"
_LAST_RELEASE = "  cluster.release(barriers.empty[last]);\n"
_WAIT = "    warpgroup_wait<1>();\n"
_LAST_WAIT = "  warpgroup_wait<0>();\n"
_EXPECT = "full.arrive_and_expect_tx(Config::STAGE_BYTES);"
_SCALE = "auto scale = k == 0 && first ?"
_FULL_INIT = "barriers.full[s].init(1);"
_EMPTY_INIT = "barriers.empty[s].init(READERS);"
_SYNC = "  if constexpr (Cluster::SIZE > 1) {\n    cluster_sync();\n  } else {\n    __syncthreads();\n  }\n"
_LAST_SYNC = "    cluster_sync();  // a peer may still write here, or wait for an arrival from here\n"
_ANY = ("race-raw", "race-war", "race-waw", "async-in-flight", "deadlock", "bad-arrival", "uninitialised-shared",
  "numbers", "wgmma-in-flight","missing-wgmma-fence","missing-proxy-fence","out-of-bounds-shared","misaligned","divergent-barrier","divergent-collective","out-of-bounds-global","uninitialised-fragment", "bad-tensor-map","conflicts","unsupported-instruction","trap","wild-access")
D = "D"
HOPPER = (
    fault("pingpong", "producer-no-wait", "the producer does not wait for an empty slot", _EMPTY_WAIT, "", *_ANY),
    fault("pingpong", "producer-parity", "the producer waits for the other parity", _EMPTY_WAIT, _EMPTY_WAIT.replace(" ^ 1", ""), *_ANY),
    fault("pingpong", "consumer-no-wait", "the consumers do not wait for a full slot", _FULL_WAIT, "", *_ANY),
    fault("pingpong", "consumer-first-phase", "the consumers wait for the first phase only", _FULL_WAIT, _FULL_WAIT.replace("slot.phase", "0"), *_ANY),
    fault("pingpong", "consumer-parity", "the consumers wait for the other parity", _FULL_WAIT, _FULL_WAIT.replace("slot.phase", "slot.phase ^ 1"), *_ANY),
    fault("pingpong", "no-release", "a slot is never released in the loop", _RELEASE, "", *_ANY),
    fault("pingpong", "no-last-release", "a tile's last slot is never released", _LAST_RELEASE, "", *_ANY),
    fault("pingpong", "release-before-wait", "a slot is released before its products are waited for", _WAIT + _RELEASE, _RELEASE + _WAIT, *_ANY),
    fault("pingpong", "release-early", "a slot is released while it is multiplied", _RELEASE, "    cluster.release(barriers.empty[slot.index]);\n", *_ANY),
    fault("pingpong", "release-early-exact", "a slot is released while it is multiplied, each once", _RELEASE + "    previous = slot;", "    if (k + 1 < k_tiles) cluster.release(barriers.empty[slot.index]);\n    previous = slot;", *_ANY),
    fault("pingpong", "wait-two", "the wait leaves two stages in flight", _WAIT, _WAIT.replace("1", "2"), *_ANY),
    fault("pingpong", "wait-none", "no wait in the loop", _WAIT, "", *_ANY),
    fault("pingpong", "last-wait-one", "last wait leaves one", _LAST_WAIT, _LAST_WAIT.replace("0", "1"), *_ANY),
    fault("pingpong", "last-wait-none", "no last wait", _LAST_WAIT, "", *_ANY),
    fault("pingpong", "last-slot", "the slot before the last is released", "int last = slot.index > 0 ? slot.index - 1 : Config::STAGES - 1;", "int last = slot.index;", *_ANY),
    fault("pingpong", "too-many-bytes", "the barrier expects 16 bytes more than come", _EXPECT, _EXPECT.replace("BYTES", "BYTES + 16"), *_ANY),
    fault("pingpong", "too-few-bytes", "the barrier expects 16 bytes fewer than come", _EXPECT, _EXPECT.replace("BYTES", "BYTES - 16"), *_ANY),
    fault("pingpong", "a-bytes", "the barrier expects only A", _EXPECT, "full.arrive_and_expect_tx(OperandA::STAGE_BYTES);", *_ANY),
    fault("pingpong", "phase-stays", "the phase does not flip in next", "      index = 0;\n      phase ^= 1;\n", "      index = 0;\n", *_ANY),
    fault("pingpong", "advance-phase-stays", "the phase does not flip in advance", "    phase ^= (index / Config::STAGES) & 1;\n", "", *_ANY),
    fault("pingpong", "full-count", "full counts two", _FULL_INIT, _FULL_INIT.replace("1", "2"), *_ANY),
    fault("pingpong", "empty-count", "empty counts one too many", _EMPTY_INIT, _EMPTY_INIT.replace("READERS", "READERS + 1"), *_ANY),
    fault("pingpong", "empty-count-both", "empty counts both consumers", "(Config::PINGPONG ? 1 : Config::CONSUMERS)", "Config::CONSUMERS", *_ANY),
    fault("pingpong", "no-barrier-fence", "no fence_barrier_init", "    cutlass::arch::fence_barrier_init();\n", "", *_ANY),
    fault("pingpong", "no-sync", "no sync at start", _SYNC, "", *_ANY),
    # wgmma
    fault("pingpong", "no-arrive", "no wgmma fence", "  warpgroup_arrive();\n", "", *_ANY),
    fault("pingpong", "no-commit", "no commit", "  warpgroup_commit_batch();\n", "", *_ANY),
    fault("pingpong", "no-fence-operand", "no fence_accumulators", "  fence_accumulators(tCrC);\n", "", *_ANY),
    fault("pingpong", "never-zero", "never zeroed", _SCALE, "auto scale = false ?", *_ANY),
    fault("pingpong", "zero-each-stage", "every stage overwrites", _SCALE, "auto scale = k == 0 ?", *_ANY),
    fault("pingpong", "zero-each-step", "every k-step of first stage overwrites", _SCALE, "auto scale = first ?", *_ANY),
    fault("pingpong", "stride-bytes", "descriptor stride halved", "Operand::STRIDE_BYTES / 16", "Operand::STRIDE_BYTES / 32", *_ANY),
    fault("pingpong", "leading-bytes", "K-major leading 0", "Operand::LEADING_BYTES / 16", "Operand::LEADING_BYTES / 32", *_ANY),
    fault("pingpong", "swizzle-mode", "descriptor swizzle", "uint64_t(Operand::SWIZZLE_MODE) << 62", "uint64_t(Operand::SWIZZLE_MODE + 1) << 62", *_ANY),
    fault("pingpong", "atom-bytes", "second atom same rows", "OperandA::AtomBytes{}(m) + ", "", *_ANY),
    fault("pingpong", "step-bytes", "A's k-step stays", "+ OperandA::StepBytes{}(k)) / 16", ") / 16", *_ANY),
    fault("pingpong", "b-stage", "B's slot is the first always", "smem_b + slot.index * OperandB::STAGE_BYTES", "smem_b", *_ANY),
    # pingpong
    fault("pingpong", "no-turn-wait", "no turn wait", "    turn.wait();\n", "", *_ANY),
    fault("pingpong", "no-turn-wait-long", "no turn wait long k", "    turn.wait();\n", "", *_ANY, shape=(304, 528, 400)),
    fault("pingpong", "no-turn-wait-320", "no turn wait k 320", "    turn.wait();\n", "", *_ANY, shape=(304, 528, 320)),
    fault("pingpong", "no-turn-pass", "no turn pass", "      turn.pass();\n", "", *_ANY),
    fault("pingpong", "pass-always", "pass always", "    if (tile + step < order.count) {\n      turn.pass();\n    }\n", "    turn.pass();\n", *_ANY),
    fault("pingpong", "no-first-turn", "no first arrive", "cutlass::arch::NamedBarrier::arrive(THREADS, other);\n    }\n  }\n\n  CUTE_DEVICE void wait", "}\n  }\n\n  CUTE_DEVICE void wait", *_ANY),
    fault("pingpong", "turn-threads", "turn counts 128", "THREADS = 256;", "THREADS = 128;", *_ANY),
    fault("pingpong", "no-advance", "no slot.advance over other's tile", "    if (Config::PINGPONG) {\n      slot.advance(k_tiles);\n    }\n", "", *_ANY),
    fault("pingpong", "no-first-advance", "no first slot.advance", "    slot.advance(k_tiles);\n    first += step;\n", "    first += step;\n", *_ANY),
    fault("pingpong", "no-first-step", "both begin with the same tile", "    first += step;\n", "", *_ANY),
    fault("pingpong", "stride", "stride step", "Config::PINGPONG ? 2 * step : step;", "step;", *_ANY),
    fault("pingpong", "producer-stride", "producer's stride", "for (int tile = first; tile < order.count; tile += step) {", "for (int tile = first; tile < order.count; tile += 2 * step) {", *_ANY),
    fault("pingpong", "k-tiles-floor", "k_tiles rounded down", "max(1, tiles(p.k, Config::BLK_K))", "max(1, p.k / Config::BLK_K)", *_ANY),
    fault("pingpong", "k-tiles-zero", "no k-tile without K", "return max(1, tiles(p.k, Config::BLK_K));", "return tiles(p.k, Config::BLK_K);", *_ANY, shape=(128, 64, 0)),
    fault("pingpong", "not-beyond", "no K: loads at 0", "p.k == 0 ? 1 : 0", "0", *_ANY, shape=(128, 64, 0)),
    fault("pingpong", "no-max-k", "max(1) both", "int beyond  = p.k == 0 ? 1 : 0;", "int beyond = 1;", *_ANY),
    fault("pingpong", "group-width", "last group as wide as others", "int width = min(group, along - first);", "int width = group;", *_ANY, shape=(1200, 400, 64)),
    fault("pingpong", "group-rest", "rest", "tile - first * across;", "tile % (group * across);", *_ANY, shape=(1200, 400, 64)),
    fault("pingpong", "panel-inner", "k does not advance", "(k + beyond) * Config::BLK_K, cluster.n", "beyond * Config::BLK_K, cluster.n", *_ANY),
    # cluster
    fault("cluster", "row-mask", "row mask shifted no", "uint16_t(mask << m)", "uint16_t(mask)", *_ANY),
    fault("cluster", "column-mask", "column mask no shift", "<< (Config::CLUSTER_M * n));", "<< n);", *_ANY),
    fault("cluster", "masks-swapped", "A's mask is B's", "cluster.n, cluster.row_mask()", "cluster.n, cluster.column_mask()", *_ANY),
    fault("cluster", "mask-own", "mask only own", "return uint16_t(mask << m);", "return uint16_t(1u << (m + Config::CLUSTER_M * n));", *_ANY),
    fault("cluster", "slice-zero", "each loads first slice", "(slice * Operand::BOXES + i", "(i", *_ANY),
    fault("cluster", "slice-other", "A's slice is m", "cluster.n, cluster.row_mask()", "cluster.m, cluster.row_mask()", *_ANY),
    fault("cluster", "slice-place", "slice to wrong place in smem", "+ row * Operand::ROW_BYTES", "+ (i % Operand::BOXES) * Operand::BOX_OUTER * Operand::ROW_BYTES", *_ANY),
    fault("cluster", "no-sync", "no cluster_sync at start", _SYNC, "  __syncthreads();\n", *_ANY),
    fault("cluster", "no-last-sync", "no cluster_sync at end", _LAST_SYNC, "", *_ANY),
    fault("cluster", "no-barrier-fence", "no fence_barrier_init", "    cutlass::arch::fence_barrier_init();\n", "", *_ANY),
    fault("cluster", "release-row", "release only to row", "((row_mask() | column_mask()) >> thread & 1)", "(row_mask() >> thread & 1)", *_ANY),
    fault("cluster", "release-all", "release to all CTAs", "((row_mask() | column_mask()) >> thread & 1)", "true", *_ANY),
    fault("cluster", "release-own", "release to own", "      empty.arrive(thread, thread < SIZE && ((row_mask() | column_mask()) >> thread & 1));", "      if (thread == 0) empty.arrive();", *_ANY),
    fault("cluster", "empty-count-fewer", "one arrival too few", _EMPTY_INIT, _EMPTY_INIT.replace("READERS", "READERS - 1"), *_ANY),
    fault("cluster", "empty-count-one", "one CTA counted", "(Config::CLUSTER_M + Config::CLUSTER_N - 1) *", "1 *", *_ANY),
    fault("cluster", "empty-count-size", "whole cluster counted", "(Config::CLUSTER_M + Config::CLUSTER_N - 1) *", "Config::CLUSTER_M * Config::CLUSTER_N *", *_ANY),
    fault("cluster", "empty-count-one-group", "one consumer counted", "(Config::PINGPONG ? 1 : Config::CONSUMERS)", "1", *_ANY),
    fault("cluster", "too-few-bytes", "counts own boxes only", _EXPECT, "full.arrive_and_expect_tx(Config::STAGE_BYTES / 2);", *_ANY),
    fault("cluster", "producer-no-wait", "the producer does not wait", _EMPTY_WAIT, "", *_ANY),
    fault("cluster", "release-before-wait", "release before wait", _WAIT + _RELEASE, _RELEASE + _WAIT, *_ANY),
    fault("cluster", "tile-of-the-other", "both CTAs same tile row", "* Config::CLUSTER_M + cluster.m)", "* Config::CLUSTER_M)", *_ANY),
    fault("cluster", "step", "step is the grid", "step = gridDim.x / Cluster::SIZE;", "step = gridDim.x;", *_ANY),
    fault("cluster", "no-release", "no release", _RELEASE, "", *_ANY),
    fault("cluster", "warpgroup-rows", "both warpgroups same rows", "along_m * OperandA::WARPGROUP_BYTES", "0", *_ANY),
    # MN-major
    fault("mn-major", "stride-bytes", "stride", "Operand::STRIDE_BYTES / 16", "Operand::STRIDE_BYTES / 32", *_ANY),
    fault("mn-major", "leading-bytes", "leading", "Operand::LEADING_BYTES / 16", "Operand::LEADING_BYTES / 32", *_ANY),
    fault("mn-major", "swapped", "leading<->stride", "Operand::STRIDE_BYTES / 16) << 32", "Operand::LEADING_BYTES / 16) << 32", *_ANY),
    fault("mn-major", "slice-zero", "slice", "(slice * Operand::BOXES + i", "(i", *_ANY),
    fault("mn-major", "panel", "panel bytes", "panel * Operand::PANEL_BYTES", "panel * Operand::PANEL_BYTES / 2", *_ANY),
    fault("mn-major", "panel-inner", "panel inner", " + panel * Operand::PANEL_INNER", "", *_ANY),
    fault("mn-major", "mask", "column", "mask |= 1u << (Config::CLUSTER_M * j);", "mask |= 1u;", *_ANY),
    fault("mn-major", "a-as-k-major", "A's major", "GMMA::Major::MN, SM90::GMMA::Major::MN", "GMMA::Major::K, SM90::GMMA::Major::MN", *_ANY),
)
