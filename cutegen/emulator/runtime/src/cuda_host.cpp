// The part of the CUDA runtime that small host programs use. Launches are synchronous, so streams and events
// have nothing to do.
#include <cuda_runtime.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "launch.hpp"
#include "memory.hpp"
#include "report.hpp"

namespace {

std::map<void*, size_t> allocations;
uintptr_t next_allocation = cge::kGlobalWindow + (uintptr_t(1) << 40);
int allocated = 0;
std::map<void*, std::chrono::steady_clock::time_point> events;
cudaError_t last_error = cudaSuccess;

// What a program leaves in its memory, for those who want to look at it afterwards.
void dump(void* p) {
  if (cge::dump_directory.empty()) { return; }
  for (cge::Buffer const& b : cge::buffers) {
    if (b.begin != p) { continue; }
    std::string const number = b.name.substr(b.name.rfind(' ') + 1);
    std::FILE* file = std::fopen((cge::dump_directory + "/" + number + ".bin").c_str(), "wb");
    if (!file) { return; }
    std::fwrite(b.begin, 1, b.bytes, file);
    std::fclose(file);
  }
}

}  // namespace

std::string cge::dump_directory;

void cge::dump_allocations() {
  for (auto const& [p, bytes] : allocations) { dump(p); }
}

extern "C" {

cudaError_t cudaMalloc(void** p, size_t bytes) {
  size_t const size = (bytes + 4095) / 4096 * 4096 + 4096;
  void* at = reinterpret_cast<void*>(next_allocation);
  // Workers share it, and what lies behind it is never mapped.
  void* got = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (got == MAP_FAILED) { return last_error = cudaErrorMemoryAllocation; }
  next_allocation += (size + (size_t(64) << 20)) / (size_t(1) << 20) * (size_t(1) << 20);
  allocations[got] = size;
  cge::Buffer b;
  b.name = "allocation " + std::to_string(allocated++);
  b.begin = static_cast<char*>(got);
  b.bytes = bytes;
  b.writable = true;
  cge::add_buffer(b);
  *p = got;
  return cudaSuccess;
}

cudaError_t cudaFree(void* p) {
  auto it = allocations.find(p);
  if (it == allocations.end()) { return p ? last_error = cudaErrorInvalidValue : cudaSuccess; }
  dump(p);
  cge::remove_buffer(static_cast<char*>(p));
  munmap(p, it->second);
  allocations.erase(it);
  return cudaSuccess;
}

cudaError_t cudaMallocManaged(void** p, size_t bytes, unsigned) { return cudaMalloc(p, bytes); }
cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t) { return cudaMalloc(p, bytes); }
cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
cudaError_t cudaMallocHost(void** p, size_t bytes) {
  *p = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* p) {
  std::free(p);
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, void const* from, size_t bytes, cudaMemcpyKind) {
  if (bytes) { std::memcpy(to, from, bytes); }
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, void const* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (bytes) { std::memset(to, value, bytes); }
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) { return cudaMemset(to, value, bytes); }

cudaError_t cudaDeviceSynchronize() { return cge::control->failed ? last_error = cudaErrorLaunchFailure : cudaSuccess; }
cudaError_t cudaGetLastError() {
  cudaError_t const e = cge::control->failed ? cudaErrorLaunchFailure : last_error;
  last_error = cudaSuccess;
  return e;
}
cudaError_t cudaPeekAtLastError() { return last_error; }
char const* cudaGetErrorString(cudaError_t e) { return e == cudaSuccess ? "no error" : "failed in the emulator"; }
char const* cudaGetErrorName(cudaError_t e) { return e == cudaSuccess ? "cudaSuccess" : "cudaError"; }

cudaError_t cudaStreamCreate(cudaStream_t* s) {
  *s = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return cudaStreamCreate(s); }
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaDeviceSynchronize(); }

cudaError_t cudaEventCreate(cudaEvent_t* e) {
  *e = static_cast<cudaEvent_t>(std::malloc(1));
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return cudaEventCreate(e); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  events.erase(e);
  std::free(e);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t) {
  events[e] = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
  *ms = std::chrono::duration<float, std::milli>(events[b] - events[a]).count();
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* available, size_t* total) {
  *available = *total = size_t(8) << 30;
  return cudaSuccess;
}
cudaError_t cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* v) {
  *v = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* v) { return cudaDriverGetVersion(v); }

}  // extern "C"
