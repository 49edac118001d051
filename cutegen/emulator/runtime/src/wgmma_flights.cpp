// What products in flight still read. They take place when they are waited for: what overwrites it before that
// would reach them here, and may or may not on a GPU.
#include <algorithm>
#include <string>
#include <vector>

#include "report.hpp"
#include "wgmma.hpp"

namespace cge {

namespace {

// What a product that has not taken place yet will read.
struct Flight {
  Fiber const* by;  // the warpgroup's first thread
  Tile tile;
  int extent, k;
  uint32_t site, begin, end;
};
std::vector<Flight> flights;  // oldest first

}  // namespace

void take_off(Fiber const& by, Tile const& tile, int extent, int k, uint32_t site) {
  Flight f{&by, tile, extent, k, site, ~0u, 0};
  for_tile(tile, extent, k, [&](int, int, uint32_t at) {
    f.begin = std::min(f.begin, at);
    f.end = std::max(f.end, at + 16);
  });
  flights.push_back(f);
}

void land(Fiber const& by, size_t count) {
  for (size_t i = 0; i < flights.size() && count;) {
    if (flights[i].by != &by) {
      ++i;
      continue;
    }
    flights.erase(flights.begin() + long(i));
    --count;
  }
}

bool products_fly() { return !flights.empty(); }

void check_products(uint32_t address, uint32_t bytes, char const* what) {
  for (Flight const& f : flights) {
    if (address + bytes <= f.begin || address >= f.end) { continue; }
    bool hit = false;
    for_tile(f.tile, f.extent, f.k, [&](int, int, uint32_t at) { hit = hit || (at < address + bytes && address < at + 16); });
    if (!hit) { continue; }
    Finding found{"async-in-flight"};
    found.tensor = "shared memory";
    found.offset = int64_t(address % kCtaSpan) - kSharedBegin;
    found.bytes = bytes;
    found.other_site = f.site;
    found.message = std::string(what) + " overwrites what a wgmma is still reading: its group was not waited for";
    report(std::move(found));
    return;
  }
}

}  // namespace cge
