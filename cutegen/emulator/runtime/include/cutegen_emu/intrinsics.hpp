// CUDA's device functions that have no host form in CUDA's own headers.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "cutegen_emu/ptx.hpp"

inline void __syncthreads() { cge::bar_sync(0, 0); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { cge::warp_sync(mask); }
inline void __threadfence() { cge::fence(cge::Scope::device); }
inline void __threadfence_block() { cge::fence(cge::Scope::block); }
inline void __threadfence_system() { cge::fence(cge::Scope::device); }
inline int __syncthreads_count(int p) { return int(cge::bar_reduce(0, 0, 0, p != 0)); }
inline int __syncthreads_and(int p) { return cge::bar_reduce(0, 0, 1, p != 0) != 0; }
inline int __syncthreads_or(int p) { return cge::bar_reduce(0, 0, 2, p != 0) != 0; }
inline void __brkpt() { cge::trap("brkpt"); }
inline void __trap() { cge::trap("trap"); }
inline void __nanosleep(unsigned) { cge::pause(); }
inline size_t __cvta_generic_to_shared(void const* p) { return cge::to_shared(reinterpret_cast<uintptr_t>(p)); }
inline void* __cvta_shared_to_generic(size_t p) { return cge::shared_pointer(uint32_t(p)); }
inline unsigned __isShared(void const* p) { return reinterpret_cast<uintptr_t>(p) - cge::kSharedWindow < cge::kSharedSpan; }

namespace cge {
template <class T>
inline T shuffled(int mode, unsigned mask, T value, int lane, int width) {
  uint64_t u = shuffle(mode, mask, bits<uint64_t>(value), lane, width);
  T t;
  put(t, u);
  return t;
}

template <class T>
struct Same {
  using type = T;
};
template <class T>
using same_t = typename Same<T>::type;  // an argument that does not take part in deduction

// Float to integer as the hardware does: NaN is 0, out of range saturates.
template <class I, class F>
inline I saturated(F x) {
  if (std::isnan(x)) { return 0; }
  if (x <= F(std::numeric_limits<I>::min())) { return std::numeric_limits<I>::min(); }
  if (x >= F(std::numeric_limits<I>::max())) { return std::numeric_limits<I>::max(); }
  return I(x);
}
}  // namespace cge

template <class T>
inline T __shfl_sync(unsigned m, T v, int l, int w = 32) { return cge::shuffled(0, m, v, l, w); }
template <class T>
inline T __shfl_up_sync(unsigned m, T v, int l, int w = 32) { return cge::shuffled(1, m, v, l, w); }
template <class T>
inline T __shfl_down_sync(unsigned m, T v, int l, int w = 32) { return cge::shuffled(2, m, v, l, w); }
template <class T>
inline T __shfl_xor_sync(unsigned m, T v, int l, int w = 32) { return cge::shuffled(3, m, v, l, w); }
inline unsigned __ballot_sync(unsigned m, int p) { return cge::ballot(m, p != 0); }
inline int __any_sync(unsigned m, int p) { return cge::ballot(m, p != 0) != 0; }
inline int __all_sync(unsigned m, int p) { return cge::ballot(m, p == 0) == 0; }
template <class T>
inline unsigned __match_any_sync(unsigned m, T v) { return cge::match_any(m, cge::bits<uint64_t>(v)); }
inline unsigned __activemask() { return 0xffffffffu; }

template <class T>
inline T __ldg(T const* p) { return *p; }
template <class T>
inline T atomicAdd(T* p, cge::same_t<T> v) { return cge::atomic(p, [v](T x) { return T(x + v); }); }
template <class T>
inline T atomicSub(T* p, cge::same_t<T> v) { return cge::atomic(p, [v](T x) { return T(x - v); }); }
template <class T>
inline T atomicMax(T* p, cge::same_t<T> v) { return cge::atomic(p, [v](T x) { return x < v ? v : x; }); }
template <class T>
inline T atomicMin(T* p, cge::same_t<T> v) { return cge::atomic(p, [v](T x) { return v < x ? v : x; }); }
template <class T>
inline T atomicOr(T* p, cge::same_t<T> v) { return cge::atomic(p, [v](T x) { return T(x | v); }); }
template <class T>
inline T atomicAnd(T* p, cge::same_t<T> v) { return cge::atomic(p, [v](T x) { return T(x & v); }); }
template <class T>
inline T atomicExch(T* p, cge::same_t<T> v) { return cge::atomic(p, [v](T) { return v; }); }
template <class T>
inline T atomicCAS(T* p, cge::same_t<T> compare, cge::same_t<T> v) {
  return cge::atomic(p, [compare, v](T x) { return x == compare ? v : x; }, cge::Order::compared);
}
template <class T>
inline T atomicXor(T* p, cge::same_t<T> v) { return cge::atomic(p, [v](T x) { return T(x ^ v); }); }
template <class T>
inline T atomicInc(T* p, cge::same_t<T> v) { return cge::atomic(p, [v](T x) { return x >= v ? T(0) : T(x + 1); }); }
template <class T>
inline T atomicDec(T* p, cge::same_t<T> v) {
  return cge::atomic(p, [v](T x) { return x == 0 || x > v ? v : T(x - 1); });
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) { r |= ((x >> i) & 1u) << (31 - i); }
  return r;
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) { return cge::prmt(a, b, s & 0x7777u); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((uint64_t(a) * b) >> 32); }
inline int __mulhi(int a, int b) { return int((int64_t(a) * b) >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i) { c += int(int8_t(a >> (8 * i))) * int(int8_t(b >> (8 * i))); }
  return c;
}

inline int __float_as_int(float f) { return cge::as<int>(f); }
inline unsigned __float_as_uint(float f) { return cge::as<unsigned>(f); }
inline float __int_as_float(int i) { return cge::as<float>(i); }
inline float __uint_as_float(unsigned i) { return cge::as<float>(i); }
inline long long __double_as_longlong(double d) { return cge::as<long long>(d); }
inline double __longlong_as_double(long long i) { return cge::as<double>(i); }

inline int __float2int_rn(float x) { return cge::saturated<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return cge::saturated<int>(std::trunc(x)); }
inline int __float2int_rd(float x) { return cge::saturated<int>(std::floor(x)); }
inline int __float2int_ru(float x) { return cge::saturated<int>(std::ceil(x)); }
inline unsigned __float2uint_rn(float x) { return cge::saturated<unsigned>(std::nearbyint(x)); }
inline unsigned __float2uint_rz(float x) { return cge::saturated<unsigned>(std::trunc(x)); }
inline int __double2int_rn(double x) { return cge::saturated<int>(std::nearbyint(x)); }
inline int __double2int_rz(double x) { return cge::saturated<int>(std::trunc(x)); }
inline unsigned __double2uint_rn(double x) { return cge::saturated<unsigned>(std::nearbyint(x)); }
inline long long __double2ll_rn(double x) { return cge::saturated<long long>(std::nearbyint(x)); }
inline long long __float2ll_rn(float x) { return cge::saturated<long long>(std::nearbyint(x)); }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline double __int2double_rn(int x) { return double(x); }
inline double __uint2double_rn(unsigned x) { return double(x); }
inline double __ll2double_rn(long long x) { return double(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline float __double2float_rn(double x) { return float(x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline float __frcp_rn(float a) { return 1.0f / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline long long clock64() { return (long long)cge::special_clock64(); }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }

using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

// Half precision: one operation in float or double, one rounding.
inline int __half2int_rn(__half h) { return __float2int_rn(__half2float(h)); }
inline __half hrsqrt(__half x) { return __float2half_rn(1.0f / std::sqrt(__half2float(x))); }
inline __half hexp(__half x) { return __float2half_rn(std::exp(__half2float(x))); }
inline __half2 h2rsqrt(__half2 x) { return __halves2half2(hrsqrt(__low2half(x)), hrsqrt(__high2half(x))); }
inline __half2 h2exp(__half2 x) { return __halves2half2(hexp(__low2half(x)), hexp(__high2half(x))); }
inline __half __hfma(__half a, __half b, __half c) {
  return __double2half(double(__half2float(a)) * __half2float(b) + __half2float(c));
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return __halves2half2(__hfma(__low2half(a), __low2half(b), __low2half(c)),
                        __hfma(__high2half(a), __high2half(b), __high2half(c)));
}
inline __half __hfma_relu(__half a, __half b, __half c) {
  __half r = __hfma(a, b, c);
  return __half2float(r) < 0.0f ? __float2half_rn(0.0f) : r;
}
inline __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) {
  return __halves2half2(__hfma_relu(__low2half(a), __low2half(b), __low2half(c)),
                        __hfma_relu(__high2half(a), __high2half(b), __high2half(c)));
}
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __double2bfloat16(double(__bfloat162float(a)) * __bfloat162float(b) + __bfloat162float(c));
}
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return __halves2bfloat162(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
inline __nv_bfloat16 __hfma_relu(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  __nv_bfloat16 r = __hfma(a, b, c);
  return __bfloat162float(r) < 0.0f ? __float2bfloat16_rn(0.0f) : r;
}
inline __nv_bfloat162 __hfma2_relu(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return __halves2bfloat162(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
