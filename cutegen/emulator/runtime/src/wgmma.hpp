// Tiles that wgmma reads by descriptors, and products that have been issued and not waited for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine.hpp"
#include "tma.hpp"

namespace cge {

// A descriptor's fields, in bytes, and the swizzle as tensor maps count it.
struct Tile {
  uint32_t start, leading, stride;
  int mode;
  int row;  // bytes of a row of the swizzle atom; 16 without swizzle
  bool mn_major;
  int element;

  Tile(uint64_t d, bool major, int bytes, uint32_t window)
      : start(window + (uint32_t(d & 0x3fff) << 4)), leading(uint32_t(d >> 16 & 0x3fff) << 4),
        stride(uint32_t(d >> 32 & 0x3fff) << 4), mn_major(major), element(bytes) {
    int const code = int(d >> 62 & 3);
    mode = code ? 4 - code : 0;
    row = mode ? 16 << mode : 16;
  }

  // Where element (mn, k) lies.
  uint32_t at(int mn, int k) const {
    uint32_t offset;
    if (!mn_major) {
      uint32_t const byte = uint32_t(k * element);
      offset = uint32_t(mn / 8) * stride + uint32_t(mn % 8 * row) +
               (mode ? byte : byte / 16 * leading + byte % 16);
    } else {
      uint32_t const byte = uint32_t(mn * element), wide = uint32_t(row);
      // Without swizzle the two strides change their parts: the leading one goes along K.
      uint32_t const along_mn = mode ? leading : stride, along_k = mode ? stride : leading;
      offset = byte / wide * along_mn + byte % wide + uint32_t(k / 8) * along_k + uint32_t(k % 8) * wide;
    }
    return swizzled(start + offset, mode);
  }
};

// Calls visit(mn, k, address) for each 16 bytes of the tile and its first element.
template <class Visit>
void for_tile(Tile const& t, int extent, int k, Visit visit) {
  int const per = 16 / t.element;
  for (int outer = 0; outer < (t.mn_major ? k : extent); ++outer) {
    for (int inner = 0; inner < (t.mn_major ? extent : k); inner += per) {
      int const mn = t.mn_major ? inner : outer, kk = t.mn_major ? outer : inner;
      visit(mn, kk, t.at(mn, kk));
    }
  }
}

// A product of the warpgroup whose first thread is `by` has been issued, which will read this tile.
void take_off(Fiber const& by, Tile const& tile, int extent, int k, uint32_t site);
// The oldest such tiles of a warpgroup have been read; all of them, without a count.
void land(Fiber const& by, size_t count = ~size_t(0));
// Whether there are any; then what is written to shared memory must be none of what they read.
bool products_fly();
void check_products(uint32_t address, uint32_t bytes, char const* what);

}  // namespace cge
