extern "C" __global__ void __cluster_dims__({{ cluster_m }}, {{ cluster_n }}, 1)
__launch_bounds__({{ name }}::Gemm::MaxThreadsPerBlock, {{ name }}::Gemm::MinBlocksPerMultiprocessor)
{{ kernel }}(__grid_constant__ {{ name }}::Gemm::Params const params) {
  using namespace {{ name }};
  extern __shared__ char dynamic_smem[];
  Gemm gemm;
  gemm(params, dynamic_smem);
}

// On the host: the kernel's parameters and grid for a problem with M, N and K above 0. Without a workspace it tells
// how much of it the launch needs; a workspace is made ready on the stream. See prepare for the result.
extern "C" bool {{ name }}_prepare(CutegenParams const* p, CutegenMachine const* machine, void* workspace,
                                   cudaStream_t stream, CutegenPrepared* out) {
  return {{ name }}::prepare(*p, *machine, workspace, stream, *out);
}
