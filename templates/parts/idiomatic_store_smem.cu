// D = alpha * acc + beta * C, through shared memory and from there to global memory in whole rows; C is not
// read when beta is 0.
//
// gC and gD: (BLK_M,BLK_N) are this CTA's tiles; (m_left,n_left) is what the matrices hold from there on.
template <class TensorC, class TensorD, class TensorAcc>
CUTE_DEVICE void epilogue(TensorC const& gC, TensorD&& gD, int m_left, int n_left, Config::Scale alpha,
                          Config::Scale beta, unsigned char* smem, TensorAcc const& tCrC) {
  using Scale = Config::Scale;
  int thread = threadIdx.x;
  ThrMMA thr_mma = Config::TiledMma{}.get_slice(thread);
  Tensor cD = make_identity_tensor(Shape<Int<Config::BLK_M>,Int<Config::BLK_N>>{});
  Tensor tCcD = thr_mma.partition_C(cD);                                  // (MMA,MMA_M,MMA_N) -> (m,n)
  Tensor tCgC = thr_mma.partition_C(gC);                                  // (MMA,MMA_M,MMA_N)
  Tensor tCrD = make_fragment_like<Config::ElementD>(tCrC);               // (MMA,MMA_M,MMA_N)
  auto limit = make_coord(m_left, n_left);

  CUTE_UNROLL
  for (int n = 0; n < size<2>(tCrC); ++n) {
    Tensor tCrC_n = tCrC(_,_,n);                                          // (MMA,MMA_M)
    Tensor tCgC_n = tCgC(_,_,n);                                          // (MMA,MMA_M)
    Tensor tCcD_n = tCcD(_,_,n);                                          // (MMA,MMA_M) -> (m,n)
    Tensor tCrD_n = tCrD(_,_,n);                                          // (MMA,MMA_M)
    CUTE_UNROLL
    for (int i = 0; i < size(tCrC_n); ++i) {
      Scale x = alpha * Scale(tCrC_n(i));
      if (beta != Scale(0) && elem_less(tCcD_n(i), limit)) {
        x += beta * Scale(tCgC_n(i));
      }
      tCrD_n(i) = convert<Config::ElementD>(x);
    }
    __syncwarp();  // keeps ptxas from starting all loads at once, which would spill
  }

  // Registers to shared memory
  Tensor sD = make_tensor(make_smem_ptr(reinterpret_cast<Config::ElementD*>(smem)),
                          Config::SmemLayoutD{});                         // (BLK_M,BLK_N)
//{% if cute.r2s_retiled %}
  Config::R2SCopyD r2s_copy_d;
  ThrCopy r2s_thr_copy_d = r2s_copy_d.get_slice(thread);
  Tensor tXrD = r2s_thr_copy_d.retile_S(tCrD);                            // (CPY,CPY_M,CPY_N)
  Tensor tXsD = r2s_thr_copy_d.partition_D(sD);                           // (CPY,CPY_M,CPY_N)
  copy(r2s_copy_d, tXrD, tXsD);
//{% else %}
  Tensor tCsD = thr_mma.partition_C(sD);                                  // (MMA,MMA_M,MMA_N)
  copy(tCrD, tCsD);  // NOTE: retile_S takes a thread's values in another order where a permutation mixes them
//{% endif %}
  __syncthreads();

  // Shared to global memory
  Config::S2GCopyD s2g_copy_d;
  if (thread < size(s2g_copy_d)) {
    ThrCopy s2g_thr_copy_d = s2g_copy_d.get_slice(thread);
    Tensor tDsD = s2g_thr_copy_d.partition_S(sD);                         // (CPY,CPY_M,CPY_N)
    Tensor tDgD = s2g_thr_copy_d.partition_D(gD);                         // (CPY,CPY_M,CPY_N)
    Tensor tDcD = s2g_thr_copy_d.partition_D(cD);                         // (CPY,CPY_M,CPY_N) -> (m,n)
    copy_if(s2g_copy_d, lazy::transform(tDcD, [&](auto c) { return elem_less(c, limit); }), tDsD, tDgD);
  }
}
