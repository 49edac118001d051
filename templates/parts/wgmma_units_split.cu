// Split K: the k-tiles of each tile in as many shares, one after the other, as there are k-tiles and clusters for. All
// shares of a tile fall to neighbouring clusters in the same turn: up to shares - 1 clusters may have nothing to do.
struct Units {
  int k_tiles, shares, now, count, step;

  CUTE_DEVICE Units(CutegenParams const& p, Tiles const& order, int first, int step)
      : k_tiles(k_tiles_of(p)), shares(min(min(Config::SHARES, k_tiles), step)) {
    this->step = step / shares * shares;
    count = order.count * shares;
    now   = first < this->step ? first : count;
  }

  // Whether there is one more.
  CUTE_DEVICE bool next(Unit& unit) {
    if (now >= count) {
      return false;
    }
    int share = now % shares;
    unit.tile    = now / shares;
    unit.first   = int(int64_t(share) * k_tiles / shares);
    unit.count   = int(int64_t(share + 1) * k_tiles / shares) - unit.first;
    unit.slot    = unit.tile * (shares - 1) + share;
    unit.last    = share == shares - 1;
    unit.senders = unit.last ? share : 0;
    now += step;
    return true;
  }
};
