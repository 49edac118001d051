CUTE_DEVICE void consume(CutegenParams const& p, CutegenTensorMaps const& maps, Tiles const& order,
                         Cluster const& cluster, uint32_t smem, Barriers& barriers, int warpgroup, int first, int step) {
  int along_m = Config::PINGPONG ? 0 : warpgroup % Config::WARPGROUPS_M;
  int along_n = Config::PINGPONG ? 0 : warpgroup / Config::WARPGROUPS_M;
  uint32_t smem_a = smem + OperandA::SMEM_OFFSET + along_m * OperandA::WARPGROUP_BYTES;
  uint32_t smem_b = smem + OperandB::SMEM_OFFSET + along_n * OperandB::WARPGROUP_BYTES;
  Turn turn(warpgroup);
  Partials partials(maps, cluster);
  Slot slot;
  Units units(p, order, first, step);
  Unit unit;
  bool more = units.next(unit);
  if (Config::PINGPONG && warpgroup == 1 && more) {  // the first unit is the other's
    slot.advance(unit.count);
    more = units.next(unit);
  }
  wait_for_kernel_before();
  #pragma unroll 1
  while (more) {
    auto tCrC = make_tensor<Config::Accumulator>(Config::FragmentC{});  // (MMA,MMA_M)
    turn.wait();
    mainloop(unit.count, smem_a, smem_b, barriers, cluster, slot, tCrC);
    Unit after;
    more = units.next(after);
    if (more) {
      turn.pass();
    }
    finish(barriers, cluster, slot, tCrC);
    if (Config::PINGPONG && more) {  // that one is the other's
      slot.advance(after.count);
    }
    if (partials.sum(unit, tCrC)) {
      int m_begin, n_begin;
      order.at(p, unit.tile, cluster, m_begin, n_begin);
      if (p.beta != 0) {
        store<true>(p, maps, m_begin, n_begin, smem + Config::STAGING_OFFSET, tCrC);
      } else {
        store<false>(p, maps, m_begin, n_begin, smem + Config::STAGING_OFFSET, tCrC);
      }
    }
    if (Config::PINGPONG && more) {
      more = units.next(unit);
    } else {
      unit = after;
    }
  }
}
