// What rewritten inline PTX calls: register operations inline, everything else in the prebuilt runtime.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "cutegen_emu/types.hpp"

namespace cge {

using Registers = std::initializer_list<void const*>;  // addresses of a lane's registers

// The bits of an operand as an unsigned register: integers and enums by value, all else by its bytes.
template <class U, class T>
inline U bits(T const& x) {
  if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<U>(x);
  } else if constexpr (std::is_pointer_v<T>) {
    return static_cast<U>(reinterpret_cast<uintptr_t>(x));
  } else {
    U u{};
    std::memcpy(&u, &x, sizeof(T) < sizeof(U) ? sizeof(T) : sizeof(U));
    return u;
  }
}

template <class T, class U>
inline void put(T& to, U value) {
  static_assert(sizeof(T) <= 8, "a PTX register has at most 64 bits");
  uint64_t wide = static_cast<uint64_t>(value);
  std::memcpy(static_cast<void*>(&to), &wide, sizeof(T));
}

template <class T, class U>
inline T as(U u) {
  static_assert(sizeof(T) == sizeof(U), "same width");
  T t;
  std::memcpy(&t, &u, sizeof(T));
  return t;
}

template <class T>
inline void const* ref(T const& x) { return &x; }
template <class T>
inline void* out(T& x) { return &x; }

template <class T>
inline T multiply_add(T a, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(a, b, c);
  } else {
    return T(a * b + c);
  }
}
template <class T>
inline T minimum(T a, T b) { return b < a ? b : a; }
template <class T>
inline T maximum(T a, T b) { return a < b ? b : a; }
template <class T>
inline T shift_left(T a, uint32_t n) { return n >= 8 * sizeof(T) ? T(0) : T(a << n); }
template <class T>
inline T shift_right(T a, uint32_t n) {
  return n >= 8 * sizeof(T) ? T(a < T(0) ? -1 : 0) : T(a >> n);
}

uint32_t prmt(uint32_t a, uint32_t b, uint32_t selector);
uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table);
void repack(Registers to, Registers from, int bits);
void convert(Cvt to, Cvt from, unsigned flags, Registers d, Registers a);
uint32_t pack(Cvt to, int32_t a, int32_t b, uint32_t c = 0);  // saturated: a above b; above two bytes c
void simd(Simd op, Registers d, Registers operands, bool relu);

// Special registers.
uint32_t special_tid_x();
uint32_t special_tid_y();
uint32_t special_tid_z();
uint32_t special_ntid_x();
uint32_t special_ctaid_x();
uint32_t special_ctaid_y();
uint32_t special_ctaid_z();
uint32_t special_nctaid_x();
uint32_t special_laneid();
uint32_t special_warpid();
uint32_t special_lanemask_lt();
uint32_t special_smid();
uint32_t special_clusterid_x();
uint32_t special_clusterid_y();
uint32_t special_clusterid_z();
uint32_t special_nclusterid_x();
uint32_t special_nclusterid_y();
uint32_t special_nclusterid_z();
uint32_t special_cluster_ctaid_x();
uint32_t special_cluster_ctaid_y();
uint32_t special_cluster_ctaid_z();
uint32_t special_cluster_nctaid_x();
uint32_t special_cluster_nctaid_y();
uint32_t special_cluster_nctaid_z();
uint32_t special_cluster_ctarank();
uint32_t special_cluster_nctarank();
uint64_t special_clock64();
uint64_t special_globaltimer();
inline uint32_t special_clock() { return uint32_t(special_clock64()); }

// Shared memory has 32-bit addresses; the CTA with rank r in its cluster owns r * 16 MiB and up.
constexpr uintptr_t kSharedWindow = uintptr_t(0x200000000000);
constexpr uint64_t kSharedSpan = uint64_t(1) << 32;
inline uint32_t to_shared(uint64_t generic) { return uint32_t(generic - kSharedWindow); }
inline uint64_t from_shared(uint64_t shared) { return kSharedWindow + uint32_t(shared); }
inline void* shared_pointer(uint32_t address) { return reinterpret_cast<void*>(kSharedWindow + address); }
inline void* global_pointer(uint64_t address) { return reinterpret_cast<void*>(address); }
void* dynamic_shared();
void* static_shared(void const* tag, size_t bytes, size_t align);

// Warp-wide and asynchronous operations.
void mma(MmaCode code, Registers operands);
void ldmatrix(int count, bool transposed, uint32_t address, Registers to);
void stmatrix(int count, bool transposed, uint32_t address, Registers from);
void movmatrix(Registers operands);
void cp_async(uint32_t to, uint64_t from, uint32_t bytes, uint32_t source_bytes, bool bypass_l1);
void cp_async_commit();
void cp_async_wait(uint32_t pending);
void cp_async_wait_all();
void cp_async_arrive(uint32_t barrier, bool noinc);
void bar_sync(uint32_t id, uint32_t threads);  // threads 0: all of the CTA
uint32_t bar_reduce(uint32_t id, uint32_t threads, int mode, bool predicate);  // mode: 0 count, 1 and, 2 or
void bar_arrive(uint32_t id, uint32_t threads);
void warp_sync(uint32_t mask);
uint64_t shuffle(int mode, uint32_t mask, uint64_t value, int lane, int width);
uint32_t ballot(uint32_t mask, bool predicate);
uint32_t match_any(uint32_t mask, uint64_t value);
void elect(uint32_t mask, void const* lane, void const* predicate);
void pause();  // lets others run, for loops that poll
void fence(Scope scope);
// NOTE: the runtime itself moves the bytes; here the compiler's own hooks would see them a second time.
void memory_load(void const* from, uint32_t bytes, Order order, void* to);
void memory_store(void* to, uint32_t bytes, Order order, void const* from);
void atomic_begin(void* at, uint32_t bytes, Order order, void* old);
void atomic_end(void* at, uint32_t bytes, Order order, void const* now);
void grid_sync();
bool grid_can_sync();
[[noreturn]] void trap(char const* what);
void unsupported(char const* instruction);

// What the emulated GPU is: its compute capability, and whether it is a target such as sm_90a.
extern uint32_t device_level;
extern bool device_specific;
void not_on_this_device(uint32_t level, bool specific, char const* instruction);
// The next instruction exists from this compute capability on, or only on its architecture-specific targets.
inline void need(uint32_t level, bool specific, char const* instruction) {
  if (__builtin_expect(device_level < level || (specific && !device_specific), 0)) {
    not_on_this_device(level, specific, instruction);
  }
}

// sm_90.
struct WgmmaA {
  Registers from;
  uint64_t address;
  static WgmmaA registers(Registers r) { return {r, 0}; }
  static WgmmaA descriptor(uint64_t d) { return {{}, d}; }
};
void wgmma(MmaCode code, Registers d, WgmmaA a, uint64_t b, bool scale_d, int scale_a, int scale_b, int major_a,
           int major_b);
void wgmma_fence();
void wgmma_commit();
void wgmma_wait(uint32_t pending);
void mbarrier_init(uint32_t at, uint32_t count);
void mbarrier_inval(uint32_t at);
void mbarrier_expect(uint32_t at, uint32_t bytes);
uint64_t mbarrier_arrive(uint32_t at, uint32_t count, uint32_t bytes);
bool mbarrier_wait(uint32_t at, uint32_t parity, bool blocking);
void tma_load(uint64_t map, std::initializer_list<int32_t> coordinates, uint32_t to, uint32_t barrier, uint16_t mask);
void tma_store(uint64_t map, std::initializer_list<int32_t> coordinates, uint32_t from, bool reduce);
void bulk_commit();
void bulk_wait(uint32_t pending, bool reads_only);
void fence_proxy_async();
void fence_init();
void grid_wait();
void cluster_arrive();
void cluster_wait();
uint32_t mapa(uint32_t address, uint32_t rank);
void store_async(uint32_t to, uint32_t barrier, uint32_t bytes, void const* from);

// ld and st: one access of all elements.
template <class U>
inline void load(void const* from, Order order, Registers to) {
  U values[8];
  memory_load(from, uint32_t(sizeof(U) * to.size()), order, values);
  size_t i = 0;
  for (void const* r : to) { std::memcpy(const_cast<void*>(r), &values[i++], sizeof(U)); }
}
template <class U>
inline void store(void* to, Order order, Registers from) {
  U values[8];
  size_t i = 0;
  for (void const* r : from) { std::memcpy(&values[i++], r, sizeof(U)); }
  memory_store(to, uint32_t(sizeof(U) * from.size()), order, values);
}

// st.async.
template <class U>
inline void store_async(uint32_t to, uint32_t barrier, Registers from) {
  U values[8];
  size_t i = 0;
  for (void const* r : from) { std::memcpy(&values[i++], r, sizeof(U)); }
  store_async(to, barrier, uint32_t(sizeof(U) * from.size()), values);
}

// atom and red.
template <class T, class F>
inline T atomic(T* at, F update, Order order = Order::relaxed) {
  T old;
  atomic_begin(at, sizeof(T), order, &old);
  T const now = update(old);
  atomic_end(at, sizeof(T), order, &now);
  return old;
}
enum class Atom : uint8_t { add, min, max, inc, dec, exch, cas };
template <class T>
inline T atom(Atom op, void* at, Order order, T v, T compare = T{}) {
  return atomic(
      static_cast<T*>(at),
      [=](T x) -> T {
        switch (op) {
          case Atom::add: return T(x + v);
          case Atom::min: return v < x ? v : x;
          case Atom::max: return x < v ? v : x;
          case Atom::inc: return x >= v ? T(0) : T(x + T(1));
          case Atom::dec: return x == T(0) || x > v ? v : T(x - T(1));
          case Atom::exch: return v;
          default: return x == compare ? v : x;
        }
      },
      order);
}
enum class AtomBits : uint8_t { and_, or_, xor_ };
template <class T>
inline T atom_bits(AtomBits op, void* at, Order order, T v) {
  return atomic(
      static_cast<T*>(at),
      [=](T x) { return T(op == AtomBits::and_ ? x & v : op == AtomBits::or_ ? x | v : x ^ v); }, order);
}
// Two or more elements of 16 bits, or several of 32: red.add and the like.
void reduce(Simd op, void* at, Order order, Registers values);
void reduce_f32(void* at, Order order, Registers values);

// Launches from host code that is run along with its kernels.
void launch_raw(dim3 grid, dim3 block, size_t shared, dim3 cluster, void (*body)(void*), void* context);
template <class F, class... A>
inline void launch(dim3 grid, dim3 block, size_t shared, F kernel, A... arguments) {
  auto body = [&] { kernel(arguments...); };
  launch_raw(grid, block, shared, dim3(1, 1, 1), [](void* p) { (*static_cast<decltype(body)*>(p))(); }, &body);
}

}  // namespace cge
