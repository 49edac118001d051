// Split K: the k-tiles of each tile in as many shares, one after the other, as there are k-tiles for.
struct Units {
  int k_tiles, shares, now, count, step;

  CUTE_DEVICE Units(CutegenParams const& p, Tiles const& order, int first, int step)
      : k_tiles(k_tiles_of(p)), shares(min(Config::SHARES, k_tiles)), now(first), count(order.count * shares), step(step) {
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
