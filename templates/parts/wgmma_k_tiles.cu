// The k-tiles of this CTA. At least one, so that accumulators are always written: one outside the matrices arrives
// as zeros.
struct KTiles {
  int first, count;

  CUTE_DEVICE KTiles(CutegenParams const& p, Cluster const& cluster) {
    int all = tiles(p.k, Config::BLK_K);
    first = cluster.share * all / Config::SPLIT_K;
    count = (cluster.share + 1) * all / Config::SPLIT_K - first;
    if (count == 0) {
      first = max(1, all);
      count = 1;
    }
  }
};
