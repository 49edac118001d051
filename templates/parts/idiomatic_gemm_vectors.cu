CUTE_DEVICE void gemm_device(CutegenParams const& p, unsigned char* smem) {
  // Preconditions
  CUTE_STATIC_ASSERT_V(size(Config::TiledMma{}) == Int<Config::THREADS>{});
  CUTE_STATIC_ASSERT_V(evenly_divides(Config::CtaTiler{}, tile_shape(Config::TiledMma{})));

  // The whole matrices
  Tensor mA = make_tensor(make_gmem_ptr(static_cast<Config::ElementA const*>(p.a)), make_shape(p.m, p.k),
                          with_leading_stride<Config::StrideA>(p.lda));                  // (M,K)
  Tensor mB = make_tensor(make_gmem_ptr(static_cast<Config::ElementB const*>(p.b)), make_shape(p.n, p.k),
                          with_leading_stride<Config::StrideB>(p.ldb));                  // (N,K)
  Tensor mC = make_tensor(make_gmem_ptr(static_cast<Config::ElementC const*>(p.c)), make_shape(p.m, p.n),
                          with_leading_stride<Config::StrideC>(p.ldc));                  // (M,N)
  Tensor mD = make_tensor(make_gmem_ptr(static_cast<Config::ElementD*>(p.d)), make_shape(p.m, p.n),
                          with_leading_stride<Config::StrideD>(p.ldd));                  // (M,N)

  // This CTA's part of them, and what they hold from its first element on
  auto [m, n] = cta_tile(p);
  auto cta_coord = make_coord(m, n, _);                                                  // (m,n,k)
  Tensor gA = local_tile(mA, Config::CtaTiler{}, cta_coord, Step<_1, X,_1>{});           // (BLK_M,BLK_K,k)
  Tensor gB = local_tile(mB, Config::CtaTiler{}, cta_coord, Step< X,_1,_1>{});           // (BLK_N,BLK_K,k)
  Tensor gC = local_tile(mC, Config::CtaTiler{}, cta_coord, Step<_1,_1, X>{});           // (BLK_M,BLK_N)
  Tensor gD = local_tile(mD, Config::CtaTiler{}, cta_coord, Step<_1,_1, X>{});           // (BLK_M,BLK_N)
  int m_left = p.m - m * Config::BLK_M, n_left = p.n - n * Config::BLK_N;

  Tensor tCrC = partition_fragment_C(Config::TiledMma{}, take<0,2>(Config::CtaTiler{})); // (MMA,MMA_M,MMA_N)
  clear(tCrC);
  mainloop(gA, gB, m_left, n_left, p.k, smem, tCrC);

  // Each vector as a matrix (M,N) that repeats it
  Tensor mScaleA = make_tensor(make_gmem_ptr(static_cast<float const*>(p.scale_a)), make_shape(p.m, p.n),
                               Config::StrideScaleA{});                                  // (M,N)
  Tensor mScaleB = make_tensor(make_gmem_ptr(static_cast<float const*>(p.scale_b)), make_shape(p.m, p.n),
                               Config::StrideScaleB{});                                  // (M,N)
  Tensor mBias   = make_tensor(make_gmem_ptr(static_cast<Config::ElementBias const*>(p.bias)),
                               make_shape(p.m, p.n), Config::StrideBias{});              // (M,N)
  Tensor gScaleA = local_tile(mScaleA, Config::CtaTiler{}, cta_coord, Step<_1,_1, X>{}); // (BLK_M,BLK_N)
  Tensor gScaleB = local_tile(mScaleB, Config::CtaTiler{}, cta_coord, Step<_1,_1, X>{}); // (BLK_M,BLK_N)
  Tensor gBias   = local_tile(mBias,   Config::CtaTiler{}, cta_coord, Step<_1,_1, X>{}); // (BLK_M,BLK_N)
  auto tCrS = with_vectors(gScaleA, gScaleB, gBias, m_left, n_left, Config::Scale(p.alpha), tCrC);
  epilogue(gC, gD, m_left, n_left, Config::Scale(1), Config::Scale(p.beta), smem, tCrS);
}
