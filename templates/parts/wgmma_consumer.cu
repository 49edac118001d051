CUTE_DEVICE void consume(CutegenParams const& p, CutegenTensorMaps const& maps, Tiles const& order,
                         Cluster const& cluster, uint32_t smem, Barriers& barriers, int warpgroup, int first, int step) {
  int k_tiles = KTiles(p, cluster).count;
  int along_m = Config::PINGPONG ? 0 : warpgroup % Config::WARPGROUPS_M;
  int along_n = Config::PINGPONG ? 0 : warpgroup / Config::WARPGROUPS_M;
  uint32_t smem_a = smem + OperandA::SMEM_OFFSET + along_m * OperandA::WARPGROUP_BYTES;
  uint32_t smem_b = smem + OperandB::SMEM_OFFSET + along_n * OperandB::WARPGROUP_BYTES;
  Turn turn(warpgroup);
  Partials partials(cluster, barriers, smem, warpgroup);
  Slot slot;
  if (Config::PINGPONG && warpgroup == 1) {  // the first tile is the other's
    slot.advance(k_tiles);
    first += step;
  }
  int stride = Config::PINGPONG ? 2 * step : step;
  wait_for_kernel_before();
  #pragma unroll 1
  for (int tile = first; tile < order.count; tile += stride) {
    int m_begin, n_begin;
    order.at(tile, cluster, m_begin, n_begin);
    auto tCrC = make_tensor<Config::Accumulator>(Config::FragmentC{});  // (MMA,MMA_M)
    turn.wait();
    mainloop(k_tiles, smem_a, smem_b, barriers, cluster, slot, tCrC);
    if (tile + step < order.count) {
      turn.pass();
    }
    finish(barriers, cluster, slot, tCrC);
    if (Config::PINGPONG) {
      slot.advance(k_tiles);
    }
    if (!partials.sum(tCrC)) {
      continue;
    }
    if (p.beta != 0) {
      store<true>(p, maps, m_begin, n_begin, smem + Config::STAGING_OFFSET, tCrC);
    } else {
      store<false>(p, maps, m_begin, n_begin, smem + Config::STAGING_OFFSET, tCrC);
    }
  }
}
