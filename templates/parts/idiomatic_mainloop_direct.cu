// Every thread loads its fragments straight from global memory.
//
// gA: (BLK_M,BLK_K,k) and gB: (BLK_N,BLK_K,k) are this CTA's k-tiles; (m_left,n_left,k_left) is what the
// matrices hold from there on.
template <class TensorA, class TensorB, class TensorC>
CUTE_DEVICE void mainloop(TensorA const& gA, TensorB const& gB, int m_left, int n_left, int k_left,
                          unsigned char*, TensorC& tCrC) {
  Config::TiledMma tiled_mma;
  ThrMMA thr_mma = tiled_mma.get_slice(int(threadIdx.x));
  Tensor tCgA = thr_mma.partition_A(gA);                                  // (MMA,MMA_M,MMA_K,k)
  Tensor tCgB = thr_mma.partition_B(gB);                                  // (MMA,MMA_N,MMA_K,k)
  Tensor tCrA = thr_mma.partition_fragment_A(gA(_,_,0));                  // (MMA,MMA_M,MMA_K)
  Tensor tCrB = thr_mma.partition_fragment_B(gB(_,_,0));                  // (MMA,MMA_N,MMA_K)

  // Coordinates of the same elements in the tile, to mask those outside the matrices
  Tensor cA = make_identity_tensor(Shape<Int<Config::BLK_M>,Int<Config::BLK_K>>{});
  Tensor cB = make_identity_tensor(Shape<Int<Config::BLK_N>,Int<Config::BLK_K>>{});
  Tensor tCcA = thr_mma.partition_A(cA);                                  // (MMA,MMA_M,MMA_K) -> (m,k)
  Tensor tCcB = thr_mma.partition_B(cB);                                  // (MMA,MMA_N,MMA_K) -> (n,k)

  CUTE_STATIC_ASSERT_V(size<1>(tCrA) == size<1>(tCrC));                   // MMA_M
  CUTE_STATIC_ASSERT_V(size<1>(tCrB) == size<2>(tCrC));                   // MMA_N
  CUTE_STATIC_ASSERT_V(size<2>(tCrA) == size<2>(tCrB));                   // MMA_K

  int k_tiles = ceil_div(uint32_t(k_left), uint32_t(Config::BLK_K));
  CUTE_NO_UNROLL
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    auto limit_a = make_coord(m_left, k_left - k_tile * Config::BLK_K);
    auto limit_b = make_coord(n_left, k_left - k_tile * Config::BLK_K);
    clear(tCrA);
    clear(tCrB);
    copy_if(lazy::transform(tCcA, [&](auto c) { return elem_less(c, limit_a); }), tCgA(_,_,_,k_tile), tCrA);
    copy_if(lazy::transform(tCcB, [&](auto c) { return elem_less(c, limit_b); }), tCgB(_,_,_,k_tile), tCrB);
    gemm(tiled_mma, tCrA, tCrB, tCrC);                                    // (V,M,K) x (V,N,K) => (V,M,N)
  }
}
