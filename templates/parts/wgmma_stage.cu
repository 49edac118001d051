// A matrix descriptor; offsets in units of 16 bytes add to its low bits.
template <class Operand>
CUTE_DEVICE uint64_t descriptor(uint32_t address) {
  constexpr uint64_t FIELDS = uint64_t(Operand::SWIZZLE_MODE) << 62 | uint64_t(Operand::STRIDE_BYTES / 16) << 32 |
                              uint64_t(Operand::LEADING_BYTES / 16) << 16;
  return FIELDS | (address & 0x3ffff) >> 4;
}

// An operation's accumulators as it takes them: f16 in pairs, integers without a sign.
using Accumulator = remove_extent<Config::Mma::CRegisters>::type;
static constexpr int ACCUMULATORS = extent<Config::Mma::CRegisters>::value;

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

// The accumulators change behind the compiler's back until a wait: keep their uses on the right side of it.
template <class FragmentC>
CUTE_DEVICE void fence_accumulators(FragmentC& tCrC) {
  auto rC = recast<Accumulator>(tCrC);
  CUTE_UNROLL
  for (int i = 0; i < size(rC); ++i) {
    warpgroup_fence_operand(rC(i));
  }
}
