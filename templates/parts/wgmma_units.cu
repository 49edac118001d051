// What a cluster multiplies between two epilogues: a run of k-tiles of one output tile. The sums of a tile that has
// several units meet in global memory: the last unit's CTAs add those of the `senders` units before, which are in the
// slots before its own. A unit waits for earlier ones alone, and of these each cluster sends before it waits: with all
// CTAs of the grid on the GPU, as a persistent grid has them, some unit can always go on.
struct Unit {
  int tile, first, count;  // k-tiles [first, first + count)
  int slot, senders;
  bool last;               // it has the tile's last k-tile, so it stores
};

// Of each output tile. At least one, so that accumulators are always written.
CUTE_DEVICE int k_tiles_of(CutegenParams const& p) { return max(1, tiles(p.k, Config::BLK_K)); }
