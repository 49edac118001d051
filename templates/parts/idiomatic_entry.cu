extern "C" __global__ void __launch_bounds__({{ name }}::Config::THREADS, {{ name }}::Config::MIN_BLOCKS)
{{ kernel }}(__grid_constant__ CutegenParams const p) {
  extern __shared__ __align__(128) unsigned char smem[];
  {{ name }}::gemm_device(p, smem);
}
