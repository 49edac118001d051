// One wgmma: 64 rows of the tile against all columns of the warpgroup.
template <class Fragment, int... I>
CUTE_DEVICE void wgmma(uint64_t a, uint64_t b, Fragment&& acc, SM90::GMMA::ScaleOut scale, int_sequence<I...>) {
  Config::Mma::fma(a, b, acc(I)..., scale);
}

// tCrC += A * B^T of one stage, asynchronously; the first stage of a tile overwrites instead of adding.
template <class FragmentC>
CUTE_DEVICE void mma_stage(uint64_t a, uint64_t b, FragmentC& tCrC, bool first) {
  warpgroup_arrive();
  CUTE_UNROLL
  for (int k = 0; k < Config::K_STEPS; ++k) {
    auto scale = k == 0 && first ? SM90::GMMA::ScaleOut::Zero : SM90::GMMA::ScaleOut::One;
    CUTE_UNROLL
    for (int m = 0; m < Config::ATOMS_M; ++m) {
      auto rC = recast<Accumulator>(tCrC(_, m));
      wgmma(a + (OperandA::AtomBytes{}(m) + OperandA::StepBytes{}(k)) / 16, b + OperandB::StepBytes{}(k) / 16, rC,
            scale, make_int_sequence<ACCUMULATORS>{});
    }
  }
  warpgroup_commit_batch();
}
