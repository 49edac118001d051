// wgmma: four warps multiply 64 rows by descriptors of tiles in shared memory. Products take place when their
// warpgroup waits for them, as late as they may. Fragment layouts and canonical shared layouts are those of the
// PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "counts.hpp"
#include "memory.hpp"
#include "mma.hpp"
#include "numeric.hpp"
#include "report.hpp"
#include "shadow.hpp"
#include "watch.hpp"
#include "wgmma.hpp"

namespace cge {

namespace {

// One lane's part of a product.
struct Product {
  MmaCode code;
  uint64_t a, b;  // descriptors
  bool scale_d, from_registers;
  int8_t scale_a, scale_b, major_a, major_b;
  uint32_t site;
  uint32_t registers_a[4];
  std::vector<void*> d, a_from;
};

// The lanes of a warpgroup that are waiting together.
struct Meeting {
  uint32_t arrived = 0;
  uint32_t pending = 0;
  FiberList waiting;
};
constexpr uint32_t kWarpgroups = 8;
std::vector<Meeting> meetings;  // by CTA and warpgroup

}  // namespace

struct ThreadProducts {
  std::vector<Product> open;
  std::deque<std::vector<Product>> groups;
  bool fenced = false;
  Watch watch;
};

namespace {

ThreadProducts& products_of(Fiber& f) {
  if (!f.products) { f.products = new ThreadProducts; }
  return *f.products;
}

int element_bytes(Type t) {
  switch (t) {
    case Type::f16: case Type::bf16: return 2;
    case Type::tf32: return 4;
    default: return 1;
  }
}

float decode(Type t, void const* p) {
  uint32_t u = 0;
  switch (t) {
    case Type::f16: std::memcpy(&u, p, 2); return from_f16(uint16_t(u));
    case Type::bf16: std::memcpy(&u, p, 2); return from_bf16(uint16_t(u));
    case Type::tf32: std::memcpy(&u, p, 4); return float_of_bits(u & 0xffffe000u);
    case Type::e4m3: std::memcpy(&u, p, 1); return fp8_table().e4m3[u];
    case Type::e5m2: std::memcpy(&u, p, 1); return fp8_table().e5m2[u];
    case Type::s8: std::memcpy(&u, p, 1); return float(int8_t(u));
    default: std::memcpy(&u, p, 1); return float(uint8_t(u));
  }
}

// Reads and decodes rows of a tile, [extent][k].
void read_tile(Tile const& t, Type type, int extent, int k, uint32_t site, std::vector<float>& out) {
  out.resize(size_t(extent * k));
  int const per = 16 / t.element;
  bool good = true;
  for_tile(t, extent, k, [&](int mn, int kk, uint32_t address) {
    if (kSanitize) {
      good = good && check_shared(address, 16, false, "wgmma");
      if (!good) { return; }
      shared_async_read(address, 16, site, "wgmma");
    }
    auto const* p = static_cast<char const*>(shared_pointer(address));
    for (int e = 0; e < per; ++e) {
      int const m = t.mn_major ? mn + e : mn, c = t.mn_major ? kk : kk + e;
      out[size_t(m * k + c)] = decode(type, p + e * t.element);
    }
  });
}

// A in registers: as m16n8k16 has it, in the warp's 16 rows.
void read_registers(std::vector<Product*> const& group, int k, std::vector<float>& out) {
  Type const type = Type(group[0]->code.a);
  int const bytes = element_bytes(type), per = 4 / bytes;
  out.resize(size_t(64 * k));
  for (int t = 0; t < 128; ++t) {
    int const row = t / 32 * 16 + t % 32 / 4, i = t % 4;
    for (int r = 0; r < 4; ++r) {
      auto const* p = reinterpret_cast<char const*>(&group[size_t(t)]->registers_a[r]);
      for (int e = 0; e < per; ++e) {
        out[size_t((row + 8 * (r % 2)) * k + (r / 2 * 4 + i) * per + e)] = decode(type, p + e * bytes);
      }
    }
  }
}

template <class T>
void accumulate(Product const& p, std::vector<float> const& a, std::vector<float> const& b,
                std::vector<Product*> const& group) {
  int const n = p.code.n, k = p.code.k;
  std::vector<T> bt(size_t(k * n));
  for (int c = 0; c < n; ++c) {
    for (int i = 0; i < k; ++i) { bt[size_t(i * n + c)] = T(b[size_t(c * k + i)]) * T(p.scale_b); }
  }
  bool const half = Type(p.code.d) == Type::f16;
  std::vector<T> sum(static_cast<size_t>(n));
  for (int row = 0; row < 64; ++row) {
    std::fill(sum.begin(), sum.end(), T(0));
    for (int i = 0; i < k; ++i) {
      T const x = T(a[size_t(row * k + i)]) * T(p.scale_a);
      for (int c = 0; c < n; ++c) { sum[size_t(c)] += x * bt[size_t(i * n + c)]; }
    }
    // Row r of the warp's 16 lies in lanes 4 * (r % 8) and up; columns 8 * j + 2 * i + e in their registers.
    int const base = row / 16 * 32 + row % 8 * 4, high = row % 16 / 8;
    for (int c = 0; c < n; ++c) {
      Product& lane = *group[size_t(base + c % 8 / 2)];
      if (half) {
        char* to = static_cast<char*>(lane.d[size_t(c / 8 * 2 + high)]) + c % 2 * 2;
        uint16_t h;
        std::memcpy(&h, to, 2);
        h = to_f16(float(sum[size_t(c)]) + (p.scale_d ? from_f16(h) : 0.0f));
        std::memcpy(to, &h, 2);
      } else {
        void* to = lane.d[size_t(c / 8 * 4 + high * 2 + c % 2)];
        T old;
        std::memcpy(&old, to, 4);
        T const value = sum[size_t(c)] + (p.scale_d ? old : T(0));
        std::memcpy(to, &value, 4);
      }
    }
  }
}

Tile tile_of(Product const& p, bool is_a, Cta const& cta) {
  return is_a ? Tile(p.a, p.major_a != 0, element_bytes(Type(p.code.a)), cta.slot * kCtaSpan)
              : Tile(p.b, p.major_b != 0, element_bytes(Type(p.code.b)), cta.slot * kCtaSpan);
}

void execute(std::vector<Product*> const& group, Cta const& cta) {
  Product const& p = *group[0];
  std::vector<float> a, b;
  if (p.from_registers) {
    read_registers(group, p.code.k, a);
  } else {
    read_tile(tile_of(p, true, cta), Type(p.code.a), 64, p.code.k, p.site, a);
  }
  read_tile(tile_of(p, false, cta), Type(p.code.b), p.code.n, p.code.k, p.site, b);
  a.resize(size_t(64 * p.code.k));
  b.resize(size_t(p.code.n * p.code.k));
  if (Type(p.code.d) == Type::s32) {
    accumulate<int32_t>(p, a, b, group);
  } else {
    accumulate<float>(p, a, b, group);
  }
}

std::string name_of(uint64_t code) {
  return "wgmma m64n" + std::to_string(code >> 16 & 0xffff) + "k" + std::to_string(code & 0xffff);
}

// All lanes of a warpgroup must have issued the same products.
void check_same(Cta& cta, uint32_t first, size_t count) {
  for (uint32_t t = 0; t < 128; ++t) {
    Fiber& f = cta.fibers[first + t];
    if (f.products && !f.products->groups.empty() && f.products->groups.front().size() == count) { continue; }
    Finding finding{"divergent-collective"};
    finding.message = "threads of one warpgroup have issued different numbers of wgmma";
    report_fatal(std::move(finding));
  }
}

// All 128 lanes have come: the groups beyond `pending` take place, and what they read is ordered before
// whatever any of the lanes does next.
void finish_groups(Fiber& last, uint32_t pending) {
  Cta& cta = *last.cta;
  uint32_t const first = last.index / 128 * 128;
  Fiber& lead = cta.fibers[first];
  void* const pc = lead.pc;
  current = &lead;
  while (products_of(lead).groups.size() > pending) {
    size_t const count = products_of(lead).groups.front().size();
    check_same(cta, first, count);
    for (size_t i = 0; i < count; ++i) {
      std::vector<Product*> group(128);
      for (uint32_t t = 0; t < 128; ++t) { group[t] = &cta.fibers[first + t].products->groups.front()[i]; }
      if (kSanitize) {
        lead.pc = site_at(group[0]->site).pc;
        land(lead, group[0]->from_registers ? 1 : 2);
      }
      execute(group, cta);
    }
    for (uint32_t t = 0; t < 128; ++t) {
      ThreadProducts& mine = *cta.fibers[first + t].products;
      for (Product const& p : mine.groups.front()) {
        if (!kSanitize) { break; }
        mine.watch.end(p.d, Use::accumulator);
        mine.watch.end(p.a_from, Use::operand);
      }
      mine.groups.pop_front();
    }
  }
  lead.pc = pc;
  current = &last;
  if (!kSanitize) { return; }
  uint32_t const done = lead.clock.self++;
  for (uint32_t t = 1; t < 128; ++t) {
    Clock& clock = cta.fibers[first + t].clock;
    KnowledgePtr joined(new Knowledge(*clock.base));
    joined->own[lead.index] = std::max(joined->own[lead.index], done);
    clock.base = joined;
  }
}

}  // namespace

void begin_products(Cta const& cta) {
  meetings.resize(std::max<size_t>(meetings.size(), (cta.slot + 1) * kWarpgroups));
  for (uint32_t w = 0; w < kWarpgroups; ++w) { meetings[cta.slot * kWarpgroups + w] = Meeting{}; }
}

void forget_products(Fiber& f) {
  if (f.products && products_fly()) { land(f); }
  delete f.products;
  f.products = nullptr;
}

void follow_watch(Fiber const* f) {
  watch_begin = watch_span = 0;
  if (!f || !f->products) { return; }
  watch_begin = f->products->watch.lowest();
  watch_span = f->products->watch.span();
}

void watched_access(void const* p, size_t bytes, bool write, void* pc) {
  Fiber& me = self();
  me.pc = pc;
  if (me.products->watch.touch(p, bytes, write)) {
    me.products->fenced = false;
    follow_watch(&me);
  }
}

namespace {

// What the registers of a product must be before it is issued.
void check_registers(ThreadProducts& mine, Product const& p) {
  Watch const& watch = mine.watch;
  if (!mine.fenced && !(watch.untouched(p.d) && watch.untouched(p.a_from))) {
    Finding f{"missing-wgmma-fence"};
    f.message = "wgmma after its registers may have been touched, without wgmma.fence between the two";
    report(std::move(f));
    mine.fenced = true;
  }
  if (!p.scale_d || watch.in_flight(p.d)) { return; }
  int poisoned = 0;
  for (void* r : p.d) {
    uint32_t w;
    std::memcpy(&w, r, 4);
    poisoned += w == kPoison;
  }
  if (poisoned < 2) { return; }
  Finding f{"uninitialised-fragment"};
  f.tensor = "fragment of C";
  f.message = "wgmma adds to accumulators that were never written (" + std::to_string(poisoned) + " of the thread's)";
  report(std::move(f));
}

}  // namespace

void wgmma(MmaCode code, Registers d, WgmmaA a, uint64_t b, bool scale_d, int scale_a, int scale_b, int major_a,
           int major_b) {
  Fiber& me = self();
  CGE_HERE();
  ThreadProducts& mine = products_of(me);
  Product p{code, a.address, b, scale_d, a.from.size() != 0, int8_t(scale_a), int8_t(scale_b), int8_t(major_a),
            int8_t(major_b), 0, {}, {}, {}};
  if (a.from.size() > 4) { unsupported("wgmma with these registers of A"); }
  size_t i = 0;
  for (void const* r : a.from) {
    std::memcpy(&p.registers_a[i++], r, 4);
    if (kSanitize) { p.a_from.push_back(const_cast<void*>(r)); }
  }
  for (void const* r : d) { p.d.push_back(const_cast<void*>(r)); }
  if (kSanitize) {
    p.site = site_index(me.pc);
    if (me.index % 128 == 0) {
      count_instruction(p.site, uint64_t(code.n) << 16 | code.k, name_of);
      if (!p.from_registers) { take_off(me, tile_of(p, true, *me.cta), 64, code.k, p.site); }
      take_off(me, tile_of(p, false, *me.cta), code.n, code.k, p.site);
    }
    check_registers(mine, p);
    mine.watch.begin(p.d, Use::accumulator, p.site);
    mine.watch.begin(p.a_from, Use::operand, p.site);
    follow_watch(&me);
  }
  mine.open.push_back(std::move(p));
}

void wgmma_fence() { products_of(self()).fenced = true; }

void wgmma_commit() {
  ThreadProducts& mine = products_of(self());
  mine.groups.push_back(std::move(mine.open));
  mine.open.clear();
}

void wgmma_wait(uint32_t pending) {
  Fiber& me = self();
  CGE_HERE();
  ++me.segment;
  products_of(me).fenced = false;
  Meeting& m = meetings[me.cta->slot * kWarpgroups + me.index / 128];
  if (me.index / 128 * 128 + 128 > threads_per_cta) { unsupported("wgmma in a warpgroup that is not whole"); }
  if (m.arrived && m.pending != pending) {
    Finding f{"divergent-collective"};
    f.message = "threads of one warpgroup wait for different numbers of wgmma groups";
    report_fatal(std::move(f));
  }
  m.pending = pending;
  if (++m.arrived < 128) {
    m.waiting.push(&me);
    block("wgmma.wait_group");
    return;
  }
  m.arrived = 0;
  FiberList waiting = m.waiting;
  m.waiting = FiberList{};
  finish_groups(me, pending);
  while (waiting.head) { wake(waiting.pop()); }
}

}  // namespace cge
