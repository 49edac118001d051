// D = alpha * acc + beta * C, from the accumulators straight to global memory; C is not read when beta is 0.
//
// gC and gD: (BLK_M,BLK_N) are this CTA's tiles; (m_left,n_left) is what the matrices hold from there on.
template <class TensorC, class TensorD, class TensorAcc>
CUTE_DEVICE void epilogue(TensorC const& gC, TensorD&& gD, int m_left, int n_left, Config::Scale alpha,
                          Config::Scale beta, unsigned char*, TensorAcc const& tCrC) {
  using Scale = Config::Scale;
  ThrMMA thr_mma = Config::TiledMma{}.get_slice(int(threadIdx.x));
  Tensor cD = make_identity_tensor(Shape<Int<Config::BLK_M>,Int<Config::BLK_N>>{});
  Tensor tCcD = thr_mma.partition_C(cD);                                  // (MMA,MMA_M,MMA_N) -> (m,n)
  Tensor tCgC = thr_mma.partition_C(gC);                                  // (MMA,MMA_M,MMA_N)
  Tensor tCgD = thr_mma.partition_C(gD);                                  // (MMA,MMA_M,MMA_N)
  auto limit = make_coord(m_left, n_left);

  CUTE_UNROLL
  for (int i = 0; i < size(tCrC); ++i) {
    if (elem_less(tCcD(i), limit)) {
      Scale x = alpha * Scale(tCrC(i));
      if (beta != Scale(0)) {
        x += beta * Scale(tCgC(i));
      }
      tCgD(i) = convert<Config::ElementD>(x);
    }
  }
}
