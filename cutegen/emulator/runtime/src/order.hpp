// Order that goes through memory: what threads release to an object, for whoever acquires it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "machine.hpp"

namespace cge {

class Released {
 public:
  bool empty() const { return clocks_.empty(); }
  void clear() { clocks_.clear(); }
  // All that the thread knows and has done until now.
  void release(Fiber& f);
  // What fences have made visible: a relaxed store releases no more.
  void release_visible(Fiber const& f, KnowledgePtr const& visible);
  // One event of a CTA's asynchronous proxy.
  void release_proxy(Cta const& cta, uint32_t clock);
  void merge(Released const& other);
  void acquire(Fiber& f) const;

 private:
  void raise(uint32_t cta, std::vector<uint32_t> const& clocks);
  void raise_all(Knowledge const& known, uint32_t cta);
  std::map<uint32_t, std::vector<uint32_t>> clocks_;  // by linear index of the CTA
};

// What relaxed loads of a thread saw, until a fence of the thread makes it an acquisition.
struct Inbox {
  Released device, block;
  Released compared;  // seen by atomicCAS: a barrier makes it one, too
};

void forget_releases();
void forget_inbox(Fiber& f);
// At a barrier of the CTA.
void acquire_compared(Fiber& f);

}  // namespace cge
