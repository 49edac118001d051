// tCrC += the sums of one stage.
template <class FragmentC>
CUTE_DEVICE void promote(FragmentC& tCrP, FragmentC& tCrC) {
  fence_accumulators(tCrP);
  CUTE_UNROLL
  for (int i = 0; i < size(tCrC); ++i) {
    tCrC(i) += tCrP(i);
  }
}

// tCrC = A * B^T of one tile. Tensor cores sum 8-bit products with fewer bits than f32 has: they start anew with each
// stage, and CUDA cores add up the sums of stages. With two sets of sums they do so while the next stage is
// multiplied; with one, other warpgroups keep the tensor cores busy meanwhile.
template <class FragmentC>
CUTE_DEVICE void mainloop(int k_tiles, uint32_t smem_a, uint32_t smem_b, Barriers& barriers, Cluster const& cluster,
                          Slot& slot, FragmentC& tCrC) {
  FragmentC tCrP, tCrQ;  // (MMA,MMA_M); the second only if SUM_SETS is 2
  Slot previous = slot;
  auto multiply = [&](FragmentC& tCrX) {
    barriers.full[slot.index].wait(slot.phase);
    mma_stage(descriptor<OperandA>(smem_a + slot.index * OperandA::STAGE_BYTES),
              descriptor<OperandB>(smem_b + slot.index * OperandB::STAGE_BYTES), tCrX, true);
    previous = slot;
    slot.next();
  };
  CUTE_UNROLL
  for (int i = 0; i < size(tCrC); ++i) {
    tCrC(i) = 0;
  }

  if constexpr (Config::SUM_SETS == 1) {
    #pragma unroll 1
    for (int k = 0; k < k_tiles; ++k) {
      multiply(tCrP);
      warpgroup_wait<0>();
      if (k < k_tiles - 1) {
        cluster.release(barriers.empty[previous.index]);
      }
      promote(tCrP, tCrC);
    }
  } else {
    auto step = [&](FragmentC& own, FragmentC& other) {
      Slot before = previous;
      multiply(own);
      warpgroup_wait<1>();  // the stage before has arrived in the other set
      cluster.release(barriers.empty[before.index]);
      promote(other, tCrC);
    };
    multiply(tCrP);
    int k = 1;
    #pragma unroll 1
    for (; k + 1 < k_tiles; k += 2) {
      step(tCrQ, tCrP);
      step(tCrP, tCrQ);
    }
    if (k < k_tiles) {
      step(tCrQ, tCrP);
      warpgroup_wait<0>();
      promote(tCrQ, tCrC);
    } else {
      warpgroup_wait<0>();
      promote(tCrP, tCrC);
    }
  }
}
