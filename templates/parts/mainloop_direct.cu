// One thread's part of an operand, loaded from global memory straight into its fragments.
template <class Operand>
struct GlobalToRegisters {
  using T      = typename Operand::Element;
  using Copy   = typename CPY_Op<typename Operand::G2S>::type;
  using Vector = typename remove_extent<typename Copy::SRegisters>::type;

  T const* ptr;       // the thread's first element of the next k-tile
  int64_t mn_stride;  // elements
  int64_t k_stride;
  int mn_left;        // from the thread's first row to the edge of the matrix
  int k_left;

  CUTE_DEVICE GlobalToRegisters(void const* matrix, int64_t ld, int mn_begin, int mn_end, int k_end) {
    int mn = mn_begin + typename Operand::G2SThrMN{}(int(threadIdx.x));
    int k  = typename Operand::G2SThrK{}(int(threadIdx.x));
    mn_stride = Operand::K_MAJOR ? ld : 1;
    k_stride  = Operand::K_MAJOR ? 1 : ld;
    mn_left = mn_end - mn;
    k_left  = k_end - k;
    ptr = static_cast<T const*>(matrix) + mn * mn_stride + k * k_stride;
  }

  template <class Fragment>
  CUTE_DEVICE void load(int k_block, Fragment& tCrX) {
    // NOTE: steps follow the registers, which with several atoms along K is not the order of coordinates.
    auto registers = recast<Vector>(make_tensor(tCrX.data(), Layout<Int<Operand::BUFFER>>{}));
    CUTE_UNROLL
    for (int i = 0; i < Operand::G2S_STEPS; ++i) {
      int mn = typename Operand::G2SStepMN{}(i + Operand::G2S_STEPS * k_block);
      int k  = typename Operand::G2SStepK{}(i + Operand::G2S_STEPS * k_block);
      T const* source = ptr + mn * mn_stride + k * k_stride;
      Vector value{};
      if (mn < mn_left && k < k_left) {
        Copy::copy(*reinterpret_cast<Vector const*>(source), value);
      }
      registers(i) = value;
    }
  }

  CUTE_DEVICE void advance() {
    ptr += Config::BLK_K * k_stride;
    k_left -= Config::BLK_K;
  }
};

template <class FragmentC>
CUTE_DEVICE void mainloop(CutegenParams const& p, int m_begin, int n_begin, uint32_t, FragmentC& tCrC) {
  GlobalToRegisters<OperandA> g2r_a(p.a, p.lda, m_begin, p.m, p.k);
  GlobalToRegisters<OperandB> g2r_b(p.b, p.ldb, n_begin, p.n, p.k);
  auto tCrA = make_tensor<OperandA::Element>(OperandA::Fragment{});  // (MMA,MMA_M,MMA_K,BUFFER)
  auto tCrB = make_tensor<OperandB::Element>(OperandB::Fragment{});  // (MMA,MMA_N,MMA_K,BUFFER)

  int k_tiles = tiles(p.k, Config::BLK_K);
  CUTE_NO_UNROLL
  for (int kt = 0; kt < k_tiles; ++kt) {
    CUTE_UNROLL
    for (int k = 0; k < Config::K_BLOCKS; ++k) {
      g2r_a.load(k, tCrA);
      g2r_b.load(k, tCrB);
      mma_k_block(tCrA, tCrB, tCrC, 0);
    }
    g2r_a.advance();
    g2r_b.advance();
  }
}
