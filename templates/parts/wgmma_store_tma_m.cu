// A warpgroup stores its 64 rows of an M-major D in chunks of columns. In shared memory they are transposed:
// 64 elements along M, 128 bytes, for each column.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE void stage_chunk(CutegenParams const& p, GlobalC const& global_c, uint32_t buffer, int begin, int atom,
                             FragmentC const& tCrC) {
  auto element = [&](int i) {
    VectorC c{};
    if constexpr (WITH_C) {
      c = global_c(i);
    }
    VectorD d = scaled<WITH_C>(p, tCrC, i, c);
    return uint32_t(reinterpret_cast<uint16_t const&>(d));
  };
  auto word = [&](int column, int half) {  // of the 8 columns from `column`, in the upper or lower 8 rows
    int i = tCrC.layout()((begin + column) / 2 + half * 2, atom);
    return element(i) | element(i + 1) << 16;
  };
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  int row = lane % 8 + lane / 16 * 8, unit = warp * 2 + lane / 8 % 2;  // of this lane's 16 bytes along M
  CUTE_UNROLL
  for (int column = 0; column < Output::CHUNK; column += 16) {
    uint32_t address = buffer + (column + row) * 128 + ((unit ^ row % 8) << 4);
    if constexpr (Output::CHUNK % 16 == 0) {
      auto* to = shared_ptr_at<uint128_t>(address);
      SM90_U16x8_STSM_T::copy(word(column, 0), word(column, 1), word(column + 8, 0), word(column + 8, 1), *to);
    } else {
      auto* to = shared_ptr_at<uint128_t>(buffer + (column + lane % 8) * 128 + ((unit ^ lane % 8) << 4));
      SM90_U16x4_STSM_T::copy(word(column, 0), word(column, 1), *to);
    }
  }
}

// Fragments through each warpgroup's ring of staging buffers to global memory; the bulk copy clips at the edges.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE void store(CutegenParams const& p, CutegenTensorMaps const& maps, int m_begin, int n_begin, uint32_t staging,
                       FragmentC const& tCrC) {
  constexpr int CHUNKS = Output::COLUMNS / Output::CHUNK;
  constexpr int FIRST_BARRIER = 2;  // behind the turns of pingpong
  int thread = threadIdx.x, warpgroup = thread / 128;
  bool first_warp = __shfl_sync(0xffffffff, thread / 32 % 4, 0) == 0;  // known to be the same in all lanes
  int group_m = Output::ThrM{}(warpgroup * 128), group_n = Output::ThrN{}(warpgroup * 128);
  uint32_t ring = staging + warpgroup * Output::SLOTS * Output::SLOT_BYTES;
  auto meet = [&] { cutlass::arch::NamedBarrier::sync(128, FIRST_BARRIER + warpgroup); };
  GlobalC global_c(p, m_begin + Output::ThrM{}(thread), n_begin + Output::ThrN{}(thread));
  CUTE_UNROLL
  for (int atom = 0; atom < Config::ATOMS_M; ++atom) {
    CUTE_UNROLL
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
      int index = atom * CHUNKS + chunk;
      uint32_t buffer = ring + index % Output::SLOTS * Output::SLOT_BYTES;
      if (index == 0) {
        if (first_warp && elect_one_sync()) {
          tma_store_wait<0>();
        }
        meet();
      } else if (index >= Output::SLOTS) {
        if (first_warp && elect_one_sync()) {
          tma_store_wait<Output::SLOTS - 1>();
        }
        meet();
      }
      stage_chunk<WITH_C>(p, global_c, buffer, chunk * Output::CHUNK, atom, tCrC);
      tma_store_fence();
      meet();
      if (first_warp && elect_one_sync()) {
        SM90_TMA_STORE_2D::copy(&maps.d[0], shared_ptr_at<unsigned char>(buffer), m_begin + group_m + atom * 64,
                                n_begin + group_n + chunk * Output::CHUNK);
        tma_store_arrive();
      }
    }
  }
}

// Shared memory must stay until the last bulk store has read it.
CUTE_DEVICE void drain() {
  if (threadIdx.x / 32 % 4 == 0 && elect_one_sync()) {
    tma_store_wait<0>();
  }
  __syncwarp();
}
