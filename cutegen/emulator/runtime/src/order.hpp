// Order that goes through memory: what threads release to an object, for whoever acquires it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "machine.hpp"

namespace cge {

class Released {
 public:
  void clear() { clocks_.clear(); }
  // All that the thread knows and has done until now.
  void release(Fiber& f);
  // One event of a CTA's asynchronous proxy.
  void release_proxy(Cta const& cta, uint32_t clock);
  void merge(Released const& other);
  void acquire(Fiber& f) const;

 private:
  void raise(uint32_t cta, std::vector<uint32_t> const& clocks);
  std::map<uint32_t, std::vector<uint32_t>> clocks_;  // by linear index of the CTA
};

}  // namespace cge
