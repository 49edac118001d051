// Keeps the ring full, tile after tile. Of two producers the first loads A and the second B.
CUTE_DEVICE void produce(CutegenParams const& p, CutegenTensorMaps const& maps, Tiles const& order,
                         Cluster const& cluster, unsigned char* smem, Barriers& barriers, int first, int step,
                         int producer) {
  KTiles k_tiles(p, cluster);
  bool loads_a = Config::PRODUCERS == 1 || producer == 0, loads_b = Config::PRODUCERS == 1 || producer == 1;
  int bytes = (loads_a ? OperandA::STAGE_BYTES : 0) + (loads_b ? OperandB::STAGE_BYTES : 0);
  if ((loads_a && !OperandA::CONSTANT) || (loads_b && !OperandB::CONSTANT)) {
    wait_for_kernel_before();
  }
  Slot slot;
  #pragma unroll 1
  for (int tile = first; tile < order.count; tile += step) {
    int m_begin, n_begin;
    order.at(p, tile, cluster, m_begin, n_begin);
    #pragma unroll 1
    for (int k = 0; k < k_tiles.count; ++k) {
      FullBarrier& full = barriers.full[slot.index];
      barriers.empty[slot.index].wait(slot.phase ^ 1);
      full.arrive_and_expect_tx(bytes);
      auto* a = smem + OperandA::SMEM_OFFSET + slot.index * OperandA::STAGE_BYTES;
      auto* b = smem + OperandB::SMEM_OFFSET + slot.index * OperandB::STAGE_BYTES;
      int k_begin = (k_tiles.first + k) * Config::BLK_K;
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
