template <class Tensor>
CUTE_DEVICE void zero(Tensor& rX) {
  CUTE_UNROLL
  for (int i = 0; i < size(rX); ++i) {
    rX(i) = typename Tensor::value_type(0);
  }
}

// Shared addresses of one thread: swizzle(thread + step). When thread and step share no bits, the
// swizzle is linear over their xor, and one register serves every step.
template <class View, class T>
struct SharedAddress {
  uint32_t base;
  int thread;

  CUTE_DEVICE SharedAddress(uint32_t smem, int tid) : thread(typename View::Thr{}(tid)) {
    base = smem;
    if constexpr (View::LINEAR) {
      base += uint32_t(typename View::Swz{}(thread)) * sizeof(T);
    }
  }

  CUTE_DEVICE uint32_t operator()(int step_index) const {
    int step = typename View::Step{}(step_index);
    if constexpr (View::LINEAR) {
      int z = typename View::Swz{}(step);
      return (base ^ uint32_t((z & View::MASK) * sizeof(T))) + uint32_t((z & ~View::MASK) * sizeof(T));
    } else {
      return base + uint32_t(typename View::Swz{}(thread + step)) * sizeof(T);
    }
  }
};

// One multiply-accumulate of a CTA tile's k-block: n outer, m inner in serpentine order, so that the
// B fragment stays in registers.
template <class FragmentA, class FragmentB, class FragmentC>
CUTE_DEVICE void mma_k_block(FragmentA const& tCrA, FragmentB const& tCrB, FragmentC& tCrC, int buffer) {
  CUTE_UNROLL
  for (int k = 0; k < OperandA::ATOMS_K; ++k) {
    CUTE_UNROLL
    for (int n = 0; n < OperandB::ATOMS_MN; ++n) {
      CUTE_UNROLL
      for (int i = 0; i < OperandA::ATOMS_MN; ++i) {
        int m = n & 1 ? OperandA::ATOMS_MN - 1 - i : i;
        if constexpr (Config::SIMT) {
          using Acc = Config::Accumulator;
          tCrC(0, m, n) += Acc(tCrA(0, m, k, buffer)) * Acc(tCrB(0, n, k, buffer));
        } else {
          auto acc = tCrC(_, m, n);
          mma_unpack(Config::Mma{}, acc, tCrA(_, m, k, buffer), tCrB(_, n, k, buffer), acc);
        }
      }
    }
  }
}
