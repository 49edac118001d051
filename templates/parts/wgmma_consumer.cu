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
//{% if overlap %}
  Pending pending;
  uint32_t staging = smem + Config::STAGING_OFFSET;
  uint32_t ring = staging + threadIdx.x / 32 * Output::SLOTS * Output::SLOT_BYTES;
//{% endif %}
  wait_for_kernel_before();
  #pragma unroll 1
  for (int tile = first; tile < order.count; tile += stride) {
    int m_begin, n_begin;
    order.at(p, tile, cluster, m_begin, n_begin);
    auto tCrC = make_tensor<Config::Accumulator>(Config::FragmentC{});  // (MMA,MMA_M)
    turn.wait();
//{% if overlap %}
    mainloop(k_tiles, smem_a, smem_b, barriers, cluster, slot, tCrC,
             [&](int k) { pending.store_beside(maps, ring, k); });
    finish(barriers, cluster, slot, tCrC);
    pending.store_rest(maps, ring, k_tiles);
//{% if vectors %}
    WithVectors values(p, m_begin, n_begin, staging + Vectors::OFFSET, tCrC);  // alpha among them
    CutegenParams rest = p;
    rest.alpha = 1;
    if (p.beta != 0) {
      pending.take<true>(rest, m_begin, n_begin, values);
    } else {
      pending.take<false>(rest, m_begin, n_begin, values);
    }
//{% else %}
    if (p.beta != 0) {
      pending.take<true>(p, m_begin, n_begin, tCrC);
    } else {
      pending.take<false>(p, m_begin, n_begin, tCrC);
    }
//{% endif %}
  }
  pending.store_rest(maps, ring, 0);
}
//{% else %}
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
//{% endif %}
