// Keeps the ring full, unit after unit. Of two producers the first loads A and the second B.
CUTE_DEVICE void produce(CutegenParams const& p, CutegenTensorMaps const& maps, Tiles const& order,
                         Cluster const& cluster, unsigned char* smem, Barriers& barriers, int first, int step,
                         int producer) {
  bool loads_a = Config::PRODUCERS == 1 || producer == 0, loads_b = Config::PRODUCERS == 1 || producer == 1;
  int bytes = (loads_a ? OperandA::STAGE_BYTES : 0) + (loads_b ? OperandB::STAGE_BYTES : 0);
  if ((loads_a && !OperandA::CONSTANT) || (loads_b && !OperandB::CONSTANT)) {
    wait_for_kernel_before();
  }
  int outside = p.k == 0 ? 1 : 0;  // without K the only k-tile is behind what maps need to have
  Slot slot;
  Units units(p, order, first, step);
  Unit unit;
  #pragma unroll 1
  while (units.next(unit)) {
    int m_begin, n_begin;
    order.at(p, unit.tile, cluster, m_begin, n_begin);
    #pragma unroll 1
    for (int k = unit.first; k < unit.first + unit.count; ++k) {
      FullBarrier& full = barriers.full[slot.index];
      barriers.empty[slot.index].wait(slot.phase ^ 1);
      full.arrive_and_expect_tx(bytes);
      auto* a = smem + OperandA::SMEM_OFFSET + slot.index * OperandA::STAGE_BYTES;
      auto* b = smem + OperandB::SMEM_OFFSET + slot.index * OperandB::STAGE_BYTES;
      int k_begin = (k + outside) * Config::BLK_K;
      if (loads_a) {
        load<OperandA>(maps.a, full, a, m_begin, k_begin, cluster.n, cluster.row_mask());
      }
      if (loads_b) {
        load<OperandB>(maps.b, full, b, n_begin, k_begin, cluster.m, cluster.column_mask());
      }
      slot.next();
    }
  }
  let_next_kernel_start();
}
