// Loads a warpgroup's part of A from a stage, where it lies along M, into the registers that wgmma takes. Lanes with
// even and odd columns load the halves of an operation's columns in opposite order: at any time the lanes of a warp
// read from all banks.
struct ReadA {
  bool odd;
  uint32_t offset;  // of the first load

  CUTE_DEVICE ReadA() {
    int thread = threadIdx.x % 128;
    odd = thread % 2 == 1;
    offset = OperandA::ReadSwizzle{}(OperandA::ThreadBytes{}(thread)) ^ (odd ? value(2) : 0);
  }

  // Threads and values differ in other bits, so that the swizzle of both is that of each.
  CUTE_DEVICE static constexpr uint32_t value(int i) { return OperandA::ReadSwizzle{}(OperandA::ValueBytes{}(i)); }

  // The k-step `k` of a stage.
  template <class FragmentA>
  CUTE_DEVICE void operator()(uint32_t stage, int k, FragmentA&& tCrA) const {
    CUTE_UNROLL
    for (int m = 0; m < Config::ATOMS_M; ++m) {
      uint32_t begin = stage + OperandA::AtomBytes{}(m) + OperandA::StepBytes{}(k);
      uint32_t loaded[4];
      CUTE_UNROLL
      for (int i = 0; i < 4; ++i) {
        loaded[i] = *shared_ptr_at<uint32_t const>(begin + (offset ^ value(i)));
      }
      CUTE_UNROLL
      for (int i = 0; i < 4; ++i) {
        tCrA(i, m) = odd ? loaded[i ^ 2] : loaded[i];
      }
    }
  }
};

// One wgmma: 64 rows of the tile against all columns of the warpgroup.
template <class FragmentA, class FragmentC, int... I>
CUTE_DEVICE void wgmma(FragmentA&& a, uint64_t b, FragmentC&& acc, SM90::GMMA::ScaleOut scale, int_sequence<I...>) {
  Config::Mma::fma(a(0), a(1), a(2), a(3), b, acc(I)..., scale);
}

// tCrC += A * B^T of one k-step, asynchronously; the first one of a tile overwrites instead of adding.
template <class FragmentA, class FragmentC>
CUTE_DEVICE void mma_step(FragmentA&& tCrA, uint64_t b, FragmentC& tCrC, bool first) {
  auto scale = first ? SM90::GMMA::ScaleOut::Zero : SM90::GMMA::ScaleOut::One;
  warpgroup_arrive();
  CUTE_UNROLL
  for (int m = 0; m < Config::ATOMS_M; ++m) {
    wgmma(tCrA(_, m), b, recast<Accumulator>(tCrC(_, m)), scale, make_int_sequence<ACCUMULATORS>{});
  }
  warpgroup_commit_batch();
}
