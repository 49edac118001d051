// Shared memory is a ring of STAGES k-tiles: while one is multiplied, the next STAGES - 1 are on their way.
//
// gA: (BLK_M,BLK_K,k) and gB: (BLK_N,BLK_K,k) are this CTA's k-tiles; (m_left,n_left,k_left) is what the
// matrices hold from there on.
template <class TensorA, class TensorB, class TensorC>
CUTE_DEVICE void mainloop(TensorA const& gA, TensorB const& gB, int m_left, int n_left, int k_left,
                          unsigned char* smem, TensorC& tCrC) {
  constexpr int STAGES = Config::STAGES;
  int thread = threadIdx.x;

  auto* smem_a = reinterpret_cast<Config::ElementA*>(smem);
  auto* smem_b = reinterpret_cast<Config::ElementB*>(smem + Config::SMEM_BYTES_A);
  Tensor sA = make_tensor(make_smem_ptr(smem_a), Config::SmemLayoutA{});  // (BLK_M,BLK_K,PIPE)
  Tensor sB = make_tensor(make_smem_ptr(smem_b), Config::SmemLayoutB{});  // (BLK_N,BLK_K,PIPE)

  // Global to shared memory
  Config::G2SCopyA g2s_copy_a;
  ThrCopy g2s_thr_copy_a = g2s_copy_a.get_slice(thread);
  Tensor tAgA = g2s_thr_copy_a.partition_S(gA);                           // (CPY,CPY_M,CPY_K,k)
  Tensor tAsA = g2s_thr_copy_a.partition_D(sA);                           // (CPY,CPY_M,CPY_K,PIPE)
  Tensor tArA = make_fragment_like(tAsA(_,_,_,0));                        // (CPY,CPY_M,CPY_K)

  Config::G2SCopyB g2s_copy_b;
  ThrCopy g2s_thr_copy_b = g2s_copy_b.get_slice(thread);
  Tensor tBgB = g2s_thr_copy_b.partition_S(gB);                           // (CPY,CPY_N,CPY_K,k)
  Tensor tBsB = g2s_thr_copy_b.partition_D(sB);                           // (CPY,CPY_N,CPY_K,PIPE)
  Tensor tBrB = make_fragment_like(tBsB(_,_,_,0));                        // (CPY,CPY_N,CPY_K)

  // Coordinates of the same elements in the tile, to mask those outside the matrices
  Tensor cA = make_identity_tensor(Shape<Int<Config::BLK_M>,Int<Config::BLK_K>>{});
  Tensor cB = make_identity_tensor(Shape<Int<Config::BLK_N>,Int<Config::BLK_K>>{});
  Tensor tAcA = g2s_thr_copy_a.partition_S(cA);                           // (CPY,CPY_M,CPY_K) -> (m,k)
  Tensor tBcB = g2s_thr_copy_b.partition_S(cB);                           // (CPY,CPY_N,CPY_K) -> (n,k)

  // Fragments of the MMA
  Config::TiledMma tiled_mma;
  ThrMMA thr_mma = tiled_mma.get_slice(thread);
  Tensor tCrA = thr_mma.partition_fragment_A(sA(_,_,0));                  // (MMA,MMA_M,MMA_K)
  Tensor tCrB = thr_mma.partition_fragment_B(sB(_,_,0));                  // (MMA,MMA_N,MMA_K)

  // Shared memory to registers
  Config::S2RCopyA s2r_copy_a;
  ThrCopy s2r_thr_copy_a = s2r_copy_a.get_slice(thread);
  Tensor tXsA = s2r_thr_copy_a.partition_S(sA);                           // (CPY,CPY_M,CPY_K,PIPE)
  Tensor tXrA = s2r_thr_copy_a.retile_D(tCrA);                            // (CPY,CPY_M,CPY_K)

  Config::S2RCopyB s2r_copy_b;
  ThrCopy s2r_thr_copy_b = s2r_copy_b.get_slice(thread);
  Tensor tXsB = s2r_thr_copy_b.partition_S(sB);                           // (CPY,CPY_N,CPY_K,PIPE)
  Tensor tXrB = s2r_thr_copy_b.retile_D(tCrB);                            // (CPY,CPY_N,CPY_K)

  CUTE_STATIC_ASSERT_V(size<1>(tAgA) == size<1>(tAsA));                   // CPY_M
  CUTE_STATIC_ASSERT_V(size<1>(tBgB) == size<1>(tBsB));                   // CPY_N
  CUTE_STATIC_ASSERT_V(size<1>(tCrA) == size<1>(tCrC));                   // MMA_M
  CUTE_STATIC_ASSERT_V(size<1>(tCrB) == size<2>(tCrC));                   // MMA_N
  CUTE_STATIC_ASSERT_V(size<2>(tXsA) == size<2>(tXsB));                   // k-blocks
  constexpr int K_BLOCKS = size<2>(tXsA);
  constexpr int K_ATOMS  = size<2>(tCrA) / K_BLOCKS;  // MMAs along one k-block

  // Start to fetch a k-tile into a stage; one beyond the matrices is all zeros.
  auto fetch = [&](int k_tile, int pipe) {
    auto limit_a = make_coord(m_left, k_left - k_tile * Config::BLK_K);
    auto limit_b = make_coord(n_left, k_left - k_tile * Config::BLK_K);
    Tensor tApA = lazy::transform(tAcA, [&](auto c) { return elem_less(c, limit_a); });
    Tensor tBpB = lazy::transform(tBcB, [&](auto c) { return elem_less(c, limit_b); });
    start_copy<Config::G2S_ASYNC_A>(g2s_copy_a, tApA, tAgA(_,_,_,k_tile), tArA, tAsA(_,_,_,pipe));
    start_copy<Config::G2S_ASYNC_B>(g2s_copy_b, tBpB, tBgB(_,_,_,k_tile), tBrB, tBsB(_,_,_,pipe));
    cp_async_fence();
  };
  auto finish = [&](int pipe) {
    finish_copy<Config::G2S_ASYNC_A>(g2s_copy_a, tArA, tAsA(_,_,_,pipe));
    finish_copy<Config::G2S_ASYNC_B>(g2s_copy_b, tBrB, tBsB(_,_,_,pipe));
  };

  // Prologue: all stages but one
  CUTE_UNROLL
  for (int k_tile = 0; k_tile < STAGES - 1; ++k_tile) {
    fetch(k_tile, k_tile);
    finish(k_tile);
  }

  int k_tiles = ceil_div(uint32_t(k_left), uint32_t(Config::BLK_K));
  int pipe_read = 0, pipe_write = STAGES - 1;
  CUTE_NO_UNROLL
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    // k-tile k_tile has arrived, and all threads have left the stage of k_tile - 1.
    cp_async_wait<STAGES - 2>();
    __syncthreads();
    fetch(k_tile + STAGES - 1, pipe_write);

    CUTE_UNROLL
    for (int k_block = 0; k_block < K_BLOCKS; ++k_block) {
      copy(s2r_copy_a, tXsA(_,_,k_block,pipe_read), tXrA(_,_,k_block));
      copy(s2r_copy_b, tXsB(_,_,k_block,pipe_read), tXrB(_,_,k_block));
      CUTE_UNROLL
      for (int k = k_block * K_ATOMS; k < (k_block + 1) * K_ATOMS; ++k) {
        gemm(tiled_mma, tCrA(_,_,k), tCrB(_,_,k), tCrC);                  // (V,M) x (V,N) => (V,M,N)
      }
    }

    finish(pipe_write);
    pipe_write = pipe_read;
    pipe_read  = pipe_read + 1 == STAGES ? 0 : pipe_read + 1;
  }
  cp_async_wait<0>();
  __syncthreads();  // the epilogue may use the ring's memory
}
