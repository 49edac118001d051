// The barrier of a cluster, and mbarriers in shared memory.
#include "cluster.hpp"

#include <string>
#include <unordered_map>

#include "memory.hpp"
#include "order.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

struct ClusterBarrier {
  uint32_t arrived = 0;
  uint64_t phase = 0;
  FiberList waiting;
  Released arriving, done;
};

namespace {

// Arrivals and bytes that a phase still waits for.
struct Mbarrier {
  int64_t expected = 0, pending = 0, bytes = 0;
  uint32_t phase = 0;
  uint32_t by = 0, clock = 0, site = ~0u;  // whose initialisation it was, and when
  FiberList waiting;
  Released arriving, done;
};
using Mbarriers = std::unordered_map<uint32_t, Mbarrier>;
std::vector<Mbarriers> of_slot;

Mbarrier* find_or_null(uint32_t at) {
  if (at / kCtaSpan >= of_slot.size()) { return nullptr; }
  Mbarriers& barriers = of_slot[at / kCtaSpan];
  auto it = barriers.find(at);
  return it == barriers.end() ? nullptr : &it->second;
}

Mbarrier* find(uint32_t at, char const* what) {
  if (Mbarrier* b = find_or_null(at)) { return b; }
  Finding f{"bad-arrival"};
  f.offset = int64_t(at % kCtaSpan) - kSharedBegin;
  f.tensor = "shared memory";
  f.message = std::string(what) + " on an mbarrier that was never initialised";
  report_fatal(std::move(f));
}

void wake_all(FiberList& list) {
  while (list.head) { wake(list.pop()); }
}

void complete_phase(Mbarrier& b) {
  if (b.pending > 0 || b.bytes != 0) { return; }
  b.pending = b.expected;
  ++b.phase;
  note_progress();
  if (kSanitize) {
    b.done.merge(b.arriving);
    b.arriving.clear();
  }
  wake_all(b.waiting);
}

}  // namespace

void begin_cluster_barrier(Cluster& cluster) {
  if (!cluster.barrier) { cluster.barrier = new ClusterBarrier; }
  *cluster.barrier = ClusterBarrier{};
}

void begin_barriers(Cta& cta) {
  if (of_slot.size() <= cta.slot) { of_slot.resize(cta.slot + 1); }
  of_slot[cta.slot].clear();
}

void cluster_arrive() {
  Fiber& me = self();
  CGE_HERE();
  ClusterBarrier& cluster = *me.cta->cluster->barrier;
  me.cluster_phase = cluster.phase;
  if (kSanitize) {
    me.fenced_init = me.clock.self;
    cluster.arriving.release(me);
  }
  if (++cluster.arrived < threads_per_cta * cluster_size()) { return; }
  cluster.arrived = 0;
  ++cluster.phase;
  if (kSanitize) {
    cluster.done.merge(cluster.arriving);
    cluster.arriving.clear();
  }
  note_progress();
  wake_all(cluster.waiting);
}

void cluster_wait() {
  Fiber& me = self();
  CGE_HERE();
  ++me.segment;
  ClusterBarrier& cluster = *me.cta->cluster->barrier;
  while (cluster.phase == me.cluster_phase) {
    cluster.waiting.push(&me);
    block("barrier.cluster.wait");
  }
  if (kSanitize) { cluster.done.acquire(me); }
}

void mbarrier_init(uint32_t at, uint32_t count) {
  CGE_HERE();
  if (kSanitize && check_aligned(kSharedWindow + at, 8, "mbarrier.init") && check_shared(at, 8, true, "mbarrier.init")) {
    shared_write(at, 8, site_index(self().pc), "mbarrier.init");
  }
  Mbarrier b;
  b.expected = b.pending = count;
  b.by = agent_of(self());
  b.clock = self().clock.self;
  if (kSanitize) { b.site = site_index(self().pc); }
  if (at / kCtaSpan < of_slot.size()) { of_slot[at / kCtaSpan][at] = std::move(b); }
}

void check_initialised(uint32_t at, char const* what, bool proxy) {
  Mbarrier const& b = *find(at, what);
  Fiber const& me = self();
  if (!happened_before(me, b.by, b.clock)) {
    Finding f{"race-raw"};
    f.tensor = "shared memory";
    f.offset = int64_t(at % kCtaSpan) - kSharedBegin;
    f.other_site = b.site;
    f.message = std::string(what) + " uses an mbarrier that " + agent_name(b.by) +
                " initialises, and nothing orders the two";
    report(std::move(f));
    return;
  }
  Fiber const& owner = peers(me)[b.by / kAgentSpan].fibers[b.by % kAgentSpan];
  if (!proxy || owner.fenced_init >= b.clock || owner.fenced_self >= b.clock) { return; }
  Finding f{"missing-proxy-fence"};
  f.tensor = "shared memory";
  f.offset = int64_t(at % kCtaSpan) - kSharedBegin;
  f.other_site = b.site;
  f.message = std::string(what) + " completes bytes of an mbarrier that was initialised without "
              "fence.mbarrier_init (cutlass::arch::fence_barrier_init) behind it";
  report(std::move(f));
}

void mbarrier_inval(uint32_t at) {
  if (at / kCtaSpan < of_slot.size()) { of_slot[at / kCtaSpan].erase(at); }
}

void mbarrier_expect(uint32_t at, uint32_t bytes) {
  CGE_HERE();
  Mbarrier& b = *find(at, "mbarrier.expect_tx");
  if (kSanitize) { check_initialised(at, "mbarrier.expect_tx", false); }
  b.bytes += bytes;
}

uint64_t mbarrier_arrive(uint32_t at, uint32_t count, uint32_t bytes) {
  Fiber& me = self();
  CGE_HERE();
  Mbarrier& b = *find(at, "mbarrier.arrive");
  if (kSanitize) {
    check_initialised(at, "mbarrier.arrive", false);
    visit(at, "mbarrier.arrive");
  }
  if (b.pending < int64_t(count)) {
    Finding f{"bad-arrival"};
    f.message = "mbarrier.arrive: more arrivals than the barrier expects (" + std::to_string(b.expected) + ")";
    report_fatal(std::move(f));
  }
  b.bytes += bytes;
  b.pending -= count;
  if (kSanitize) { b.arriving.release(me); }
  uint64_t const state = b.phase;
  complete_phase(b);
  return state;
}

void mbarrier_complete(uint32_t at, uint32_t bytes, Cta const& cta, uint32_t clock) {
  Mbarrier& b = *find(at, "a bulk copy");
  b.bytes -= bytes;
  if (kSanitize) { b.arriving.release_proxy(cta, clock); }
  complete_phase(b);
}

bool mbarrier_wait(uint32_t at, uint32_t parity, bool blocking) {
  Fiber& me = self();
  CGE_HERE();
  ++me.segment;
  Mbarrier* b = find(at, "mbarrier.try_wait");
  if (kSanitize) { check_initialised(at, "mbarrier.try_wait", false); }
  while ((b->phase & 1) == (parity & 1)) {
    if (!blocking) {
      poll((uint64_t(at) << 32 | b->phase) * 0x9e3779b97f4a7c15ull);
      b = find(at, "mbarrier.test_wait");
      if ((b->phase & 1) == (parity & 1)) { return false; }
      break;
    }
    b->waiting.push(&me);
    me.waits_at = at;
    block("mbarrier.try_wait");
    me.waits_at = 0;
    b = find(at, "mbarrier.try_wait");
  }
  if (kSanitize) { b->done.acquire(me); }
  return true;
}

void cp_async_arrive(uint32_t barrier, bool noinc) {
  CGE_HERE();
  cp_async_wait_all();  // the arrival is ordered behind the thread's copies; it comes as late as it may
  if (!noinc) { ++find(barrier, "cp.async.mbarrier.arrive")->pending; }
  mbarrier_arrive(barrier, 1, 0);
}

void fence_proxy_async() {
  Fiber& me = self();
  me.fenced = me.clock.base;
  me.fenced_self = me.clock.self++;
}

void fence_init() {
  Fiber& me = self();
  me.fenced_init = me.clock.self++;
}

void grid_wait() { self().alone = true; }

std::string describe_mbarrier(Fiber const& f) {
  Mbarrier const* b = f.waits_at ? find_or_null(f.waits_at) : nullptr;
  if (!b) { return ""; }
  std::string text = " at shared memory +" + std::to_string(f.waits_at % kCtaSpan - kSharedBegin) + " (phase " +
                     std::to_string(b->phase) + ": ";
  if (b->pending > 0) { text += std::to_string(b->pending) + " of " + std::to_string(b->expected) + " arrivals missing"; }
  if (b->bytes != 0) {
    text += (b->pending > 0 ? ", " : "") + std::to_string(b->bytes > 0 ? b->bytes : -b->bytes) +
            (b->bytes > 0 ? " bytes expected that no copy brings" : " bytes more arrived than were expected");
  }
  return text + ")";
}

uint32_t mapa(uint32_t address, uint32_t rank) {
  if (rank >= cluster_size()) {
    CGE_HERE();
    Finding f{"out-of-bounds-shared"};
    f.tensor = "shared memory";
    f.message = "mapa: rank " + std::to_string(rank) + " in a cluster of " + std::to_string(cluster_size()) + " CTAs";
    report_fatal(std::move(f));
  }
  return in_peer(address, rank);
}

}  // namespace cge
