// tCrC = A * B^T of one tile, with A in registers. Each k-step has a set of them and the sets take turns: when the
// oldest product in flight is done, its set is loaded anew while the others go on. A stage is given back when its last
// product is done, SETS k-steps into the next one.
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
  constexpr int SETS = OperandA::SETS;
  static_assert(Config::K_STEPS % SETS == 0, "a stage begins with the first set");
  ReadA read;
  auto tCrA = make_tensor<uint32_t>(Config::FragmentA{});  // (MMA,MMA_M,SET)
  Slot previous = slot;
  #pragma unroll 1
  for (int k = 0; k < k_tiles; ++k) {
    barriers.full[slot.index].wait(slot.phase);
    uint32_t a = smem_a + slot.index * OperandA::STAGE_BYTES;
    uint64_t b = descriptor<OperandB>(smem_b + slot.index * OperandB::STAGE_BYTES);
    CUTE_UNROLL
    for (int step = 0; step < Config::K_STEPS; ++step) {
      warpgroup_wait<SETS - 1>();
      read(a, step, tCrA(_, _, step % SETS));
      mma_step(tCrA(_, _, step % SETS), b + OperandB::StepBytes{}(step) / 16, tCrC, k == 0 && step == 0);
      if (step == SETS - 1 && k > 0) {
        cluster.release(barriers.empty[previous.index]);
      }
    }
//{% if overlap %}
    meanwhile(k);
//{% endif %}
    previous = slot;
    slot.next();
  }
}
