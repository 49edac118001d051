// A warp stores its 16 rows in chunks of columns, 128 bytes wide and, at the end, 64, 32 and 16 as needed.
//{% set wide_d = element_d in ("float", "int32_t") %}
//{% if wide_d %}
// Loops end here at compile time: what nvcc keeps of one would leave the accumulators without registers.
//{% endif %}
struct Chunks {
  static constexpr int BYTES = Output::COLUMNS * int(sizeof(Config::ElementD));  // of one row
  static constexpr int WIDE  = BYTES / 128;
  static constexpr int COUNT = WIDE + (BYTES >> 6 & 1) + (BYTES >> 5 & 1) + (BYTES >> 4 & 1);

  CUTE_HOST_DEVICE static constexpr int width(int chunk) {
    int narrow = BYTES % 128;
//{% if wide_d %}
    CUTE_UNROLL
//{% endif %}
    for (int skip = WIDE; skip < chunk; ++skip) {
      narrow -= narrow >= 64 ? 64 : narrow >= 32 ? 32 : 16;
    }
    return chunk < WIDE ? 128 : narrow >= 64 ? 64 : narrow >= 32 ? 32 : 16;
  }

  CUTE_HOST_DEVICE static constexpr int begin(int chunk) {
    int begin = 0;
//{% if wide_d %}
    CUTE_UNROLL
//{% endif %}
    for (int before = 0; before < chunk; ++before) {
      begin += width(before);
    }
    return begin;
  }

  // Which of the maps has boxes of this width.
  CUTE_HOST_DEVICE static constexpr int map(int chunk) {
    int index = 0;
//{% if wide_d %}
    CUTE_UNROLL
//{% endif %}
    for (int before = 1; before <= chunk; ++before) {
      index += width(before) != width(before - 1);
    }
    return index;
  }
};

//{% if overlap %}
//{% include "parts/wgmma_pending.cu" %}
//{% else %}
// Two neighbouring accumulators in registers to a warp's chunk, swizzled as the bulk copy expects it.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE void stage_chunk(CutegenParams const& p, GlobalC const& global_c, uint32_t buffer, int begin, int width,
                             int atom, FragmentC const& tCrC) {
  using T = Config::ElementD;
  auto swizzled = [&](int row, int byte) {
    int offset = row * width + byte;
    return buffer + uint32_t(offset ^ ((offset >> 7 & (width / 16 - 1)) << 4));
  };
  auto pair = [&](int column, int half) {  // of the 8 columns from `column`, in the upper or lower 8 rows
    int i = tCrC.layout()(column / 2 + half * 2, atom);
    VectorC c{};
    if constexpr (WITH_C) {
      c = global_c(i);
    }
    return scaled<WITH_C>(p, tCrC, i, c);
  };
  int lane = threadIdx.x % 32;
  if constexpr (sizeof(T) == 2) {
    auto word = [&](int column, int half) {
      VectorD d = pair(column, half);
      return reinterpret_cast<uint32_t const&>(d);
    };
    int row = lane % 16, unit = lane / 16;  // of this lane's row of 16 bytes
    CUTE_UNROLL
    for (int byte = 0; byte < width; byte += 32) {
      int column = (begin + byte) / 2;
      if (width >= 32) {
        auto* to = shared_ptr_at<uint128_t>(swizzled(row, byte + unit * 16));
        SM90_U32x4_STSM_N::copy(word(column, 0), word(column, 1), word(column + 8, 0), word(column + 8, 1), *to);
      } else {
        auto* to = shared_ptr_at<uint128_t>(swizzled(row, byte));
        SM90_U32x2_STSM_N::copy(word(column, 0), word(column, 1), *to);
      }
    }
  } else {
    constexpr int EIGHT = 8 * int(sizeof(T));  // bytes of the 8 columns that a row of 4 lanes holds
    CUTE_UNROLL
    for (int byte = 0; byte < width; byte += EIGHT) {
      CUTE_UNROLL
      for (int half = 0; half < 2; ++half) {
        VectorD value = pair((begin + byte) / int(sizeof(T)), half);
        *shared_ptr_at<VectorD>(swizzled(lane / 4 + half * 8, byte + lane % 4 * int(sizeof(VectorD)))) = value;
      }
    }
  }
}

// Fragments through each warp's ring of staging buffers to global memory; the bulk copy clips at the edges.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE void store(CutegenParams const& p, CutegenTensorMaps const& maps, int m_begin, int n_begin, uint32_t staging,
                       FragmentC const& tCrC) {
  int thread = threadIdx.x;
  int warp_m = Output::ThrM{}(thread / 32 * 32), warp_n = Output::ThrN{}(thread / 32 * 32);
  uint32_t ring = staging + thread / 32 * Output::SLOTS * Output::SLOT_BYTES;
  GlobalC global_c(p, m_begin + Output::ThrM{}(thread), n_begin + Output::ThrN{}(thread));
  CUTE_UNROLL
  for (int atom = 0; atom < Config::ATOMS_M; ++atom) {
    CUTE_UNROLL
    for (int chunk = 0; chunk < Chunks::COUNT; ++chunk) {
      int index = atom * Chunks::COUNT + chunk;
      uint32_t buffer = ring + index % Output::SLOTS * Output::SLOT_BYTES;
      if (index == 0) {
        if (elect_one_sync()) {
          tma_store_wait<0>();
        }
        __syncwarp();
      } else if (index >= Output::SLOTS) {
        if (elect_one_sync()) {
          tma_store_wait<Output::SLOTS - 1>();
        }
        __syncwarp();
      }
      int begin = Chunks::begin(chunk);
      stage_chunk<WITH_C>(p, global_c, buffer, begin, Chunks::width(chunk), atom, tCrC);
      tma_store_fence();
      __syncwarp();
      if (elect_one_sync()) {
        SM90_TMA_STORE_2D::copy(&maps.d[Chunks::map(chunk)], shared_ptr_at<unsigned char>(buffer),
                                n_begin + warp_n + begin / int(sizeof(Config::ElementD)), m_begin + warp_m + atom * 64);
        tma_store_arrive();
      }
    }
  }
}
//{% endif %}

// Shared memory must stay until the last bulk store has read it.
CUTE_DEVICE void drain() {
  if (elect_one_sync()) {
    tma_store_wait<0>();
  }
  __syncwarp();
}
