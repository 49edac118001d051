// A thread's elements of a vector that is repeated over the tile, or `unit` where the kernel has no such vector.
// Strides of 0 stay: each element is loaded once, and has one register.
template <bool EXISTS, class TensorV>
CUTE_DEVICE auto load_vector(TensorV const& gV, int m_left, int n_left, Config::Scale unit) {
  ThrMMA thr_mma = Config::TiledMma{}.get_slice(int(threadIdx.x));
  Tensor cV = make_identity_tensor(Shape<Int<Config::BLK_M>,Int<Config::BLK_N>>{});
  Tensor tCcV = thr_mma.partition_C(cV);                                  // (MMA,MMA_M,MMA_N) -> (m,n)
  Tensor tCgV = thr_mma.partition_C(gV);                                  // (MMA,MMA_M,MMA_N)
  Tensor tCrV = make_tensor<Config::Scale>(make_layout_like(tCgV.layout()));  // (MMA,MMA_M,MMA_N)

  Tensor from = filter_zeros(tCgV);
  Tensor at   = filter_zeros(tCcV, tCgV.stride());
  Tensor to   = filter_zeros(tCrV);
  CUTE_UNROLL
  for (int i = 0; i < size(to); ++i) {
    to(i) = unit;
    if constexpr (EXISTS) {
      if (elem_less(at(i), make_coord(m_left, n_left))) {
        to(i) = Config::Scale(from(i));
      }
    }
  }
  return tCrV;
}

// alpha * scale_a(m) * scale_b(n) * acc + bias(n)
//
// gScaleA, gScaleB and gBias: (BLK_M,BLK_N) are this CTA's tiles; (m_left,n_left) is what the matrices hold from
// there on.
template <class TensorScaleA, class TensorScaleB, class TensorBias, class TensorAcc>
CUTE_DEVICE auto with_vectors(TensorScaleA const& gScaleA, TensorScaleB const& gScaleB, TensorBias const& gBias,
                              int m_left, int n_left, Config::Scale alpha, TensorAcc const& tCrC) {
  using Scale = Config::Scale;
  Tensor tCrScaleA = load_vector<Config::SCALE_A>(gScaleA, m_left, n_left, Scale(1));  // (MMA,MMA_M,MMA_N)
  Tensor tCrScaleB = load_vector<Config::SCALE_B>(gScaleB, m_left, n_left, Scale(1));  // (MMA,MMA_M,MMA_N)
  Tensor tCrBias   = load_vector<Config::WITH_BIAS>(gBias, m_left, n_left, Scale(0));  // (MMA,MMA_M,MMA_N)
  Tensor tCrS = make_fragment_like<Scale>(tCrC);                          // (MMA,MMA_M,MMA_N)
  CUTE_UNROLL
  for (int i = 0; i < size(tCrC); ++i) {
    tCrS(i) = alpha * tCrScaleA(i) * Scale(tCrC(i)) * tCrScaleB(i) + tCrBias(i);
  }
  return tCrS;
}
