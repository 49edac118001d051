// For files that are run as programs, or whose kernels take arguments of their own.
#pragma once

#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cutegen_emu/ptx.hpp"

namespace cge {

// An argument in a 16-byte slot: numbers come as int64 and as double.
template <class T>
std::remove_cv_t<std::remove_reference_t<T>> argument(void const* slot) {
  using V = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_floating_point_v<V>) {
    double d;
    std::memcpy(&d, static_cast<char const*>(slot) + 8, 8);
    return V(d);
  } else {
    static_assert(sizeof(V) <= 16, "such an argument cannot be passed; give the file its own main");
    V v;
    std::memcpy(static_cast<void*>(&v), slot, sizeof(V));
    return v;
  }
}

template <class... A, size_t... I>
void call_with(void (*kernel)(A...), void** slots, std::index_sequence<I...>) {
  kernel(argument<A>(slots[I])...);
}
template <class... A>
void call(void (*kernel)(A...), void** slots) {
  call_with(kernel, slots, std::index_sequence_for<A...>{});
}

// cudaLaunchKernelEx with typed arguments.
template <class... E, class... A>
cudaError_t launch_ex(cudaLaunchConfig_t const* config, void (*kernel)(E...), A... arguments) {
  dim3 cluster(1, 1, 1);
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) {
      auto const& d = config->attrs[i].val.clusterDim;
      cluster = dim3(d.x, d.y, d.z);
    }
  }
  auto body = [&] { kernel(arguments...); };
  launch_raw(config->gridDim, config->blockDim, config->dynamicSmemBytes, cluster,
             [](void* p) { (*static_cast<decltype(body)*>(p))(); }, &body);
  return cudaSuccess;
}

// A kernel whose type was lost on the way; its parameters have the arguments' decayed types.
template <class... A>
cudaError_t launch_erased(dim3 grid, dim3 block, size_t shared, dim3 cluster, void const* kernel, A&&... arguments) {
  auto* typed = reinterpret_cast<void (*)(std::decay_t<A>...)>(const_cast<void*>(kernel));
  auto body = [&] { typed(arguments...); };
  launch_raw(grid, block, shared, cluster, [](void* p) { (*static_cast<decltype(body)*>(p))(); }, &body);
  return cudaSuccess;
}

}  // namespace cge

template <class R, class... A>
inline cudaError_t cudaFuncSetAttribute(R (*)(A...), cudaFuncAttribute, int) {
  return cudaSuccess;
}
template <class R, class... A>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count, R (*)(A...), int, size_t) {
  *count = 1;
  return cudaSuccess;
}
#define cudaLaunchKernelEx ::cge::launch_ex
