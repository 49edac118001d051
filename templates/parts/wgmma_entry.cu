//{% if cluster_m * cluster_n * split_k > 1 %}
extern "C" __global__ void __cluster_dims__({{ name }}::Cluster::SIZE, 1, 1)
__launch_bounds__({{ name }}::Config::THREADS, 1)
//{% else %}
extern "C" __global__ void __launch_bounds__({{ name }}::Config::THREADS, 1)
//{% endif %}
//{% if swap_ab %}
{{ kernel }}(__grid_constant__ CutegenParams const given, __grid_constant__ CutegenTensorMaps const maps) {
  using namespace {{ name }};
  CutegenParams const p = transposed(given);
//{% else %}
{{ kernel }}(__grid_constant__ CutegenParams const p, __grid_constant__ CutegenTensorMaps const maps) {
  using namespace {{ name }};
//{% endif %}
  extern __shared__ __align__(1024) unsigned char dynamic_smem[];
  auto& barriers = *reinterpret_cast<Barriers*>(dynamic_smem + Config::BARRIER_OFFSET);
  Cluster cluster;
  Tiles order(p);

  int warpgroup = __shfl_sync(0xffffffff, int(threadIdx.x) / 128, 0);  // the same in all lanes, and known to be
  if (threadIdx.x == 0) {
//{% if a_in_registers %}
    constexpr int GROUPS  = (Config::CLUSTER_M + Config::CLUSTER_N - 1) * (Config::PINGPONG ? 1 : Config::CONSUMERS);
    constexpr int READERS = 4 * GROUPS;  // warps
//{% else %}
    constexpr int READERS = (Config::CLUSTER_M + Config::CLUSTER_N - 1) * (Config::PINGPONG ? 1 : Config::CONSUMERS);
//{% endif %}
    CUTE_UNROLL
    for (int s = 0; s < Config::STAGES; ++s) {
      barriers.full[s].init(Config::PRODUCERS);
      barriers.empty[s].init(READERS);
    }
    Partials::init(barriers);
    cutlass::arch::fence_barrier_init();
    prefetch_tma_descriptor(&maps.a);
    prefetch_tma_descriptor(&maps.b);
  }
  if constexpr (Cluster::SIZE > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }

  int first = blockIdx.x / Cluster::SIZE, step = gridDim.x / Cluster::SIZE;
  if (warpgroup == Config::CONSUMERS) {
    cutlass::arch::warpgroup_reg_dealloc<Config::PRODUCER_REGISTERS>();
    int warp = threadIdx.x % 128 / 32;
    if (warp < Config::PRODUCERS && elect_one_sync()) {
      produce(p, maps, order, cluster, dynamic_smem, barriers, first, step, warp);
    }
    __syncwarp();
  } else {
    cutlass::arch::warpgroup_reg_alloc<Config::CONSUMER_REGISTERS>();
    consume(p, maps, order, cluster, cast_smem_ptr_to_uint(dynamic_smem), barriers, warpgroup, first, step);
    drain();
  }
  if constexpr (Cluster::SIZE > 1) {
    cluster_sync();  // a peer may still write here, or wait for an arrival from here
  }
}
