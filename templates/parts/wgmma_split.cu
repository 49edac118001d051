// arrived[w], in the CTA with the first share of K: the others' sums for its warpgroup w are there.
// taken[w], in the others: what they sent before has been read.
struct PartialBarriers {
  FullBarrier arrived[Config::CONSUMERS];
  EmptyBarrier taken[Config::CONSUMERS];
};

// To shared memory of another CTA, asynchronously; the bytes count at a barrier there.
CUTE_DEVICE void store_async(uint32_t to, uint32_t barrier, uint32_t const (&x)[2]) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];"
               :: "r"(to), "r"(x[0]), "r"(x[1]), "r"(barrier) : "memory");
}

CUTE_DEVICE void store_async(uint32_t to, uint32_t barrier, uint32_t const (&x)[4]) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
               :: "r"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(barrier) : "memory");
}

// Sums over the CTAs that share a tile's k-tiles. The first adds what the others send, in their order, and stores.
struct Partials {
  static constexpr int SENDERS = Config::SPLIT_K - 1;
  static constexpr int WORDS   = size(Config::FragmentC{}) * int(sizeof(Config::Accumulator)) / 4;  // of a thread
  static constexpr int VECTOR  = WORDS % 4 == 0 ? 4 : 2;
  static constexpr int SENDER_BYTES = WORDS * 4 * 128;  // from one warpgroup: vectors by threads
  static constexpr int WARPS = 4;

  int share, first_rank;
  uint32_t buffer;
  FullBarrier& arrived;
  EmptyBarrier& taken;
  uint32_t phase = 0;

  CUTE_DEVICE static PartialBarriers& barriers_behind(Barriers& barriers) {
    return *reinterpret_cast<PartialBarriers*>(&barriers + 1);
  }

  CUTE_DEVICE static void init(Barriers& ring) {
    PartialBarriers& barriers = barriers_behind(ring);
    CUTE_UNROLL
    for (int w = 0; w < Config::CONSUMERS; ++w) {
      barriers.arrived[w].init(1);
      barriers.taken[w].init(WARPS);
    }
  }

  CUTE_DEVICE Partials(Cluster const& cluster, Barriers& ring, uint32_t smem, int warpgroup)
      : share(cluster.share),
        first_rank(cluster.n * Config::CLUSTER_M + cluster.m),
        buffer(smem + Config::PARTIAL_OFFSET + warpgroup * SENDERS * SENDER_BYTES + threadIdx.x % 128 * VECTOR * 4),
        arrived(barriers_behind(ring).arrived[warpgroup]),
        taken(barriers_behind(ring).taken[warpgroup]) {}

  // Whether this CTA has the sum now.
  template <class FragmentC>
  CUTE_DEVICE bool sum(FragmentC& tCrC) {
    if (share > 0) {
      send(tCrC);
    } else {
      receive(tCrC);
    }
    phase ^= 1;
    return share == 0;
  }

  template <class FragmentC>
  CUTE_DEVICE void send(FragmentC const& tCrC) const {
    auto words = recast<uint32_t>(tCrC);
    uint32_t to = set_block_rank(buffer + (share - 1) * SENDER_BYTES, first_rank);
    uint32_t barrier = set_block_rank(cast_smem_ptr_to_uint(&arrived), first_rank);
    taken.wait(phase ^ 1);
    CUTE_UNROLL
    for (int i = 0; i < WORDS; i += VECTOR) {
      uint32_t x[VECTOR];
      CUTE_UNROLL
      for (int j = 0; j < VECTOR; ++j) {
        x[j] = words(i + j);
      }
      store_async(to + i * 4 * 128, barrier, x);
    }
  }

  template <class FragmentC>
  CUTE_DEVICE void receive(FragmentC& tCrC) const {
    constexpr int VALUES = VECTOR * 4 / int(sizeof(Config::Accumulator));
    using Values = Vector<Config::Accumulator, VALUES>;
    if (threadIdx.x % 128 == 0) {
      arrived.arrive_and_expect_tx(SENDERS * SENDER_BYTES);
    }
    arrived.wait(phase);
    CUTE_UNROLL
    for (int sender = 0; sender < SENDERS; ++sender) {
      CUTE_UNROLL
      for (int i = 0; i < size(tCrC); i += VALUES) {
        int word = i / VALUES * VECTOR;
        Values x = *shared_ptr_at<Values const>(buffer + sender * SENDER_BYTES + word * 4 * 128);
        CUTE_UNROLL
        for (int j = 0; j < VALUES; ++j) {
          tCrC(i + j) = tCrC(i + j) + x.value[j];
        }
      }
    }
    __syncwarp();
    int lane = threadIdx.x % 32;
    taken.arrive(first_rank + (lane + 1) * Cluster::TILES, lane < SENDERS);
  }
};
