// Stream-K: of the tiles that do not fill whole waves, and of one wave more, all k-tiles in a row are divided evenly
// among the clusters. Each walks its share from the end to the begin, so that the sums it must send are the first that
// it has; then it takes whole tiles. Its only sums to send are in the slot of its own number.
struct Units {
  static constexpr int LEAST = 4;  // k-tiles of a share: fewer are not worth the way through global memory
  static constexpr int MOST  = 8;  // shares for each tile: their sums are added one after the other

  int k_tiles, whole, count, step;
  int worker, workers;
  int64_t begin, end, all;  // k-tiles of the row: this cluster's that are left, and of all clusters

  CUTE_DEVICE Units(CutegenParams const& p, Tiles const& order, int first, int step)
      : k_tiles(k_tiles_of(p)), count(order.count), step(step), worker(first) {
    int rest = count % step;
    int shared = rest == 0 ? 0 : min(count, rest + step);
    all     = int64_t(shared) * k_tiles;
    workers = int(min(int64_t(step), max(int64_t(shared), min(all / LEAST, int64_t(shared) * MOST))));
    begin   = worker < workers ? worker * all / workers : 0;
    end     = worker < workers ? (worker + 1) * all / workers : 0;
    whole   = shared + worker;
  }

  // Whose share has this k-tile of the row.
  CUTE_DEVICE int owner(int64_t k_tile) const { return int(((k_tile + 1) * workers - 1) / all); }

  // Whether there is one more.
  CUTE_DEVICE bool next(Unit& unit) {
    if (begin < end) {
      unit.tile = int((end - 1) / k_tiles);
      int64_t tile_begin = int64_t(unit.tile) * k_tiles;
      unit.first   = int(max(begin, tile_begin) - tile_begin);
      unit.count   = int(end - tile_begin) - unit.first;
      unit.slot    = worker;
      unit.last    = unit.first + unit.count == k_tiles;
      unit.senders = unit.last && unit.first > 0 ? worker - owner(tile_begin) : 0;
      end = tile_begin + unit.first;
      return true;
    }
    if (whole < count) {
      unit = {whole, 0, k_tiles, 0, 0, true};
      whole += step;
      return true;
    }
    return false;
  }
};
