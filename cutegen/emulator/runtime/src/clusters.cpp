// Begin and end of clusters: their CTAs, threads, shared addresses and barriers.
#include "cluster.hpp"

#include <algorithm>
#include <memory>

#include "async_copy.hpp"
#include "memory.hpp"
#include "order.hpp"
#include "scheduler.hpp"
#include "shadow.hpp"

namespace cge {

std::vector<Cta*> slots;
std::vector<Cluster*> alive;

namespace {

std::vector<std::unique_ptr<Cluster>> unused;
constexpr uint32_t kSlots = uint32_t(kSharedSpan / kCtaSpan);

// The first of `count` neighbouring slots that are free.
uint32_t free_slots(uint32_t count) {
  uint32_t run = 0;
  for (uint32_t i = 0; i < slots.size(); ++i) {
    run = slots[i] ? 0 : run + 1;
    if (run == count) { return i + 1 - count; }
  }
  uint32_t const first = uint32_t(slots.size()) - run;
  slots.resize(first + count);
  return first;
}

void begin_cta(Cta& cta, Cluster& cluster, uint32_t rank, uint32_t slot) {
  dim3 const g = launch_now.grid, c = launch_now.cluster;
  uint32_t const gx = g.x / c.x, gy = g.y / c.y, i = cluster.index;
  cta.cluster = &cluster;
  cta.rank = rank;
  cta.slot = slot;
  cta.block = {i % gx * c.x + rank % c.x, i / gx % gy * c.y + rank / c.x % c.y, i / gx / gy * c.z + rank / c.x / c.y};
  cta.linear = cta.block.x + g.x * (cta.block.y + g.y * cta.block.z);
  cta.live = threads_per_cta;
  cta.proxy_clock = 0;
  cta.dynamic_bytes = launch_now.dynamic_shared;
  cta.static_bytes = 0;
  cta.statics.clear();
  cta.shared = static_cast<char*>(shared_pointer(slot * kCtaSpan + kSharedBegin));
  for (NamedBarrier& b : cta.barriers) { b = NamedBarrier{}; }
  cta.fibers.resize(threads_per_cta);
  cta.warps.resize((threads_per_cta + 31) / 32);
  slots[slot] = &cta;
}

void begin_threads(Cta& cta, void (*entry)()) {
  KnowledgePtr nothing(new Knowledge(threads_per_cta + 1));
  for (uint32_t w = 0; w < cta.warps.size(); ++w) {
    Warp& warp = cta.warps[w];
    uint32_t const lanes = std::min(32u, threads_per_cta - w * 32);
    warp.cta = &cta;
    warp.index = w;
    warp.live = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warp.collectives.resize(1);
    warp.collectives[0].arrived = 0;
    warp.stored_by = 0;
    warp.stored = 0;
  }
  dim3 const b = launch_now.block;
  for (uint32_t t = 0; t < threads_per_cta; ++t) {
    Fiber& f = cta.fibers[t];
    f.tid = {t % b.x, t / b.x % b.y, t / b.x / b.y};
    f.index = t;
    f.segment = 0;
    f.lane = t % 32;
    f.warp = &cta.warps[t / 32];
    f.warp->lanes[f.lane] = &f;
    f.cta = &cta;
    f.doing = "";
    f.pc = nullptr;
    f.clock.base = nothing;
    f.clock.self = 1;
    f.fenced_self = f.fenced_init = 0;
    f.alone = false;
    f.fenced = nothing;
    f.device_visible = f.block_visible = KnowledgePtr();
    f.cluster_phase = 0;
    f.waits_at = 0;
    f.polls.epoch = 0;
    f.stack = take_stack();
    start_fiber(f, entry);
    wake(&f);
  }
}

void end_threads(Cta& cta) {
  for (Fiber& f : cta.fibers) {
    if (f.state != State::done) { forget_async(f); }
    forget_products(f);
    forget_stores(f);
    forget_inbox(f);
    f.clock.base = f.fenced = f.device_visible = f.block_visible = KnowledgePtr();
    return_stack(f.stack);
  }
  for (NamedBarrier& b : cta.barriers) { b.joined = b.device_visible = KnowledgePtr(); }
}

}  // namespace

bool room_for_cluster() { return (alive.size() + 1) * cluster_size() <= kSlots; }

void start_cluster(uint32_t index, void (*entry)()) {
  if (unused.empty()) { unused.push_back(std::make_unique<Cluster>()); }
  Cluster& cluster = *unused.back().release();
  unused.pop_back();
  cluster.index = index;
  uint32_t const count = cluster_size(), first = free_slots(count);
  map_shared(first + count);
  cluster.ctas.resize(count);
  begin_cluster_barrier(cluster);
  for (uint32_t rank = 0; rank < count; ++rank) {
    Cta& cta = cluster.ctas[rank];
    begin_cta(cta, cluster, rank, first + rank);
    begin_barriers(cta);
    begin_products(cta);
    begin_visits(cta);
    begin_shared(cta);
  }
  alive.push_back(&cluster);
  for (Cta& cta : cluster.ctas) { begin_threads(cta, entry); }
}

void end_cluster(Cluster& cluster) {
  forget_loads(cluster);
  forget_remotes(cluster);
  for (Cta& cta : cluster.ctas) {
    end_visits(cta);
    end_threads(cta);
    end_shared(cta);
    slots[cta.slot] = nullptr;
  }
  alive.erase(std::find(alive.begin(), alive.end(), &cluster));
  unused.emplace_back(&cluster);
}

}  // namespace cge
