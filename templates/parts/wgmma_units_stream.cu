// Stream-K: of the tiles that do not fill whole waves, and of one wave more, all k-tiles in a row are divided evenly
// among the clusters. Each walks its share from the end to the begin, so that the sums it must send are the first that
// it has; then it takes whole tiles. Its only sums to send are in the slot of its own number.
struct Units {
  static constexpr int LEAST = 4;  // k-tiles of a share: fewer are not worth the way through global memory
  static constexpr int MOST  = 8;  // shares for each tile: their sums are added one after the other

  int k_tiles, count, step, cluster;
  int begin_tile, begin, senders;  // where the share begins, and how many have the begin of that tile
  int tile, end;                   // of the next unit; 0: it is a whole tile
  int whole;                       // the first of these

  CUTE_DEVICE Units(CutegenParams const& p, Tiles const& order, int first, int step)
      : k_tiles(k_tiles_of(p)), count(order.count), step(step), cluster(first), begin_tile(0), begin(0), senders(0) {
    int rest = count % step;
    int shared = rest == 0 ? 0 : min(count, rest + step);
    int64_t all = int64_t(shared) * k_tiles;
    int shares = int(min(int64_t(step), max(int64_t(shared), min(all / LEAST, int64_t(shared) * MOST))));
    whole = shared + first;
    tile  = whole;
    end   = 0;
    if (first < shares) {
      int64_t from = first * all / shares, last = (first + 1) * all / shares - 1;
      begin_tile = int(from / k_tiles);
      begin      = int(from % k_tiles);
      tile       = int(last / k_tiles);
      end        = int(last % k_tiles) + 1;
      senders    = first - int(((from - begin + 1) * shares - 1) / all);  // from the one with the tile's first k-tile
    }
  }

  // Whether there is one more.
  CUTE_DEVICE bool next(Unit& unit) {
    if (end > 0) {
      bool at_begin = tile == begin_tile;
      unit.tile    = tile;
      unit.first   = at_begin ? begin : 0;
      unit.count   = end - unit.first;
      unit.slot    = cluster;
      unit.last    = end == k_tiles;
      unit.senders = unit.last && at_begin ? senders : 0;
      tile = at_begin ? whole : tile - 1;
      end  = at_begin ? 0 : k_tiles;
      return true;
    }
    if (tile < count) {
      unit = {tile, 0, k_tiles, 0, 0, true};
      tile += step;
      return true;
    }
    return false;
  }
};
