// Kernels whose source has host code that makes their parameters and their grid; templates/parts/collective_launch.cu
// has the same structs.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include "launch.hpp"

namespace cge {

namespace {

struct Machine {
  int32_t multiprocessors, clusters;
};
struct Prepared {
  alignas(128) unsigned char parameters[4096];
  uint64_t workspace_bytes;
  uint32_t grid[3];
};
using Prepare = bool (*)(void const* problem, Machine const*, void* workspace, cudaStream_t, Prepared*);

}  // namespace

char const* run_prepared(void* prepare, void* kernel, void const* problem, Launch const& launch) {
  auto const make = reinterpret_cast<Prepare>(prepare);
  dim3 const cluster = launch.cluster;
  uint32_t const size = cluster.x * cluster.y * cluster.z;
  Machine const machine{int32_t(options.multiprocessors), int32_t(options.multiprocessors / size)};
  Prepared prepared{};
  if (!make(problem, &machine, nullptr, nullptr, &prepared)) { return "host code does not take the problem"; }
  void* workspace = nullptr;
  if (prepared.workspace_bytes) {
    if (cudaMalloc(&workspace, prepared.workspace_bytes) != cudaSuccess) { return "no memory for a workspace"; }
    if (!make(problem, &machine, workspace, nullptr, &prepared)) { return "host code does not make a workspace ready"; }
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {cluster.x, cluster.y, cluster.z};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(prepared.grid[0], prepared.grid[1], prepared.grid[2]);
  config.blockDim = launch.block;
  config.dynamicSmemBytes = launch.dynamic_shared;
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* arguments[] = {prepared.parameters};
  cudaLaunchKernelExC(&config, kernel, arguments);  // what fails is reported
  cudaFree(workspace);
  return nullptr;
}

}  // namespace cge
