#include "counts.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "report.hpp"

namespace cge {

namespace {

enum Where : uint8_t { shared, global_memory };

struct Total {
  uint64_t requests = 0, cost = 0, ideal = 0, worst = 0;
};

using Key = std::tuple<uint32_t, uint8_t, uint8_t, uint32_t, uint32_t>;  // site, where, access, bytes, origin
std::map<Key, Total> totals;
struct Counted {
  uint64_t count = 0;
  std::string (*name)(uint64_t) = nullptr;
};
std::map<std::pair<uint32_t, uint64_t>, Counted> instructions;

struct Pending {
  Access access = Access::load;
  bool bypass_l1 = false;
  uint32_t bytes = 0, origin = 0;
  Request request;
};
std::unordered_map<uint64_t, Pending> pending;  // by warp, site and repetition

struct Cost {
  uint32_t now = 0, ideal = 0;

  void operator+=(Cost other) {
    now += other.now;
    ideal += other.ideal;
  }
};

// Distinct 4-byte words in the fullest bank, and how many that would be if the banks had equally many.
Cost one_phase(uint32_t bytes, uint64_t const* address, uint32_t count, bool merge) {
  uint32_t most = 0, all = 0;
  uint64_t words[32][160];
  uint8_t fill[32] = {};
  for (uint32_t i = 0; i < count; ++i) {
    for (uint64_t w = address[i] / 4; w < (address[i] + bytes + 3) / 4; ++w) {
      uint32_t const bank = w % 32;
      uint64_t* const begin = words[bank];
      if (merge && std::find(begin, begin + fill[bank], w) != begin + fill[bank]) { continue; }
      begin[fill[bank]++] = w;
      most = std::max<uint32_t>(most, fill[bank]);
      ++all;
    }
  }
  return {most, (all + 31) / 32};
}

bool pairs_merge(uint32_t mask, uint64_t const* address, uint32_t distance) {
  for (uint32_t l = 0; l < 32; ++l) {
    bool const both = (mask >> l & 1) && (mask >> (l ^ distance) & 1);
    if (both && address[l] != address[l ^ distance]) { return false; }
  }
  return true;
}

// One pass for each line of the source; equal words of a pass do not merge.
Cost cp_async_wavefronts(uint32_t bytes, uint32_t mask, uint64_t const* address, uint64_t const* source) {
  Cost total;
  uint32_t left = mask;
  while (left) {
    uint64_t const line = source[__builtin_ctz(left)] / 128;
    uint64_t chosen[32];
    uint32_t n = 0;
    for (uint32_t l = 0; l < 32; ++l) {
      if ((left >> l & 1) && source[l] / 128 == line) {
        chosen[n++] = address[l];
        left &= ~(1u << l);
      }
    }
    total += one_phase(bytes, chosen, n, false);
  }
  return total;
}

// The bytes of these accesses, those of several counted once.
uint32_t distinct_bytes(uint32_t bytes, uint64_t const* address, uint32_t count) {
  uint32_t const unit = std::min(bytes, 4u);
  uint64_t units[32 * 8];  // no access has more than 32 bytes
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t u = 0; u < bytes / unit; ++u) { units[n++] = address[i] / unit + u; }
  }
  if (!std::is_sorted(units, units + n)) { std::sort(units, units + n); }
  return uint32_t(std::unique(units, units + n) - units) * unit;
}

Cost sectors(uint32_t bytes, uint64_t const* address, uint32_t count) {
  uint64_t seen[128];
  uint32_t n = 0;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint64_t s = address[i] / 32; s <= (address[i] + bytes - 1) / 32; ++s) {
      if (std::find(seen, seen + n, s) == seen + n) { seen[n++] = s; }
    }
  }
  return {n, (distinct_bytes(bytes, address, count) + 31) / 32};
}

// In phases, each of which costs the most distinct words of a bank.
Cost plain_wavefronts(Access access, uint32_t bytes, uint32_t mask, uint64_t const* address) {
  uint32_t lanes = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
  if (access == Access::load && bytes >= 8 && (pairs_merge(mask, address, 1) || pairs_merge(mask, address, 2))) {
    lanes *= 2;
  }
  Cost total;
  for (uint32_t begin = 0; begin < 32; begin += lanes) {
    uint64_t active[32];
    uint32_t n = 0;
    for (uint32_t l = begin; l < begin + lanes; ++l) {
      if (mask >> l & 1) { active[n++] = address[l]; }
    }
    total += one_phase(bytes, active, n, true);
  }
  return total;
}

void add(uint32_t site, Where where, Access access, uint32_t bytes, uint32_t origin, Cost cost) {
  Total& t = totals[Key{site, where, uint8_t(access), bytes, origin}];
  ++t.requests;
  t.cost += cost.now;
  t.ideal += cost.ideal;
  t.worst = std::max<uint64_t>(t.worst, cost.now);
}

void finish(uint32_t site, Pending const& p) {
  Request const& r = p.request;
  bool const copy = p.access == Access::cp_async;
  if (copy || is_shared(reinterpret_cast<void*>(r.address[__builtin_ctz(r.mask)]))) {
    // NOTE: the hardware's counters see nothing of cp.async.cg; its cost shows in the sectors.
    if (!copy || !p.bypass_l1) {
      add(site, shared, p.access, p.bytes, p.origin,
          copy ? cp_async_wavefronts(p.bytes, r.mask, r.address, r.source)
               : plain_wavefronts(p.access, p.bytes, r.mask, r.address));
    }
  }
  if (copy || !is_shared(reinterpret_cast<void*>(r.address[__builtin_ctz(r.mask)]))) {
    uint64_t const* from = copy ? r.source : r.address;
    uint64_t active[32];
    uint32_t n = 0;
    for (uint32_t l = 0; l < 32; ++l) {
      if ((r.mask >> l & 1) && from[l]) { active[n++] = from[l]; }
    }
    if (n) { add(site, global_memory, p.access, p.bytes, p.origin, sectors(p.bytes, active, n)); }
  }
}

char const* name_of(uint8_t access) {
  static char const* const names[] = {"load", "store", "ldmatrix", "stmatrix", "cp.async"};
  return names[access];
}

}  // namespace

void count_matrix(uint32_t site, Access access, int matrices, uint64_t const* rows, uint32_t origin) {
  Cost total;
  for (int m = 0; m < matrices; ++m) {
    total += one_phase(16, rows + 8 * m, 8, true);
  }
  add(site, shared, access, 16, origin, total);
}

namespace {

void count_of(Fiber& me, uint32_t segment, uint32_t site, Access access, uint32_t bytes, uint64_t address,
              uint64_t source, uint32_t origin, bool bypass_l1) {
  Site& s = site_at(site);
  if (s.fiber != &me || s.segment != segment) {
    s.fiber = &me;
    s.segment = segment;
    s.repeat = 0;
  }
  uint64_t const warp = me.cta->slot % 1024 * 64 + me.warp->index;
  Pending& p = pending[(uint64_t(site) << 32) | (uint64_t(s.repeat++ & 0xffff) << 16) | warp];
  Request& r = p.request;
  if (r.mask && ((r.mask >> me.lane & 1) || r.segment != segment || p.bytes != bytes)) {
    finish(site, p);
    r.mask = 0;
  }
  if (!r.mask || origin) { p.origin = origin; }
  p.access = access;
  p.bytes = bytes;
  p.bypass_l1 = bypass_l1;
  r.segment = segment;
  r.address[me.lane] = address;
  r.source[me.lane] = source;
  r.mask |= 1u << me.lane;
}

// The plain access that may still grow.
struct Held {
  Fiber* fiber = nullptr;
  uint32_t segment = 0, site = 0, last_site = 0, bytes = 0, origin = 0;
  uint64_t begin = 0;
};
Held held[2];  // of loads, and of stores

void let_go(Held& h, Access access) {
  while (h.bytes) {
    uint32_t size = 16;
    while (size > h.bytes || h.begin % size) { size /= 2; }
    count_of(*h.fiber, h.segment, h.site, access, size, h.begin, 0, h.origin, false);
    h.begin += size;
    h.bytes -= size;
  }
}

}  // namespace

void count_lane(uint32_t site, Access access, uint32_t bytes, void const* address, void const* source, uint32_t origin,
                bool bypass_l1) {
  count_of(self(), self().segment, site, access, bytes, reinterpret_cast<uint64_t>(address),
           reinterpret_cast<uint64_t>(source), origin, bypass_l1);
}

void count_plain(uint32_t site, Access access, uint32_t bytes, void const* address, uint32_t origin) {
  Fiber& me = self();
  Held& h = held[access == Access::store];
  uint64_t const begin = reinterpret_cast<uint64_t>(address);
  bool const grows = h.bytes && h.fiber == &me && h.segment == me.segment && h.last_site != site &&
                     begin == h.begin + h.bytes && h.begin % 16 + h.bytes + bytes <= 16;
  if (grows) {
    h.bytes += bytes;
    h.last_site = site;
    return;
  }
  let_go(h, access);
  h = {&me, me.segment, site, site, bytes, origin, begin};
}

void count_instruction(uint32_t site, uint64_t code, std::string (*name)(uint64_t)) {
  Counted& c = instructions[{site, code}];
  c.name = name;
  ++c.count;
}

void flush_counts() {
  let_go(held[0], Access::load);
  let_go(held[1], Access::store);
  for (auto& [key, p] : pending) {
    if (p.request.mask) { finish(uint32_t(key >> 32), p); }
  }
  pending.clear();
}

void write_counts(std::string& out) {
  flush_counts();
  char line[400];
  for (auto const& [key, t] : totals) {
    auto const& [site, where, access, bytes, origin] = key;
    std::snprintf(line, sizeof line,
                  "{\"type\":\"traffic\",\"pc\":%zu,\"space\":\"%s\",\"access\":\"%s\",\"bytes\":%u,"
                  "\"requests\":%llu,\"cost\":%llu,\"ideal\":%llu,\"worst\":%llu,\"tensor\":",
                  reinterpret_cast<size_t>(site_at(site).pc), where == shared ? "shared" : "global", name_of(access),
                  bytes, static_cast<unsigned long long>(t.requests),
                  static_cast<unsigned long long>(t.cost), static_cast<unsigned long long>(t.ideal),
                  static_cast<unsigned long long>(t.worst));
    out += line;
    append_json(out, origin && origin <= buffers.size() ? buffers[origin - 1].name : "");
    out += "}\n";
  }
  for (auto const& [key, counted] : instructions) {
    std::snprintf(line, sizeof line, "{\"type\":\"instruction\",\"pc\":%zu,\"count\":%llu,\"name\":",
                  reinterpret_cast<size_t>(site_at(key.first).pc), static_cast<unsigned long long>(counted.count));
    out += line;
    append_json(out, counted.name(key.second));
    out += "}\n";
  }
  totals.clear();
  instructions.clear();
}

}  // namespace cge
