// One operand of one stage. CTAs that share it load a slice each and multicast it to all of them.
template <class Operand>
CUTE_DEVICE void load(CUtensorMap const& map, FullBarrier& full, unsigned char* stage, int mn, int k, int slice,
                      uint16_t mask) {
  constexpr uint64_t HINT = uint64_t(Operand::CACHE);
  auto* barrier = reinterpret_cast<uint64_t*>(&full);
  CUTE_UNROLL
  for (int i = 0; i < Operand::PANELS * Operand::BOXES; ++i) {
    int panel = i / Operand::BOXES, row = (slice * Operand::BOXES + i % Operand::BOXES) * Operand::BOX_OUTER;
    int inner = (Operand::K_MAJOR ? k : mn) + panel * Operand::PANEL_INNER;
    int outer = (Operand::K_MAJOR ? mn : k) + row;
    auto* to = stage + panel * Operand::PANEL_BYTES + row * Operand::ROW_BYTES;
    if constexpr (Operand::SHARERS == 1) {
      SM90_TMA_LOAD_2D::copy(&map, barrier, HINT, to, inner, outer);
    } else {
      SM90_TMA_LOAD_MULTICAST_2D::copy(&map, barrier, mask, HINT, to, inner, outer);
    }
  }
}

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
    order.at(tile, cluster, m_begin, n_begin);
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
