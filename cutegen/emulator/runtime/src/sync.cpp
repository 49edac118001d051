// Memory order between threads of different CTAs: fences, atomics, and loads and stores with an order.
#include <map>

#include "memory.hpp"
#include "order.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

namespace {

std::map<void const*, Released> released;
uint64_t polls = 0;

}  // namespace

void fence() {}

// An atomic operation both acquires and releases; a kernel that relies on a missing fence is not found here.
bool atomic_begin(void* at, uint32_t bytes) {
  if (!current) { return true; }
  CGE_HERE();
  if (++polls % 64 == 0) { pause(); }
  if (kSanitize && in_windows(at)) {
    bool const good = check_aligned(reinterpret_cast<uintptr_t>(at), bytes, "an atomic operation") &&
                      (is_shared(at) ? check_shared(to_shared(reinterpret_cast<uint64_t>(at)), bytes, true, "an atomic operation")
                                     : check_global(at, bytes, true, "an atomic operation") != nullptr);
    if (good) {
      auto it = released.find(at);
      if (it != released.end()) { it->second.acquire(self()); }
      uint32_t const site = site_index(self().pc);
      if (is_shared(at)) { shared_read(to_shared(reinterpret_cast<uint64_t>(at)), bytes, site, "an atomic operation"); }
    }
  }
  return true;
}

void atomic_end(void* at, uint32_t bytes) {
  if (kSanitize && current && in_windows(at)) {
    uint32_t const site = site_index(self().pc);
    if (is_shared(at)) { shared_write(to_shared(reinterpret_cast<uint64_t>(at)), bytes, site, "an atomic operation"); }
    released[at].release(self());
  }
}

void forget_releases() { released.clear(); }

}  // namespace cge
