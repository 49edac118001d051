// What a cluster multiplies between two epilogues: a run of k-tiles of one output tile. The sums of a tile that has
// several units meet in global memory: the last unit's CTAs add those of the `senders` units before, which are in the
// slots before its own. All CTAs of the grid are on the GPU at once, as persistent ones are, so waiting ends. More than
// that: a CTA waits only for CTAs before it in the grid, and the first ones for none. Started in order they go on even
// while another kernel keeps the rest of the grid out.
struct Unit {
  int tile, first, count;  // k-tiles [first, first + count)
  int slot, senders;
  bool last;               // it has the tile's last k-tile, so it stores
};

// Of each output tile. At least one, so that accumulators are always written.
CUTE_DEVICE int k_tiles_of(CutegenParams const& p) { return max(1, tiles(p.k, Config::BLK_K)); }
