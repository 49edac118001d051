extern "C" __global__ void __launch_bounds__({{ name }}::Config::THREADS, {{ name }}::Config::MIN_BLOCKS)
{{ kernel }}(__grid_constant__ CutegenParams const p) {
  using namespace {{ name }};
  extern __shared__ __align__({{ name }}::Config::SMEM_ALIGN) unsigned char dynamic_smem[];
  uint32_t smem = cute::cast_smem_ptr_to_uint(dynamic_smem);

  // Raster: groups of tiles along one mode; inside a group that mode runs fastest.
  int tiles_m = tiles(p.m, Config::BLK_M), tiles_n = tiles(p.n, Config::BLK_N);
  int along   = Config::RASTER_ALONG_M ? tiles_m : tiles_n;
  int across  = Config::RASTER_ALONG_M ? tiles_n : tiles_m;
  int tile    = blockIdx.x;
  int group   = min(p.group > 0 ? p.group : Config::RASTER_GROUP, along);
  int first   = tile / (group * across) * group;
  int width   = min(group, along - first);
  int rest    = tile - first * across;
  int x = first + rest % width, y = rest / width;
  int m_begin = (Config::RASTER_ALONG_M ? x : y) * Config::BLK_M;
  int n_begin = (Config::RASTER_ALONG_M ? y : x) * Config::BLK_N;

  auto tCrC = cute::make_tensor<Config::Accumulator>(Config::FragmentC{});  // (MMA,MMA_M,MMA_N)
  zero(tCrC);
  mainloop(p, m_begin, n_begin, smem, tCrC);
  if (p.beta != 0) {
    store<true>(p, m_begin, n_begin, smem, tCrC);
  } else {
    store<false>(p, m_begin, n_begin, smem, tCrC);
  }
}
