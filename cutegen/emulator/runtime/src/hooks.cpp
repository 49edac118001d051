// Plain loads and stores. Kernels are compiled with -fsanitize=thread but without its library: what the compiler
// inserts for it arrives here, for every access of one C++ object that may lie outside a thread's registers.
#include <cstddef>
#include <cstring>

#include "memory.hpp"
#include "sync.hpp"
#include "watch.hpp"

namespace {

[[gnu::always_inline]] inline void access(void const* p, size_t bytes, bool write, bool aligned, bool strong, void* pc) {
  if (!cge::in_windows(p)) {
    if (cge::kSanitize && reinterpret_cast<uintptr_t>(p) - cge::watch_begin < cge::watch_span) {
      cge::watched_access(p, bytes, write, pc);
    }
    return;
  }
  if (write) { cge::note_progress(); }
  if (!cge::kSanitize || !cge::current || bytes == 0) { return; }
  cge::memory_access(p, uint32_t(bytes), write ? cge::Access::store : cge::Access::load, strong, pc, aligned);
}

}  // namespace

// Volatile accesses are strong, and a loop of them may wait for others.
#define CGE_HOOK(name, bytes, write, aligned) \
  extern "C" void name(void* p) { access(p, bytes, write, aligned, false, __builtin_return_address(0)); }
#define CGE_VOLATILE(name, bytes, write)                                                          \
  extern "C" void name(void* p) {                                                                 \
    if (cge::in_windows(p)) { cge::volatile_access(p, bytes, write, __builtin_return_address(0)); } \
  }
#define CGE_HOOKS(bytes)                                              \
  CGE_HOOK(__tsan_read##bytes, bytes, false, true)                    \
  CGE_HOOK(__tsan_write##bytes, bytes, true, true)                    \
  CGE_HOOK(__tsan_unaligned_read##bytes, bytes, false, false)         \
  CGE_HOOK(__tsan_unaligned_write##bytes, bytes, true, false)         \
  CGE_VOLATILE(__tsan_volatile_read##bytes, bytes, false)             \
  CGE_VOLATILE(__tsan_volatile_write##bytes, bytes, true)             \
  CGE_VOLATILE(__tsan_unaligned_volatile_read##bytes, bytes, false)   \
  CGE_VOLATILE(__tsan_unaligned_volatile_write##bytes, bytes, true)   \
  extern "C" void __tsan_read_write##bytes(void* p) {                 \
    access(p, bytes, false, true, false, __builtin_return_address(0)); \
    access(p, bytes, true, true, false, __builtin_return_address(0));  \
  }
CGE_HOOKS(1)
CGE_HOOKS(2)
CGE_HOOKS(4)
CGE_HOOKS(8)
CGE_HOOKS(16)

extern "C" {
void __tsan_read_range(void* p, size_t bytes) { access(p, bytes, false, false, false, __builtin_return_address(0)); }
void __tsan_write_range(void* p, size_t bytes) { access(p, bytes, true, false, false, __builtin_return_address(0)); }

// Copies of whole structures may be calls of memcpy; kernels are linked so that those come here.
void* __wrap_memcpy(void* to, void const* from, size_t bytes) {
  void* const pc = __builtin_return_address(0);
  access(from, bytes, false, false, false, pc);
  access(to, bytes, true, false, false, pc);
  return std::memcpy(to, from, bytes);
}
void* __wrap_memmove(void* to, void const* from, size_t bytes) {
  void* const pc = __builtin_return_address(0);
  access(from, bytes, false, false, false, pc);
  access(to, bytes, true, false, false, pc);
  return std::memmove(to, from, bytes);
}
void* __wrap_memset(void* to, int value, size_t bytes) {
  access(to, bytes, true, false, false, __builtin_return_address(0));
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
