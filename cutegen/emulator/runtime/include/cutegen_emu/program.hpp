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
cudaError_t launch_configured(cudaLaunchConfig_t const* config, void (*body)(void*), void* context);
template <class... E, class... A>
cudaError_t launch_ex(cudaLaunchConfig_t const* config, void (*kernel)(E...), A&&... arguments) {
  auto body = [&] { kernel(arguments...); };
  return launch_configured(config, [](void* p) { (*static_cast<decltype(body)*>(p))(); }, &body);
}

// Tells the runtime how to call a kernel whose arguments come as void**. A kernel's body names its own enrolment,
// which is initialised when the program is loaded.
void enrol(void const* kernel, void (*call)(void const* kernel, void** arguments));

template <class... A, size_t... I>
void call_erased(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  kernel(*static_cast<std::remove_reference_t<A>*>(arguments[I])...);
}
template <class... A>
bool enrol_typed(void (*kernel)(A...)) {
  enrol(reinterpret_cast<void const*>(kernel), [](void const* p, void** arguments) {
    auto* typed = reinterpret_cast<void (*)(A...)>(const_cast<void*>(p));
    call_erased(typed, arguments, std::index_sequence_for<A...>{});
  });
  return true;
}
template <auto kernel>
struct Enrolment {
  static inline bool const done = enrol_typed(kernel);
};
template <auto kernel>
inline void enrolled() {
  (void)&Enrolment<kernel>::done;
}

}  // namespace cge

// CUDA's headers have these for nvcc only: the kernel by its type.
template <class R, class... A>
inline cudaError_t cudaFuncSetAttribute(R (*kernel)(A...), cudaFuncAttribute what, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<void const*>(kernel), what, value);
}
template <class R, class... A>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, R (*kernel)(A...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<void const*>(kernel));
}
template <class R, class... A>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* count, R (*kernel)(A...), int threads,
                                                                 size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(count, reinterpret_cast<void const*>(kernel), threads, shared);
}
template <class R, class... A>
inline cudaError_t cudaOccupancyMaxActiveClusters(int* count, R (*kernel)(A...), cudaLaunchConfig_t const* config) {
  return cudaOccupancyMaxActiveClusters(count, reinterpret_cast<void const*>(kernel), config);
}
template <class R, class... A>
inline cudaError_t cudaLaunchKernel(R (*kernel)(A...), dim3 grid, dim3 block, void** arguments, size_t shared = 0,
                                    cudaStream_t stream = nullptr) {
  return cudaLaunchKernel(reinterpret_cast<void const*>(kernel), grid, block, arguments, shared, stream);
}
template <class R, class... A>
inline cudaError_t cudaLaunchCooperativeKernel(R (*kernel)(A...), dim3 grid, dim3 block, void** arguments,
                                               size_t shared = 0, cudaStream_t stream = nullptr) {
  return cudaLaunchCooperativeKernel(reinterpret_cast<void const*>(kernel), grid, block, arguments, shared, stream);
}
#define cudaLaunchKernelEx ::cge::launch_ex
