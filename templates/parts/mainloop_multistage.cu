// Shared memory is a ring of STAGES k-tiles. While the tensor cores work on k-block k, ldmatrix fetches
// k-block k+1 and cp.async fetches k-tile kt + STAGES - 1, a part of it in each k-block.
template <class FragmentC>
CUTE_DEVICE void mainloop(CutegenParams const& p, int m_begin, int n_begin, uint32_t smem, FragmentC& tCrC) {
  constexpr int  STAGES   = Config::STAGES;
  constexpr int  K_BLOCKS = Config::K_BLOCKS;
  constexpr bool ASYNC    = OperandA::G2S_ASYNC || OperandB::G2S_ASYNC;
  constexpr int  PARTS    = Config::DOUBLE_BUFFER && K_BLOCKS > 2 ? K_BLOCKS - 1 : 1;
  constexpr uint32_t LAST = (STAGES - 1) * Config::STAGE_BYTES;

  int k_tiles = tiles(p.k, Config::BLK_K);
  int k_skip  = k_tiles * Config::BLK_K - p.k;

  GlobalToShared<OperandA> g2s_a(p.a, p.lda, m_begin, p.m, k_skip, smem);
  GlobalToShared<OperandB> g2s_b(p.b, p.ldb, n_begin, p.n, k_skip, smem);
  SharedAddress<OperandA::Read, OperandA::Element> sA(smem + OperandA::SMEM_OFFSET, threadIdx.x);
  SharedAddress<OperandB::Read, OperandB::Element> sB(smem + OperandB::SMEM_OFFSET, threadIdx.x);
  auto tCrA = make_tensor<OperandA::Element>(OperandA::Fragment{});  // (MMA,MMA_M,MMA_K,BUFFER)
  auto tCrB = make_tensor<OperandB::Element>(OperandB::Fragment{});  // (MMA,MMA_N,MMA_K,BUFFER)

  auto load = [&](auto partial, uint32_t stage, int part, int parts, bool valid) {
    constexpr bool PARTIAL = decltype(partial)::value;
    g2s_a.template start<PARTIAL>(stage, OperandA::G2S_STEPS * part / parts, OperandA::G2S_STEPS * (part + 1) / parts, valid);
    g2s_b.template start<PARTIAL>(stage, OperandB::G2S_STEPS * part / parts, OperandB::G2S_STEPS * (part + 1) / parts, valid);
    if (part == parts - 1) {
      g2s_a.advance();
      g2s_b.advance();
    }
    if constexpr (PARTIAL) {
      g2s_a.enter_matrix();
      g2s_b.enter_matrix();
    }
  };
  auto finish = [&](uint32_t stage) {  // a k-tile that passes through registers
    g2s_a.finish(stage);
    g2s_b.finish(stage);
  };
  auto fence = [&] {
    if constexpr (ASYNC) {
      cp_async_fence();
    }
  };
  auto wait = [&] {  // until the oldest k-tile in flight has arrived for all threads
    if constexpr (ASYNC) {
      cp_async_wait<(STAGES > 1 ? STAGES - 2 : 0)>();
    }
    __syncthreads();
  };
  auto fetch = [&](uint32_t stage, int k_block, int buffer) {  // in the order of first use
    s2r<OperandB>(sB, stage, k_block, tCrB, buffer, 0, 1);
    s2r<OperandA>(sA, stage, k_block, tCrA, buffer, 0, OperandA::S2R_COPIES);
    s2r<OperandB>(sB, stage, k_block, tCrB, buffer, 1, OperandB::S2R_COPIES);
  };

  if constexpr (STAGES == 1) {
    CUTE_NO_UNROLL
    for (int kt = 0; kt < k_tiles; ++kt) {
      load(true_type{}, 0, 0, 1, true);
      fence();
      finish(0);
      wait();
      CUTE_UNROLL
      for (int k = 0; k < K_BLOCKS; ++k) {
        fetch(0, k, 0);
        mma_k_block(tCrA, tCrB, tCrC, 0);
      }
      __syncthreads();
    }
  } else {
    // Prologue: the first STAGES - 1 k-tiles.
    CUTE_NO_UNROLL
    for (int s = 0; s < STAGES - 1; ++s) {
      load(true_type{}, s * Config::STAGE_BYTES, 0, 1, s < k_tiles);
      fence();
      finish(s * Config::STAGE_BYTES);
    }
    uint32_t read = 0, write = LAST;  // byte offsets of the stages
    if constexpr (Config::DOUBLE_BUFFER) {
      wait();
      fetch(0, 0, 0);
      CUTE_NO_UNROLL
      for (int kt = 0; kt < k_tiles; ++kt) {
        uint32_t next = read == LAST ? 0 : read + Config::STAGE_BYTES;
        CUTE_UNROLL
        for (int k = 0; k < K_BLOCKS; ++k) {
          if (k == K_BLOCKS - 1) {
            finish(write);
            wait();
          }
          fetch(k == K_BLOCKS - 1 ? next : read, (k + 1) % K_BLOCKS, (k + 1) & 1);
          if (k < PARTS) {
            load(false_type{}, write, k, PARTS, kt + STAGES - 1 < k_tiles);
            if (k == PARTS - 1) {
              fence();
            }
          }
          mma_k_block(tCrA, tCrB, tCrC, k & 1);
        }
        write = read;
        read  = next;
      }
    } else {
      CUTE_NO_UNROLL
      for (int kt = 0; kt < k_tiles; ++kt) {
        wait();
        CUTE_UNROLL
        for (int k = 0; k < K_BLOCKS; ++k) {
          fetch(read, k, 0);
          if (k == 0) {
            load(false_type{}, write, 0, 1, kt + STAGES - 1 < k_tiles);
            fence();
          }
          mma_k_block(tCrA, tCrB, tCrC, 0);
        }
        finish(write);
        write = read;
        read  = read == LAST ? 0 : read + Config::STAGE_BYTES;
      }
    }
  }
  if constexpr (ASYNC) {
    cp_async_wait<0>();
  }
  __syncthreads();  // the epilogue may use the ring's memory
}
