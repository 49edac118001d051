#include "watch.hpp"

#include <algorithm>
#include <string>

#include "report.hpp"

namespace cge {

uintptr_t watch_begin = 0, watch_span = 0;

namespace {

// Neighbouring registers as ranges [begin, end).
std::vector<std::pair<uintptr_t, uintptr_t>> ranges_of(std::vector<void*> const& registers) {
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
  for (void* r : registers) {
    auto const at = reinterpret_cast<uintptr_t>(r);
    if (!ranges.empty() && ranges.back().second == at) {
      ranges.back().second += 4;
    } else {
      ranges.emplace_back(at, at + 4);
    }
  }
  return ranges;
}

}  // namespace

Watch::Range const* Watch::find(uintptr_t at) const {
  for (Range const& r : ranges_) {
    if (at >= r.begin && at < r.end) { return &r; }
  }
  return nullptr;
}

void Watch::measure() {
  lowest_ = span_ = 0;
  if (ranges_.empty()) { return; }
  uintptr_t highest = 0;
  lowest_ = ~uintptr_t(0);
  for (Range const& r : ranges_) {
    lowest_ = std::min(lowest_, r.begin);
    highest = std::max(highest, r.end);
  }
  span_ = highest - lowest_;
}

void Watch::begin(std::vector<void*> const& registers, Use use, uint32_t site) {
  for (auto const& [begin, end] : ranges_of(registers)) {
    Range* known = nullptr;
    for (Range& r : ranges_) {
      if (r.begin == begin && r.end == end && r.use == use) { known = &r; }
    }
    if (!known) {
      // NOTE: the compiler may have given the place of registers that are dead to others.
      ranges_.erase(std::remove_if(ranges_.begin(), ranges_.end(),
                                   [b = begin, e = end](Range const& r) { return !r.products && r.begin < e && b < r.end; }),
                    ranges_.end());
      known = &ranges_.emplace_back(Range{begin, end, use, 0, site});
    }
    ++known->products;
    known->site = site;
  }
  measure();
}

void Watch::end(std::vector<void*> const& registers, Use use) {
  for (auto const& [begin, end] : ranges_of(registers)) {
    for (Range& r : ranges_) {
      if (r.begin == begin && r.end == end && r.use == use && r.products) { --r.products; }
    }
  }
}

bool Watch::untouched(std::vector<void*> const& registers) const {
  return std::all_of(registers.begin(), registers.end(),
                     [this](void* r) { return find(reinterpret_cast<uintptr_t>(r)) != nullptr; });
}

bool Watch::in_flight(std::vector<void*> const& registers) const {
  return std::any_of(registers.begin(), registers.end(), [this](void* r) {
    Range const* range = find(reinterpret_cast<uintptr_t>(r));
    return range && range->products;
  });
}

bool Watch::touch(void const* p, size_t bytes, bool write) {
  auto const begin = reinterpret_cast<uintptr_t>(p), end = begin + bytes;
  bool touched = false;
  for (size_t i = ranges_.size(); i-- > 0;) {
    Range const r = ranges_[i];
    if (r.begin >= end || begin >= r.end) { continue; }
    if (!r.products) {
      ranges_.erase(ranges_.begin() + long(i));
      touched = true;
    } else if (r.use == Use::accumulator || write) {
      Finding f{"wgmma-in-flight"};
      f.other_site = r.site;
      f.bytes = uint32_t(bytes);
      f.message = std::string(write ? "writes" : "reads") +
                  (r.use == Use::accumulator ? " accumulators" : " registers of A") +
                  " of a wgmma that is still in flight: nothing has waited for its group";
      report(std::move(f));
    }
  }
  if (touched) { measure(); }
  return touched;
}

}  // namespace cge
