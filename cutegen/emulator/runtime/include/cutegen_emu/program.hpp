// For files that are run as programs, or whose kernels take arguments of their own.
#pragma once

#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cutegen_emu/ptx.hpp"

namespace cge {

// An argument in a 16-byte slot: numbers come as int64 and as double, other things as their bytes.
template <int Given, class T>
std::remove_cv_t<std::remove_reference_t<T>> argument(void const* slot) {
  using V = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (Given == 0 && std::is_floating_point_v<V>) {
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

// What a launch passes for a parameter: kArray, kNull, kNumber, or how many bytes. `Index` is for messages.
constexpr int kArray = -1, kNull = -2, kNumber = 0;

template <int Index, int Given, class T>
struct Passed {
  using V = std::remove_cv_t<std::remove_reference_t<T>>;
  static constexpr bool pointer = std::is_pointer_v<V>;
  static constexpr bool number = std::is_arithmetic_v<V> || std::is_enum_v<V>;
  static_assert(Given != kArray || pointer, "launch: an array is passed for a parameter that is no pointer");
  static_assert(Given != kNull || pointer, "launch: a null pointer is passed for a parameter that is no pointer");
  static_assert(Given != kNumber || !pointer, "launch: a number is passed for a parameter that is a pointer");
  static_assert(Given != kNumber || pointer || number,
                "launch: a number is passed for a parameter of a class type; give it a dtype, or bytes");
  static_assert(Given <= 0 || int(sizeof(V)) == Given, "launch: a value of another size than the parameter is passed");
  static constexpr bool ok = true;
};

template <int... Given, class... A, size_t... I>
void call_with(void (*kernel)(A...), void** slots, std::index_sequence<I...>) {
  static_assert((Passed<int(I), Given, A>::ok && ...));
  kernel(argument<Given, A>(slots[I])...);
}
template <int... Given, class... A>
void call(void (*kernel)(A...), void** slots) {
  static_assert(sizeof...(Given) == sizeof...(A), "launch: the kernel has more or fewer parameters than are passed");
  if constexpr (sizeof...(Given) == sizeof...(A)) {
    call_with<Given...>(kernel, slots, std::index_sequence_for<A...>{});
  }
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
