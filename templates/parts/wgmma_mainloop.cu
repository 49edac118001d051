// tCrC = A * B^T of one tile. One stage is multiplied while the one before it is given back.
template <class FragmentC>
CUTE_DEVICE void mainloop(int k_tiles, uint32_t smem_a, uint32_t smem_b, Barriers& barriers, Cluster const& cluster,
                          Slot& slot, FragmentC& tCrC) {
  Slot previous = slot;
  #pragma unroll 1
  for (int k = 0; k < k_tiles; ++k) {
    barriers.full[slot.index].wait(slot.phase);
    mma_stage(descriptor<OperandA>(smem_a + slot.index * OperandA::STAGE_BYTES),
              descriptor<OperandB>(smem_b + slot.index * OperandB::STAGE_BYTES), tCrC, k == 0);
    warpgroup_wait<1>();
    if (k > 0) {
      cluster.release(barriers.empty[previous.index]);
    }
    previous = slot;
    slot.next();
  }
}
