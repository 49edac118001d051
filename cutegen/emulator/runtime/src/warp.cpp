// Warp-wide operations: they take place when the last lane of the mask arrives.
#include <cstring>
#include <string>

#include "counts.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

namespace {

[[noreturn]] void diverged(Collective const& c, char const* what, uint32_t mask) {
  Finding f{"divergent-collective"};
  f.other_site = site_index(c.pc);
  char masks[64];
  std::snprintf(masks, sizeof masks, " (lanes %08x and %08x)", c.mask, mask);
  f.message = std::string("lanes of one warp wait at ") + c.what + " and at " + what + masks;
  report_fatal(std::move(f));
}

Collective& slot(Warp& warp, uint64_t key, uint32_t mask, char const* what) {
  Collective* unused = nullptr;
  for (Collective& c : warp.collectives) {
    if (!c.arrived) {
      unused = &c;
    } else if (c.key == key && c.mask == mask) {
      return c;
    } else if (c.mask & mask) {
      diverged(c, what, mask);
    }
  }
  if (!unused) { unused = &warp.collectives.emplace_back(); }
  unused->key = key;
  unused->mask = mask;
  unused->what = what;
  unused->pc = self().pc;
  return *unused;
}

// Keys tell operations apart that must not be mixed in one warp.
enum Kind : uint64_t { kSync = 1, kShuffle, kBallot, kMatch, kElect, kLdmatrix, kStmatrix, kMovmatrix };
constexpr uint64_t key_of(Kind kind, uint64_t detail = 0) { return (uint64_t(kind) << 56) | detail; }

}  // namespace

void collective(char const* what, uint64_t key, uint32_t mask, void const* argument, CollectiveBody execute) {
  Fiber& me = self();
  Warp& warp = *me.warp;
  ++me.segment;
  Collective& c = slot(warp, key, mask, what);
  c.arguments[me.lane] = argument;
  c.arrived |= 1u << me.lane;
  if (c.arrived != mask) {
    if ((warp.live & mask) != mask) {
      Finding f{"divergent-collective"};
      f.message = std::string(what) + " waits for lanes that have returned";
      report_fatal(std::move(f));
    }
    block(what);
    return;
  }
  c.arrived = 0;
  void const* arguments[32];
  std::memcpy(arguments, c.arguments, sizeof arguments);
  execute(warp, mask, arguments);
  for (uint32_t lanes = mask & ~(1u << me.lane); lanes; lanes &= lanes - 1) {
    wake(warp.lanes[__builtin_ctz(lanes)]);
  }
}

void warp_sync(uint32_t mask) {
  CGE_HERE();
  Warp& warp = *self().warp;
  mask &= warp.live;
  collective("__syncwarp", key_of(kSync), mask, nullptr, [](Warp& w, uint32_t m, void const* const*) {
    if (!kSanitize) { return; }
    KnowledgePtr joined;
    for (uint32_t lanes = m; lanes; lanes &= lanes - 1) {
      Clock& clock = w.lanes[__builtin_ctz(lanes)]->clock;
      if (!joined.get()) {
        joined = KnowledgePtr(new Knowledge(*clock.base));
      } else {
        joined->join(*clock.base);
      }
    }
    for (uint32_t lanes = m; lanes; lanes &= lanes - 1) {
      Fiber& f = *w.lanes[__builtin_ctz(lanes)];
      joined->own[f.index] = f.clock.self++;
    }
    for (uint32_t lanes = m; lanes; lanes &= lanes - 1) { w.lanes[__builtin_ctz(lanes)]->clock.base = joined; }
  });
}

namespace {
struct Shuffle {
  int mode, lane, width;
  uint64_t value, result;
};
}  // namespace

uint64_t shuffle(int mode, uint32_t mask, uint64_t value, int lane, int width) {
  CGE_HERE();
  Shuffle mine{mode, lane, width, value, value};
  auto execute = [](Warp&, uint32_t m, void const* const* arguments) {
    auto at = [&](int l) { return static_cast<Shuffle*>(const_cast<void*>(arguments[l])); };
    for (int l = 0; l < 32; ++l) {
      if (!(m >> l & 1)) { continue; }
      Shuffle& s = *at(l);
      int const first = l & ~(s.width - 1), last = first + s.width - 1;
      int from = s.mode == 0 ? first + (s.lane & (s.width - 1)) : s.mode == 1 ? l - s.lane : s.mode == 2 ? l + s.lane : l ^ s.lane;
      if ((s.mode == 1 && from < first) || (s.mode >= 2 && from > last)) { from = l; }
      s.result = from >= 0 && from < 32 && (m >> from & 1) ? at(from)->value : s.value;
    }
  };
  collective("shfl.sync", key_of(kShuffle, uint64_t(mode)), mask & self().warp->live, &mine, execute);
  return mine.result;
}

namespace {
struct Vote {
  bool predicate;
  uint64_t value;
  uint32_t result;
};
}  // namespace

uint32_t ballot(uint32_t mask, bool predicate) {
  CGE_HERE();
  Vote mine{predicate, 0, 0};
  collective("vote.sync", key_of(kBallot), mask & self().warp->live, &mine, [](Warp&, uint32_t m, void const* const* a) {
    uint32_t result = 0;
    for (uint32_t l = m; l; l &= l - 1) {
      int const lane = __builtin_ctz(l);
      result |= uint32_t(static_cast<Vote const*>(a[lane])->predicate) << lane;
    }
    for (uint32_t l = m; l; l &= l - 1) {
      static_cast<Vote*>(const_cast<void*>(a[__builtin_ctz(l)]))->result = result;
    }
  });
  return mine.result;
}

uint32_t match_any(uint32_t mask, uint64_t value) {
  CGE_HERE();
  Vote mine{false, value, 0};
  collective("match.sync", key_of(kMatch), mask & self().warp->live, &mine, [](Warp&, uint32_t m, void const* const* a) {
    for (uint32_t l = m; l; l &= l - 1) {
      auto* v = static_cast<Vote*>(const_cast<void*>(a[__builtin_ctz(l)]));
      for (uint32_t k = m; k; k &= k - 1) {
        int const lane = __builtin_ctz(k);
        v->result |= uint32_t(static_cast<Vote const*>(a[lane])->value == v->value) << lane;
      }
    }
  });
  return mine.result;
}

namespace {
struct Elect {
  void const *lane, *predicate;
};
}  // namespace

void elect(uint32_t mask, void const* lane, void const* predicate) {
  CGE_HERE();
  Elect mine{lane, predicate};
  collective("elect.sync", key_of(kElect), mask & self().warp->live, &mine, [](Warp&, uint32_t m, void const* const* a) {
    uint32_t const leader = uint32_t(__builtin_ctz(m));
    for (uint32_t l = m; l; l &= l - 1) {
      uint32_t const at = uint32_t(__builtin_ctz(l));
      auto const* e = static_cast<Elect const*>(a[at]);
      if (e->lane) { *static_cast<uint32_t*>(const_cast<void*>(e->lane)) = leader; }
      *static_cast<bool*>(const_cast<void*>(e->predicate)) = at == leader;
    }
  });
}

namespace {

struct Matrix {
  uint32_t address;
  void const* const* registers;
  int count;
  bool transposed, good;
};

// Checks the row addresses that the first 8 * count lanes supply.
void check_rows(Warp& warp, void const* const* arguments, bool write) {
  Matrix const& first = *static_cast<Matrix const*>(arguments[0]);
  Fiber* const last = current;
  char const* what = write ? "stmatrix" : "ldmatrix";
  uint64_t rows[32] = {};
  uint32_t origin = 0;
  uint32_t const site = site_index(warp.lanes[0]->pc);
  for (int l = 0; l < 8 * first.count; ++l) {
    Matrix& m = *static_cast<Matrix*>(const_cast<void*>(arguments[l]));
    current = warp.lanes[l];
    current->pc = warp.lanes[0]->pc;
    rows[l] = m.address;
    m.good = check_aligned(kSharedWindow + m.address, 16, what) && check_shared(m.address, 16, write, what);
    if (!m.good) { continue; }
    if (write) {
      shared_write(m.address, 16, site, what);
    } else {
      origin = shared_read(m.address, 16, site, what);
    }
  }
  current = last;
  count_matrix(site, write ? Access::stmatrix : Access::ldmatrix, first.count, rows, origin);
}

// Register i of lane l holds elements 2 * (l % 4) and the next of row l / 4 of matrix i; transposed, of column l / 4.
void move_matrices(Warp& warp, uint32_t, void const* const* arguments, bool write) {
  if (kSanitize) { check_rows(warp, arguments, write); }
  Matrix const& shape = *static_cast<Matrix const*>(arguments[0]);
  for (int i = 0; i < shape.count; ++i) {
    uint16_t tile[8][8];
    uint16_t* rows[8];
    for (int r = 0; r < 8; ++r) {
      Matrix const& m = *static_cast<Matrix const*>(arguments[8 * i + r]);
      rows[r] = static_cast<uint16_t*>(shared_pointer(m.address));
      if (!m.good) {
        std::memset(tile[r], 0xff, 16);
        rows[r] = nullptr;
      } else if (!write) {
        std::memcpy(tile[r], rows[r], 16);
      }
    }
    for (int l = 0; l < 32; ++l) {
      Matrix const& m = *static_cast<Matrix const*>(arguments[l]);
      void* reg = const_cast<void*>(m.registers[i]);
      uint16_t pair[2];
      if (write) { std::memcpy(pair, reg, 4); }
      for (int e = 0; e < 2; ++e) {
        uint16_t& element = shape.transposed ? tile[2 * (l % 4) + e][l / 4] : tile[l / 4][2 * (l % 4) + e];
        if (write) {
          element = pair[e];
        } else {
          pair[e] = element;
        }
      }
      if (!write) { std::memcpy(reg, pair, 4); }
    }
    for (int r = 0; write && r < 8; ++r) {
      if (rows[r]) { std::memcpy(rows[r], tile[r], 16); }
    }
  }
}

}  // namespace

void ldmatrix(int count, bool transposed, uint32_t address, Registers to) {
  CGE_HERE();
  Matrix mine{address, to.begin(), count, transposed, true};
  collective("ldmatrix", key_of(kLdmatrix, uint64_t(count * 2 + transposed)), ~0u, &mine,
             [](Warp& w, uint32_t m, void const* const* a) { move_matrices(w, m, a, false); });
}

void stmatrix(int count, bool transposed, uint32_t address, Registers from) {
  CGE_HERE();
  Matrix mine{address, from.begin(), count, transposed, true};
  collective("stmatrix", key_of(kStmatrix, uint64_t(count * 2 + transposed)), ~0u, &mine,
             [](Warp& w, uint32_t m, void const* const* a) { move_matrices(w, m, a, true); });
}

void movmatrix(Registers operands) {
  CGE_HERE();
  collective("movmatrix", key_of(kMovmatrix), ~0u, operands.begin(), [](Warp&, uint32_t, void const* const* a) {
    uint16_t tile[8][8];
    for (int l = 0; l < 32; ++l) {
      std::memcpy(&tile[l / 4][2 * (l % 4)], static_cast<void const* const*>(a[l])[1], 4);
    }
    for (int l = 0; l < 32; ++l) {
      uint16_t const pair[2] = {tile[2 * (l % 4)][l / 4], tile[2 * (l % 4) + 1][l / 4]};
      std::memcpy(const_cast<void*>(static_cast<void const* const*>(a[l])[0]), pair, 4);
    }
  });
}

}  // namespace cge
