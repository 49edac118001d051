// std::atomic and cuda::atomic_ref: what the compiler makes of them under -fsanitize=thread.
#include <cstring>

#include "machine.hpp"
#include "memory.hpp"

namespace {

// std::memory_order, as the compiler passes it.
cge::Order order_of(int mo) {
  return mo == 0   ? cge::Order::relaxed
         : mo <= 2 ? cge::Order::acquire
         : mo == 3 ? cge::Order::release
                   : cge::Order::acq_rel;
}

template <class T>
T load(T const volatile* at, int mo) {
  if (!cge::in_windows(const_cast<T const*>(at))) { return *at; }
  T v;
  cge::memory_load(const_cast<T const*>(at), sizeof(T), order_of(mo), &v);
  return v;
}
template <class T>
void store(T volatile* at, T v, int mo) {
  if (cge::in_windows(const_cast<T*>(at))) {
    cge::memory_store(const_cast<T*>(at), sizeof(T), order_of(mo), &v);
  } else {
    *at = v;
  }
}
template <class T, class F>
T update(T volatile* at, int mo, F f) {
  return cge::atomic(const_cast<T*>(at), f, order_of(mo));
}
template <class T>
int exchange_if(T volatile* at, T* expected, T desired, int mo) {
  T const want = *expected;
  T const old = update(at, mo, [=](T x) { return x == want ? desired : x; });
  *expected = old;
  return old == want;
}

}  // namespace

#define CGE_ATOMICS(bits, T)                                                                                   \
  T __tsan_atomic##bits##_load(T const volatile* p, int mo) { return load(p, mo); }                            \
  void __tsan_atomic##bits##_store(T volatile* p, T v, int mo) { store(p, v, mo); }                            \
  T __tsan_atomic##bits##_exchange(T volatile* p, T v, int mo) { return update(p, mo, [v](T) { return v; }); } \
  T __tsan_atomic##bits##_fetch_add(T volatile* p, T v, int mo) {                                              \
    return update(p, mo, [v](T x) { return T(x + v); });                                                       \
  }                                                                                                            \
  T __tsan_atomic##bits##_fetch_sub(T volatile* p, T v, int mo) {                                              \
    return update(p, mo, [v](T x) { return T(x - v); });                                                       \
  }                                                                                                            \
  T __tsan_atomic##bits##_fetch_and(T volatile* p, T v, int mo) {                                              \
    return update(p, mo, [v](T x) { return T(x & v); });                                                       \
  }                                                                                                            \
  T __tsan_atomic##bits##_fetch_or(T volatile* p, T v, int mo) {                                               \
    return update(p, mo, [v](T x) { return T(x | v); });                                                       \
  }                                                                                                            \
  T __tsan_atomic##bits##_fetch_xor(T volatile* p, T v, int mo) {                                              \
    return update(p, mo, [v](T x) { return T(x ^ v); });                                                       \
  }                                                                                                            \
  T __tsan_atomic##bits##_fetch_nand(T volatile* p, T v, int mo) {                                             \
    return update(p, mo, [v](T x) { return T(~(x & v)); });                                                    \
  }                                                                                                            \
  int __tsan_atomic##bits##_compare_exchange_strong(T volatile* p, T* e, T v, int mo, int) {                   \
    return exchange_if(p, e, v, mo);                                                                           \
  }                                                                                                            \
  int __tsan_atomic##bits##_compare_exchange_weak(T volatile* p, T* e, T v, int mo, int) {                     \
    return exchange_if(p, e, v, mo);                                                                           \
  }                                                                                                            \
  T __tsan_atomic##bits##_compare_exchange_val(T volatile* p, T e, T v, int mo, int) {                         \
    exchange_if(p, &e, v, mo);                                                                                 \
    return e;                                                                                                  \
  }

extern "C" {
CGE_ATOMICS(8, uint8_t)
CGE_ATOMICS(16, uint16_t)
CGE_ATOMICS(32, uint32_t)
CGE_ATOMICS(64, uint64_t)
void __tsan_atomic_thread_fence(int) { cge::fence(cge::Scope::device); }
void __tsan_atomic_signal_fence(int) {}
}
