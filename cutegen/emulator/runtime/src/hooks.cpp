// Plain loads and stores. Kernels are compiled with -fsanitize=thread but without its library: what the compiler
// inserts for it arrives here, for every access of one C++ object that may lie outside a thread's registers.
#include <cstddef>
#include <cstring>

#include "counts.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

namespace {

[[gnu::noinline]] void plain(void const* p, uint32_t bytes, bool write, bool aligned, void* pc) {
  if (!current || bytes == 0) { return; }
  current->pc = pc;
  uint32_t const site = site_index(pc);
  char const* what = write ? "a store" : "a load";
  bool const power = (bytes & (bytes - 1)) == 0 && bytes <= 16;
  if (aligned && power && !check_aligned(reinterpret_cast<uintptr_t>(p), bytes, what)) { return; }
  uint32_t origin = 0;
  if (is_shared(p)) {
    uint32_t const address = to_shared(reinterpret_cast<uint64_t>(p));
    if (!check_shared(address, bytes, write, what)) { return; }
    if (write) {
      shared_write(address, bytes, site, what);
    } else {
      origin = shared_read(address, bytes, site, what);
    }
  } else {
    Buffer* b = check_global(p, bytes, write, what);
    if (!b) { return; }
    if (write) {
      global_write(*b, p, bytes, site);
    } else {
      global_read(*b, p, bytes, site);
    }
    origin = uint32_t(b - buffers.data()) + 1;
  }
  if (bytes <= 16) { count_plain(site, write ? Access::store : Access::load, bytes, p, origin); }
}

}  // namespace

void memory_load(void const* from, uint32_t bytes, Order) {
  if (kSanitize && current) { plain(from, bytes, false, true, __builtin_return_address(0)); }
}

void memory_store(void* to, uint32_t bytes, Order) {
  if (kSanitize && current) { plain(to, bytes, true, true, __builtin_return_address(0)); }
}

}  // namespace cge

#define CGE_HOOK(name, bytes, write, aligned)                                                     \
  extern "C" void name(void* p) {                                                                 \
    if (cge::kSanitize && cge::in_windows(p)) {                                                   \
      cge::plain(p, bytes, write, aligned, __builtin_return_address(0));                          \
    }                                                                                             \
  }
#define CGE_HOOKS(bytes)                                              \
  CGE_HOOK(__tsan_read##bytes, bytes, false, true)                    \
  CGE_HOOK(__tsan_write##bytes, bytes, true, true)                    \
  CGE_HOOK(__tsan_unaligned_read##bytes, bytes, false, false)         \
  CGE_HOOK(__tsan_unaligned_write##bytes, bytes, true, false)         \
  CGE_HOOK(__tsan_volatile_read##bytes, bytes, false, true)           \
  CGE_HOOK(__tsan_volatile_write##bytes, bytes, true, true)           \
  extern "C" void __tsan_read_write##bytes(void* p) {                 \
    if (cge::kSanitize && cge::in_windows(p)) {                       \
      cge::plain(p, bytes, false, true, __builtin_return_address(0)); \
      cge::plain(p, bytes, true, true, __builtin_return_address(0));  \
    }                                                                 \
  }
CGE_HOOKS(1)
CGE_HOOKS(2)
CGE_HOOKS(4)
CGE_HOOKS(8)
CGE_HOOKS(16)

extern "C" {
void __tsan_read_range(void* p, size_t bytes) {
  if (cge::kSanitize && cge::in_windows(p)) { cge::plain(p, uint32_t(bytes), false, false, __builtin_return_address(0)); }
}
void __tsan_write_range(void* p, size_t bytes) {
  if (cge::kSanitize && cge::in_windows(p)) { cge::plain(p, uint32_t(bytes), true, false, __builtin_return_address(0)); }
}

// Copies of whole structures may be calls of memcpy; kernels are linked so that those come here.
void* __wrap_memcpy(void* to, void const* from, size_t bytes) {
  void* const pc = __builtin_return_address(0);
  if (cge::kSanitize && cge::in_windows(from)) { cge::plain(from, uint32_t(bytes), false, false, pc); }
  if (cge::kSanitize && cge::in_windows(to)) { cge::plain(to, uint32_t(bytes), true, false, pc); }
  return std::memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, void const* from, size_t bytes) {
  void* const pc = __builtin_return_address(0);
  if (cge::kSanitize && cge::in_windows(from)) { cge::plain(from, uint32_t(bytes), false, false, pc); }
  if (cge::kSanitize && cge::in_windows(to)) { cge::plain(to, uint32_t(bytes), true, false, pc); }
  return std::memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, size_t bytes) {
  void* const pc = __builtin_return_address(0);
  if (cge::kSanitize && cge::in_windows(to)) { cge::plain(to, uint32_t(bytes), true, false, pc); }
  return std::memset(to, value, bytes);
}
void* __tsan_memcpy(void* to, void const* from, size_t bytes) __attribute__((alias("__wrap_memcpy")));
void* __tsan_memmove(void* to, void const* from, size_t bytes) __attribute__((alias("__wrap_memmove")));
void* __tsan_memset(void* to, int value, size_t bytes) __attribute__((alias("__wrap_memset")));

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
