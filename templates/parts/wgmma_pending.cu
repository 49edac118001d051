// A tile's result, converted, which leaves beside the products of the next tile: a chunk with each k-tile.
struct Pending {
  static constexpr int CHUNKS = Config::ATOMS_M * Chunks::COUNT;
  uint32_t word[Output::REGISTERS / 2];  // two elements of D each
  int m, n;                              // of the warp's first row and column
  bool any = false;

  // Convert a tile's accumulators, so that they are free for the next tile.
  template <bool WITH_C, class FragmentC>
  CUTE_DEVICE void take(CutegenParams const& p, int m_begin, int n_begin, FragmentC const& tCrC) {
    int thread = threadIdx.x;
    GlobalC global_c(p, m_begin + Output::ThrM{}(thread), n_begin + Output::ThrN{}(thread));
    CUTE_UNROLL
    for (int i = 0; i < Output::REGISTERS; i += Output::VEC) {
      VectorC c{};
      if constexpr (WITH_C) {
        c = global_c(i);
      }
      VectorD d = scaled<WITH_C>(p, tCrC, i, c);
      word[i / 2] = reinterpret_cast<uint32_t const&>(d);
    }
    m = m_begin + Output::ThrM{}(thread / 32 * 32);
    n = n_begin + Output::ThrN{}(thread / 32 * 32);
    any = true;
  }

  // A chunk through the warp's ring of staging buffers, swizzled as the bulk copy expects it; that clips at the edges.
  CUTE_DEVICE void store_one(CutegenTensorMaps const& maps, uint32_t ring, int index) const {
    int atom = index / Chunks::COUNT, chunk = index % Chunks::COUNT;
    int begin = Chunks::begin(chunk), width = Chunks::width(chunk);
    uint32_t buffer = ring + index % Output::SLOTS * Output::SLOT_BYTES;
    if (index == 0 || index >= Output::SLOTS) {
      if (elect_one_sync()) {
        if (index == 0) {
          tma_store_wait<0>();
        } else {
          tma_store_wait<Output::SLOTS - 1>();
        }
      }
      __syncwarp();
    }
    auto swizzled = [&](int row, int byte) {
      int offset = row * width + byte;
      return buffer + uint32_t(offset ^ ((offset >> 7 & (width / 16 - 1)) << 4));
    };
    auto pair = [&](int column, int half) { return word[Config::FragmentC{}(column / 2 + half * 2, atom) / 2]; };
    int row = threadIdx.x % 16, unit = threadIdx.x / 16 % 2;  // of this lane's row of 16 bytes
    CUTE_UNROLL
    for (int byte = 0; byte < width; byte += 32) {
      int column = (begin + byte) / 2;
      if (width >= 32) {
        auto* to = shared_ptr_at<uint128_t>(swizzled(row, byte + unit * 16));
        SM90_U32x4_STSM_N::copy(pair(column, 0), pair(column, 1), pair(column + 8, 0), pair(column + 8, 1), *to);
      } else {
        auto* to = shared_ptr_at<uint128_t>(swizzled(row, byte));
        SM90_U32x2_STSM_N::copy(pair(column, 0), pair(column, 1), *to);
      }
    }
    tma_store_fence();
    __syncwarp();
    if (elect_one_sync()) {
      SM90_TMA_STORE_2D::copy(&maps.d[Chunks::map(chunk)], shared_ptr_at<unsigned char>(buffer),
                              n + begin / int(sizeof(Config::ElementD)), m + atom * 64);
      tma_store_arrive();
    }
  }

  // The chunk that goes with a k-tile. Registers have no addresses: one branch for each chunk.
  CUTE_DEVICE void store_beside(CutegenTensorMaps const& maps, uint32_t ring, int k) const {
    if (any && k < CHUNKS) {
      CUTE_UNROLL
      for (int index = 0; index < CHUNKS; ++index) {
        if (index == k) {
          store_one(maps, ring, index);
        }
      }
    }
  }

  // The chunks for which there was no k-tile.
  CUTE_DEVICE void store_rest(CutegenTensorMaps const& maps, uint32_t ring, int k_tiles) const {
    if (any && k_tiles < CHUNKS) {
      CUTE_UNROLL
      for (int index = 0; index < CHUNKS; ++index) {
        if (index >= k_tiles) {
          store_one(maps, ring, index);
        }
      }
    }
  }
};
