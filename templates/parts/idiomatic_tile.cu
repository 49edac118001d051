// A stride whose one runtime mode is ld.
template <class Stride>
CUTE_DEVICE Stride with_leading_stride(int64_t ld) {
  Stride stride{};
  get<is_constant<1, tuple_element_t<0, Stride>>::value ? 1 : 0>(stride) = ld;
  return stride;
}

// The output tile (m,n) of this CTA: groups of tiles along one mode; inside a group that mode runs
// fastest.
CUTE_DEVICE auto cta_tile(CutegenParams const& p) {
  int tiles_m = ceil_div(uint32_t(p.m), uint32_t(Config::BLK_M));
  int tiles_n = ceil_div(uint32_t(p.n), uint32_t(Config::BLK_N));
  int along   = Config::RASTER_ALONG_M ? tiles_m : tiles_n;
  int across  = Config::RASTER_ALONG_M ? tiles_n : tiles_m;
  int tile    = blockIdx.x;
  int group   = min(p.group > 0 ? p.group : Config::RASTER_GROUP, along);
  int first   = tile / (group * across) * group;
  int width   = min(group, along - first);
  int rest    = tile - first * across;
  int x = first + rest % width, y = rest / width;
  return Config::RASTER_ALONG_M ? make_coord(x, y) : make_coord(y, x);
}
