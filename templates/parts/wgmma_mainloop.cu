// tCrC = A * B^T of one tile. One stage is multiplied while the one before it is given back.
//{% if overlap %}
template <class FragmentC, class Meanwhile>
//{% else %}
template <class FragmentC>
//{% endif %}
CUTE_DEVICE void mainloop(int k_tiles, uint32_t smem_a, uint32_t smem_b, Barriers& barriers, Cluster const& cluster,
//{% if overlap %}
                          Slot& slot, FragmentC& tCrC, Meanwhile const& meanwhile) {
//{% else %}
                          Slot& slot, FragmentC& tCrC) {
//{% endif %}
  Slot previous = slot;
  #pragma unroll 1
  for (int k = 0; k < k_tiles; ++k) {
    barriers.full[slot.index].wait(slot.phase);
    mma_stage(descriptor<OperandA>(smem_a + slot.index * OperandA::STAGE_BYTES),
              descriptor<OperandB>(smem_b + slot.index * OperandB::STAGE_BYTES), tCrC, k == 0);
//{% if overlap %}
    meanwhile(k);
//{% endif %}
    warpgroup_wait<1>();
    if (k > 0) {
      cluster.release(barriers.empty[previous.index]);
    }
    previous = slot;
    slot.next();
  }
}
