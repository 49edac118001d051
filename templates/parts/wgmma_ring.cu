using FullBarrier  = cutlass::arch::ClusterTransactionBarrier;
using EmptyBarrier = cutlass::arch::ClusterBarrier;

// full[s]: the bytes of slot s have arrived. empty[s]: every consumer of slot s has read it.
struct Barriers {
  FullBarrier full[Config::STAGES];
  EmptyBarrier empty[Config::STAGES];
};

// A slot of the ring, and the parity of its barriers' phase.
struct Slot {
  int index = 0;
  uint32_t phase = 0;

  CUTE_DEVICE void advance(int steps = 1) {
    index += steps;
    phase ^= (index / Config::STAGES) & 1;
    index %= Config::STAGES;
  }

  CUTE_DEVICE void next() {
    if (++index == Config::STAGES) {
      index = 0;
      phase ^= 1;
    }
  }
};

// This CTA's place in its cluster: its tile, and its share of K. Of the CTAs with the same share, those of one row
// use the same A, those of one column the same B.
struct Cluster {
  static constexpr int TILES = Config::CLUSTER_M * Config::CLUSTER_N;
  static constexpr int SIZE  = TILES * Config::SPLIT_K;
  int m, n, share;

  CUTE_DEVICE Cluster() {
    int rank = SIZE > 1 ? int(block_rank_in_cluster()) : 0;
    m = rank % Config::CLUSTER_M;
    n = rank / Config::CLUSTER_M % Config::CLUSTER_N;
    share = Config::SPLIT_K > 1 ? rank / TILES : 0;
  }

  CUTE_DEVICE uint16_t row_mask() const {  // bit CLUSTER_M * j of each column j, shifted to this row
    uint32_t mask = 0;
    CUTE_UNROLL
    for (int j = 0; j < Config::CLUSTER_N; ++j) {
      mask |= 1u << (Config::CLUSTER_M * j);
    }
    return uint16_t(mask << (TILES * share + m));
  }

  CUTE_DEVICE uint16_t column_mask() const {
    return uint16_t(((1u << Config::CLUSTER_M) - 1) << (TILES * share + Config::CLUSTER_M * n));
  }

//{% if a_in_registers %}
//{% include "parts/wgmma_release_warps.cu" %}
//{% else %}
//{% include "parts/wgmma_release.cu" %}
//{% endif %}
};

// The output tiles in the order in which clusters take them: groups of them along one mode; inside a group
// that mode runs fastest.
struct Tiles {
  int along, across, count;

  CUTE_DEVICE Tiles(CutegenParams const& p) {
    int m = tiles(p.m, Config::BLK_M * Config::CLUSTER_M), n = tiles(p.n, Config::BLK_N * Config::CLUSTER_N);
    along  = Config::RASTER_ALONG_M ? m : n;
    across = Config::RASTER_ALONG_M ? n : m;
    count  = along * across;
  }

  // The first row and column of this CTA's tile.
  CUTE_DEVICE void at(CutegenParams const& p, int tile, Cluster const& cluster, int& m_begin, int& n_begin) const {
    int group = min(p.group > 0 ? p.group : Config::RASTER_GROUP, along);
    int first = tile / (group * across) * group;
    int width = min(group, along - first);
    int rest  = tile - first * across;
    int x = first + rest % width, y = rest / width;
    m_begin = ((Config::RASTER_ALONG_M ? x : y) * Config::CLUSTER_M + cluster.m) * Config::BLK_M;
    n_begin = ((Config::RASTER_ALONG_M ? y : x) * Config::CLUSTER_N + cluster.n) * Config::BLK_N;
  }
};
