#include "shadow.hpp"

#include <cstring>
#include <memory>
#include <string>

#include "memory.hpp"
#include "report.hpp"
#include "wgmma.hpp"

namespace cge {

namespace {

std::vector<std::unique_ptr<SharedShadow>> pool;
constexpr uint32_t kReading = ~0u;  // the clock of a reader that has not finished

}  // namespace

bool happened_before(Fiber const& me, uint32_t agent, uint32_t clock) {
  uint32_t const rank = agent / kAgentSpan, thread = agent % kAgentSpan;
  if (rank == me.cta->rank) { return thread == me.index || me.clock.knows(thread, clock); }
  return me.clock.knows_foreign(peers(me)[rank].linear, thread, clock);
}

std::string agent_name(uint32_t agent) {
  uint32_t const thread = agent % kAgentSpan;
  std::string name = thread == threads_per_cta ? "the asynchronous proxy" : "thread " + std::to_string(thread);
  if (cluster_size() > 1) { name += " of CTA " + std::to_string(agent / kAgentSpan) + " of the cluster"; }
  return name;
}

namespace {

// NOTE: the cold paths are kept out of line, so that the usual access stays short.
[[gnu::noinline]] void found(char const* kind, uint32_t address, uint32_t bytes, char const* what, Cell const& cell,
                             uint32_t site, std::string const& message) {
  Finding f{kind};
  f.tensor = cell.origin && cell.origin <= buffers.size() ? "shared memory holding " + buffers[cell.origin - 1].name
                                                        : "shared memory";
  f.offset = int64_t(address % kCtaSpan) - kSharedBegin;
  f.bytes = bytes;
  f.other_site = site;
  f.message = std::string(what) + " " + message;
  report(std::move(f));
}

struct Range {
  SharedShadow& shadow;
  uint32_t offset;  // from the begin of dynamic shared memory
};

Range locate(uint32_t address) {
  return {*cta_of(address).shadow, address % kCtaSpan - kSharedBegin};
}

void split(SharedShadow& s, uint32_t block) {
  if (!s.uniform[block]) { return; }
  s.uniform[block] = 0;
  Cell* c = &s.cells[size_t(block) * 16];
  for (int i = 1; i < 16; ++i) {
    c[i] = c[0];
    if (c[0].more) {
      s.overflow.push_back(s.overflow[c[0].more - 1]);
      c[i].more = uint32_t(s.overflow.size());
    }
  }
}

// Calls visit(cell) for the cells of a range until it returns false. Whole blocks count as one cell;
// `unite` makes them so.
template <class Visit>
void for_cells(uint32_t address, uint32_t bytes, bool unite, Visit visit) {
  auto [s, offset] = locate(address);
  uint32_t const end = offset + bytes;
  while (offset < end) {
    uint32_t const block = offset / 16;
    bool const whole = offset % 16 == 0 && end - offset >= 16;
    Cell* c = &s.cells[size_t(block) * 16];
    if (whole && s.uniform[block]) {
      if (!visit(s, c[0])) { return; }
      offset += 16;
      continue;
    }
    if (!whole) { split(s, block); }
    uint32_t const stop = std::min(end, (block + 1) * 16);
    for (; offset < stop; ++offset) {
      if (!visit(s, c[offset % 16])) { return; }
    }
    if (whole && unite) { s.uniform[block] = 1; }
  }
}

void forget_readers(SharedShadow& s, Cell& c) {
  if (c.more) {
    s.overflow[c.more - 1].clear();
    s.unused.push_back(c.more);
    c.more = 0;
  }
  c.readers = 0;
}

std::vector<Reader>& overflow_of(SharedShadow& s, Cell& c) {
  if (!c.more) {
    if (s.unused.empty()) {
      s.overflow.emplace_back();
      c.more = uint32_t(s.overflow.size());
    } else {
      c.more = s.unused.back();
      s.unused.pop_back();
    }
  }
  return s.overflow[c.more - 1];
}

void add_reader(SharedShadow& s, Cell& c, Fiber const& me, uint32_t site) {
  uint16_t const warp = uint16_t(me.cta->rank * 64 + me.warp->index);
  uint32_t const lane = 1u << me.lane;
  for (int i = 0; i < c.readers && i < 2; ++i) {
    Reader& r = c.first[i];
    if (r.warp == warp && (r.clock == me.clock.self || ((r.lanes & ~lane) == 0 && r.clock != kReading))) {
      r.lanes |= lane;
      r.clock = me.clock.self;
      r.site = uint16_t(site);
      return;
    }
  }
  if (c.readers < 2) {
    c.first[c.readers++] = {me.clock.self, lane, warp, uint16_t(site)};
    return;
  }
  auto& list = overflow_of(s, c);
  for (Reader& r : list) {
    if (r.warp == warp && (r.clock == me.clock.self || ((r.lanes & ~lane) == 0 && r.clock != kReading))) {
      r.lanes |= lane;
      r.clock = me.clock.self;
      r.site = uint16_t(site);
      return;
    }
  }
  list.push_back({me.clock.self, lane, warp, uint16_t(site)});
}

// The first reader that `me` does not know of, as an agent; ~0 if there is none.
uint32_t unordered_reader(Reader const& r, Fiber const& me) {
  uint32_t const base = r.warp / 64 * kAgentSpan + r.warp % 64 * 32;
  for (uint32_t lanes = r.lanes; lanes; lanes &= lanes - 1) {
    uint32_t const agent = base + uint32_t(__builtin_ctz(lanes));
    if (r.clock == kReading) { return agent; }
    if (!happened_before(me, agent, r.clock)) { return agent; }
  }
  return ~0u;
}

bool check_readers(SharedShadow& s, Cell& c, Fiber const& me, uint32_t address, uint32_t bytes, char const* what) {
  auto good = [&](Reader const& r) {
    uint32_t const agent = unordered_reader(r, me);
    if (agent == ~0u) { return true; }
    if (r.clock == kReading) {
      found("async-in-flight", address, bytes, what, c, r.site,
            "overwrites what a bulk store of " + agent_name(agent) + " is still reading: nothing has waited for it");
    } else {
      found("race-war", address, bytes, what, c, r.site,
            "overwrites what " + agent_name(agent) + " reads, and nothing orders the two");
    }
    return false;
  };
  for (int i = 0; i < c.readers && i < 2; ++i) {
    if (!good(c.first[i])) { return false; }
  }
  if (c.more) {
    for (Reader const& r : s.overflow[c.more - 1]) {
      if (!good(r)) { return false; }
    }
  }
  return true;
}

// Whether `me` may write now; reports if not.
bool check_write(SharedShadow& s, Cell& c, Fiber const& me, uint32_t address, uint32_t bytes, char const* what,
                 bool strong = false) {
  if (c.state == Bytes::in_flight) {
    found("async-in-flight", address, bytes, what, c, c.write_site,
          "writes where an asynchronous copy is still writing");
    return false;
  }
  if (c.state == Bytes::valid && !(strong && c.strong) && !happened_before(me, c.writer, c.write_clock)) {
    found("race-waw", address, bytes, what, c, c.write_site,
          "overwrites what " + agent_name(c.writer) + " wrote, and nothing orders the two");
    return false;
  }
  return c.readers == 0 || check_readers(s, c, me, address, bytes, what);
}

}  // namespace

void begin_shared(Cta& cta) {
  // NaN in every floating-point type: stale and missing data is loud also without the sanitizer.
  uint32_t const bytes = cta.dynamic_bytes;
  std::memset(cta.shared, 0xff, bytes);
  if (!kSanitize) { return; }
  while (pool.size() <= cta.slot) { pool.push_back(nullptr); }
  if (!pool[cta.slot]) { pool[cta.slot] = std::make_unique<SharedShadow>(); }
  cta.shadow = pool[cta.slot].get();
  SharedShadow& s = *cta.shadow;
  s.uniform.clear();
  s.overflow.clear();
  s.unused.clear();
  grow_shared(cta, 0, bytes);
}

void grow_shared(Cta& cta, uint32_t from, uint32_t to) {
  std::memset(cta.shared + from, 0xff, to - from);
  if (!kSanitize) { return; }
  SharedShadow& s = *cta.shadow;
  size_t const blocks = (to + 15) / 16;
  if (s.cells.size() < blocks * 16) { s.cells.resize(blocks * 16); }
  for (size_t b = s.uniform.size(); b < blocks; ++b) { s.cells[b * 16] = Cell{}; }
  s.uniform.resize(blocks, 1);
}

void end_shared(Cta& cta) { cta.shadow = nullptr; }

uint32_t shared_read(uint32_t address, uint32_t bytes, uint32_t site, char const* what, bool strong) {
  Fiber& me = self();
  uint32_t origin = 0;
  for_cells(address, bytes, false, [&](SharedShadow& s, Cell& c) {
    if (c.state != Bytes::valid) {
      bool const flying = c.state == Bytes::in_flight;
      found(flying ? "async-in-flight" : "uninitialised-shared", address, bytes, what, c, flying ? c.write_site : ~0u,
            flying ? "reads what an asynchronous copy is still writing: nothing has waited for it"
                   : "reads shared memory that nobody has written");
      return false;
    }
    if (!(strong && c.strong) && !happened_before(me, c.writer, c.write_clock)) {
      found("race-raw", address, bytes, what, c, c.write_site,
            "reads what " + agent_name(c.writer) + " wrote, and nothing orders the two");
      return false;
    }
    origin = c.origin;
    if (!strong) { add_reader(s, c, me, site); }
    return true;
  });
  return origin;
}

void shared_write(uint32_t address, uint32_t bytes, uint32_t site, char const* what, bool strong) {
  Fiber& me = self();
  uint16_t const agent = uint16_t(agent_of(me));
  if (products_fly()) { check_products(address, bytes, what); }
  bool good = true;
  for_cells(address, bytes, true, [&](SharedShadow& s, Cell& c) {
    good = good && check_write(s, c, me, address, bytes, what, strong);
    if (c.state == Bytes::in_flight) { return true; }
    forget_readers(s, c);
    c.state = Bytes::valid;
    c.writer = agent;
    c.write_clock = me.clock.self;
    c.write_site = uint16_t(site);
    c.origin = 0;
    c.async_proxy = false;
    c.strong = strong;
    return true;
  });
}

void shared_async_begin(uint32_t address, uint32_t bytes, uint32_t site, char const* what) {
  Fiber& me = self();
  if (products_fly()) { check_products(address, bytes, what); }
  bool good = true;
  for_cells(address, bytes, true, [&](SharedShadow& s, Cell& c) {
    good = good && check_write(s, c, me, address, bytes, what);
    forget_readers(s, c);
    c.state = Bytes::in_flight;
    c.write_site = uint16_t(site);
    return true;
  });
}

void shared_async_end(uint32_t address, uint32_t bytes, uint32_t site, uint32_t agent, uint32_t clock, uint32_t origin,
                      bool async_proxy) {
  for_cells(address, bytes, true, [&](SharedShadow&, Cell& c) {
    c.state = Bytes::valid;
    c.writer = uint16_t(agent);
    c.write_clock = clock;
    c.write_site = uint16_t(site);
    c.origin = uint8_t(origin);
    c.async_proxy = async_proxy;
    c.strong = false;
    return true;
  });
}

void shared_async_read(uint32_t address, uint32_t bytes, uint32_t site, char const* what) {
  Fiber& me = self();
  shared_read(address, bytes, site, what);
  for_cells(address, bytes, false, [&](SharedShadow&, Cell& c) {
    if (c.state != Bytes::valid || c.async_proxy) { return true; }
    uint32_t const thread = c.writer % kAgentSpan;
    bool const mine = c.writer == agent_of(me);
    bool const fenced = (mine && me.fenced_self >= c.write_clock) ||
                        (me.fenced.get() && me.fenced->own[thread] >= c.write_clock) ||
                        peers(me)[c.writer / kAgentSpan].fibers[thread].fenced_self >= c.write_clock;
    if (!fenced) {
      found("missing-proxy-fence", address, bytes, what, c, c.write_site,
            "reads through the asynchronous proxy what " + agent_name(c.writer) +
                " stored, without fence.proxy.async between the two");
      return false;
    }
    return true;
  });
}

void shared_read_begin(uint32_t address, uint32_t bytes, uint32_t site) {
  Fiber const& me = self();
  uint16_t const warp = uint16_t(me.cta->rank * 64 + me.warp->index);
  for_cells(address, bytes, false, [&](SharedShadow& s, Cell& c) {
    Reader const reading{kReading, 1u << me.lane, warp, uint16_t(site)};
    if (c.readers < 2) {
      c.first[c.readers++] = reading;
    } else {
      overflow_of(s, c).push_back(reading);
    }
    return true;
  });
}

void shared_read_end(uint32_t address, uint32_t bytes) {
  Fiber const& me = self();
  uint16_t const warp = uint16_t(me.cta->rank * 64 + me.warp->index);
  uint32_t const lane = 1u << me.lane;
  for_cells(address, bytes, false, [&](SharedShadow& s, Cell& c) {
    auto finish = [&](Reader& r) {
      if (r.clock != kReading || r.warp != warp || r.lanes != lane) { return false; }
      r.clock = me.clock.self;
      return true;
    };
    for (int i = 0; i < c.readers && i < 2; ++i) {
      if (finish(c.first[i])) { return true; }
    }
    if (c.more) {
      for (Reader& r : s.overflow[c.more - 1]) {
        if (finish(r)) { break; }
      }
    }
    return true;
  });
}

}  // namespace cge
