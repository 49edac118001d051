// The GPU that is emulated, as programs ask for it: properties, attributes, occupancy.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "launch.hpp"
#include "report.hpp"

namespace cge {

namespace {

// "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide, and the SMs of each
// architecture's GPU that is found in servers.
struct Device {
  uint32_t arch, multiprocessors, shared_kib, threads, ctas;
};
constexpr Device kDevices[] = {
    {75, 40, 64, 1024, 16},  {80, 108, 164, 2048, 32}, {86, 84, 100, 1536, 16},   {87, 16, 164, 1536, 16},
    {89, 142, 100, 1536, 24}, {90, 132, 228, 2048, 32}, {100, 148, 228, 2048, 32}, {120, 170, 100, 1536, 24},
};

Device const& device() {
  Device const* best = &kDevices[1];
  for (Device const& d : kDevices) {
    if (d.arch <= device_level) { best = &d; }
  }
  return *best;
}

std::map<void const*, int> opted_in;  // dynamic shared memory that a kernel may ask for

}  // namespace

uint32_t device_multiprocessors() { return options.multiprocessors ? options.multiprocessors : device().multiprocessors; }

uint32_t ctas_per_multiprocessor(uint32_t threads, size_t shared) {
  Device const& d = device();
  uint32_t const kept = device_level < 80 ? 0 : 1024;  // of each CTA, by the driver
  size_t const each = std::max<size_t>(shared + kept, 1);
  uint32_t const warps = (threads + 31) / 32;
  return std::min({d.ctas, d.threads / std::max(32u, warps * 32), uint32_t(d.shared_kib * 1024 / each)});
}

int opted_in_shared(void const* kernel) {
  auto it = opted_in.find(kernel);
  return it == opted_in.end() ? 0 : it->second;
}

}  // namespace cge

using namespace cge;

extern "C" {

cudaError_t cudaGetDevice(int* d) {
  *d = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceCount(int* n) {
  *n = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr what, int) {
  Device const& d = device();
  switch (what) {
    case cudaDevAttrMultiProcessorCount: *value = int(device_multiprocessors()); break;
    case cudaDevAttrComputeCapabilityMajor: *value = int(device_level / 10); break;
    case cudaDevAttrComputeCapabilityMinor: *value = int(device_level % 10); break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 << 10; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = int(options.shared_limit); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = int(d.shared_kib << 10); break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = device_level < 80 ? 0 : 1024; break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = int(d.threads); break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = int(d.ctas); break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = 0x7fffffff; break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    case cudaDevAttrClusterLaunch: *value = device_level >= 90; break;
    case cudaDevAttrClockRate: *value = 1000000; break;
    case cudaDevAttrMemoryClockRate: *value = 1000000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 4096; break;
    case cudaDevAttrL2CacheSize: *value = 50 << 20; break;
    default: *value = 0;
  }
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  Device const& d = device();
  std::memset(static_cast<void*>(p), 0, sizeof *p);
  std::strcpy(p->name, "cutegen emulator");
  p->major = int(device_level / 10);
  p->minor = int(device_level % 10);
  p->multiProcessorCount = int(device_multiprocessors());
  p->warpSize = 32;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 0x7fffffff;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->maxThreadsPerMultiProcessor = int(d.threads);
  p->maxBlocksPerMultiProcessor = int(d.ctas);
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->sharedMemPerBlock = 48 << 10;
  p->sharedMemPerBlockOptin = options.shared_limit;
  p->sharedMemPerMultiprocessor = size_t(d.shared_kib) << 10;
  p->reservedSharedMemPerBlock = device_level < 80 ? 0 : 1024;
  p->totalGlobalMem = size_t(8) << 30;
  p->l2CacheSize = 50 << 20;
  p->memoryBusWidth = 4096;
  p->cooperativeLaunch = p->unifiedAddressing = p->managedMemory = p->concurrentKernels = 1;
  p->clusterLaunch = device_level >= 90;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(void const* kernel, cudaFuncAttribute what, int value) {
  if (what == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || uint32_t(value) > options.shared_limit) {
      Finding f{"shared-limit"};
      f.message = "a kernel asks for " + std::to_string(value) + " bytes of dynamic shared memory; sm_" +
                  std::to_string(device_level) + " allows " + std::to_string(options.shared_limit);
      report(std::move(f));
      return cudaErrorInvalidValue;
    }
    opted_in[kernel] = value;
  }
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void const* kernel) {
  std::memset(static_cast<void*>(attributes), 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 128;
  attributes->maxDynamicSharedSizeBytes = std::max(48 << 10, opted_in_shared(kernel));
  attributes->binaryVersion = attributes->ptxVersion = int(device_level);
  return cudaSuccess;
}
cudaError_t cudaFuncSetCacheConfig(void const*, cudaFuncCache) { return cudaSuccess; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* count, void const*, int threads, size_t shared,
                                                                   unsigned) {
  *count = int(ctas_per_multiprocessor(uint32_t(threads), shared));
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count, void const* kernel, int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, kernel, threads, shared, 0);
}
cudaError_t cudaOccupancyMaxActiveClusters(int* count, void const*, cudaLaunchConfig_t const* config) {
  uint32_t cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != cudaLaunchAttributeClusterDimension) { continue; }
    auto const& c = config->attrs[i].val.clusterDim;
    cluster = c.x * c.y * c.z;
  }
  uint32_t const threads = config->blockDim.x * config->blockDim.y * config->blockDim.z;
  *count = int(device_multiprocessors() * ctas_per_multiprocessor(threads, config->dynamicSmemBytes) / cluster);
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, void const*, cudaLaunchConfig_t const*) {
  *size = device_level >= 90 ? 16 : 1;
  return cudaSuccess;
}
cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, void const*, int blocks, int) {
  *bytes = std::min<size_t>(options.shared_limit, size_t(device().shared_kib) * 1024 / size_t(std::max(blocks, 1)) - 1024);
  return cudaSuccess;
}

}  // extern "C"
