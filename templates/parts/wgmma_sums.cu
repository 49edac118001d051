// A flag in global memory. What a thread has done and seen before it sets one is seen by who finds it set.
CUTE_DEVICE void set_flag(uint32_t* flag) {
  asm volatile("st.release.gpu.b32 [%0], %1;" :: "l"(flag), "r"(1) : "memory");
}

CUTE_DEVICE bool is_set(uint32_t const* flag) {
  uint32_t x;
  asm volatile("ld.acquire.gpu.b32 %0, [%1];" : "=r"(x) : "l"(flag) : "memory");
  return x != 0;
}

// Sums over the units of a tile, through slots in global memory. A warp sends to the same warp of the CTA that stores,
// and has a flag of its own: no two warps wait for each other. The slots' order is that of k-tiles, so sums are the
// same every time. Who has found a flag clears it for the next launch: each slot is used once in a launch.
struct Partials {
  static constexpr int WORDS  = size(Config::FragmentC{}) * int(sizeof(Config::Accumulator)) / 4;  // of a thread
  static constexpr int VECTOR = WORDS % 4 == 0 ? 4 : 2;
  static constexpr int VALUES = VECTOR * 4 / int(sizeof(Config::Accumulator));
  static constexpr int WARPS  = (Config::PINGPONG ? 1 : Config::CONSUMERS) * 4;  // that have a tile's accumulators
  static constexpr int WARP_BYTES = WORDS * 4 * 32;                              // vectors by lanes
  static constexpr int BATCH  = WORDS > 160 ? 1 : 8;  // vectors that a thread loads at once; more would spill
  using Values = Vector<Config::Accumulator, VALUES>;

  unsigned char* sums;
  uint32_t* flags;
  int rank, warp, lane;

  CUTE_DEVICE static void init(Barriers&) {}

  CUTE_DEVICE Partials(CutegenTensorMaps const& maps, Cluster const& cluster)
      : sums(maps.sums),
        flags(maps.flags),
        rank(cluster.n * Config::CLUSTER_M + cluster.m),
        warp(int(threadIdx.x) / 32 % WARPS),
        lane(int(threadIdx.x) % 32) {}

  CUTE_DEVICE int64_t index(int slot) const { return (int64_t(slot) * Cluster::TILES + rank) * WARPS + warp; }

  CUTE_DEVICE Values* values(int64_t index) const {
    return reinterpret_cast<Values*>(sums + index * WARP_BYTES) + lane;
  }

  // Whether this CTA has the sum now.
  template <class FragmentC>
  CUTE_DEVICE bool sum(Unit const& unit, FragmentC& tCrC) const {
    if (!unit.last) {
      send(unit.slot, tCrC);
    }
    #pragma unroll 1
    for (int slot = unit.slot - unit.senders; slot < unit.slot; ++slot) {
      receive(slot, tCrC);
    }
    return unit.last;
  }

  template <class FragmentC>
  CUTE_DEVICE void send(int slot, FragmentC const& tCrC) const {
    Values* to = values(index(slot));
    CUTE_UNROLL
    for (int i = 0; i < size(tCrC); i += VALUES) {
      Values x;
      CUTE_UNROLL
      for (int j = 0; j < VALUES; ++j) {
        x.value[j] = tCrC(i + j);
      }
      to[i / VALUES * 32] = x;
    }
    __syncwarp();  // all lanes have stored
    if (lane == 0) {
      set_flag(flags + index(slot));
    }
  }

  template <class FragmentC>
  CUTE_DEVICE void receive(int slot, FragmentC& tCrC) const {
    uint32_t* flag = flags + index(slot);
    if (lane == 0) {
      while (!is_set(flag)) {
      }
      *flag = 0;
    }
    __syncwarp();  // what one lane has seen, all have
    Values const* from = values(index(slot));
    CUTE_UNROLL
    for (int i = 0; i < size(tCrC); i += VALUES) {
      Values x = from[i / VALUES * 32];
      CUTE_UNROLL
      for (int j = 0; j < VALUES; ++j) {
        tCrC(i + j) = tCrC(i + j) + x.value[j];
      }
      if (i / VALUES % BATCH == BATCH - 1) {
        __syncwarp();  // keeps ptxas from starting all loads at once, which would spill
      }
    }
  }
};
