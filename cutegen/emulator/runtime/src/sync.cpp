// Memory order between threads of different CTAs: fences, atomics, and loads and stores with an order.
#include <map>

#include "memory.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

namespace {

// What has been released to an address, for whoever acquires it.
struct Released {
  std::map<uint32_t, std::vector<uint32_t>> clocks;  // by linear index of the CTA
};
std::map<void const*, Released> released;
uint64_t polls = 0;

void release_to(void const* at) {
  Fiber& me = self();
  Released& r = released[at];
  auto merge = [&](uint32_t cta, std::vector<uint32_t> const& clocks) {
    auto& known = r.clocks[cta];
    known.resize(std::max(known.size(), clocks.size()));
    for (size_t i = 0; i < clocks.size(); ++i) { known[i] = std::max(known[i], clocks[i]); }
  };
  merge(me.cta->linear, me.clock.base->own);
  r.clocks[me.cta->linear][me.index] = std::max(r.clocks[me.cta->linear][me.index], me.clock.self);
  for (auto const& [cta, clocks] : me.clock.base->foreign) { merge(cta, clocks); }
  ++me.clock.self;
}

void acquire_from(void const* at) {
  auto it = released.find(at);
  if (it == released.end()) { return; }
  Fiber& me = self();
  KnowledgePtr joined(new Knowledge(*me.clock.base));
  for (auto const& [cta, clocks] : it->second.clocks) {
    if (cta == me.cta->linear) {
      for (size_t i = 0; i < clocks.size(); ++i) { joined->own[i] = std::max(joined->own[i], clocks[i]); }
    } else {
      joined->join_foreign(cta, clocks);
    }
  }
  me.clock.base = joined;
}

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
      acquire_from(at);
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
    release_to(at);
  }
}

void forget_releases() { released.clear(); }

}  // namespace cge
