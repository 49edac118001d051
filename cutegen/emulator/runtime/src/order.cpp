#include "order.hpp"

#include <algorithm>

namespace cge {

void Released::raise(uint32_t cta, std::vector<uint32_t> const& clocks) {
  auto& known = clocks_[cta];
  known.resize(std::max(known.size(), clocks.size()));
  for (size_t i = 0; i < clocks.size(); ++i) { known[i] = std::max(known[i], clocks[i]); }
}

void Released::raise_all(Knowledge const& known, uint32_t cta) {
  raise(cta, known.own);
  for (auto const& [other, clocks] : known.foreign) { raise(other, clocks); }
}

void Released::release(Fiber& f) {
  raise_all(*f.clock.base, f.cta->linear);
  uint32_t& mine = clocks_[f.cta->linear][f.index];
  mine = std::max(mine, f.clock.self++);
}

void Released::release_visible(Fiber const& f, KnowledgePtr const& visible) {
  if (visible.get()) { raise_all(*visible, f.cta->linear); }
}

void Released::release_proxy(Cta const& cta, uint32_t clock) {
  auto& known = clocks_[cta.linear];
  known.resize(std::max<size_t>(known.size(), threads_per_cta + 1));
  known[threads_per_cta] = std::max(known[threads_per_cta], clock);
}

void Released::merge(Released const& other) {
  for (auto const& [cta, clocks] : other.clocks_) { raise(cta, clocks); }
}

void Released::acquire(Fiber& f) const {
  if (clocks_.empty()) { return; }
  KnowledgePtr joined(new Knowledge(*f.clock.base));
  for (auto const& [cta, clocks] : clocks_) {
    if (cta != f.cta->linear) {
      joined->join_foreign(cta, clocks);
      continue;
    }
    for (size_t i = 0; i < clocks.size(); ++i) { joined->own[i] = std::max(joined->own[i], clocks[i]); }
  }
  f.clock.base = joined;
}

}  // namespace cge
