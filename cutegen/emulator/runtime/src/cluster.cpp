// The barrier of a cluster, and mbarriers in shared memory.
#include "cluster.hpp"

#include <string>
#include <unordered_map>

#include "memory.hpp"
#include "order.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

namespace {

struct ClusterBarrier {
  uint32_t arrived = 0;
  uint64_t phase = 0;
  FiberList waiting;
  Released arriving, done;
};
ClusterBarrier cluster;

// Arrivals and bytes that a phase still waits for.
struct Mbarrier {
  int64_t expected = 0, pending = 0, bytes = 0;
  uint32_t phase = 0;
  FiberList waiting;
  Released arriving, done;
};
std::unordered_map<uint32_t, Mbarrier> mbarriers;

Mbarrier* find(uint32_t at, char const* what) {
  auto it = mbarriers.find(at);
  if (it != mbarriers.end()) { return &it->second; }
  Finding f{"unsupported-instruction"};
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
  if (kSanitize) {
    b.done.merge(b.arriving);
    b.arriving.clear();
  }
  wake_all(b.waiting);
}

}  // namespace

void begin_cluster() {
  begin_barriers();
  begin_bulk();
  begin_products();
}

void begin_barriers() {
  cluster = ClusterBarrier{};
  mbarriers.clear();
}

void cluster_arrive() {
  Fiber& me = self();
  CGE_HERE();
  me.cluster_phase = cluster.phase;
  if (kSanitize) { cluster.arriving.release(me); }
  if (++cluster.arrived < threads_per_cta * cluster_size()) { return; }
  cluster.arrived = 0;
  ++cluster.phase;
  if (kSanitize) {
    cluster.done.merge(cluster.arriving);
    cluster.arriving.clear();
  }
  wake_all(cluster.waiting);
}

void cluster_wait() {
  Fiber& me = self();
  CGE_HERE();
  ++me.segment;
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
  mbarriers[at] = std::move(b);
}

void mbarrier_inval(uint32_t at) { mbarriers.erase(at); }

void mbarrier_expect(uint32_t at, uint32_t bytes) {
  CGE_HERE();
  find(at, "mbarrier.expect_tx")->bytes += bytes;
}

uint64_t mbarrier_arrive(uint32_t at, uint32_t count, uint32_t bytes) {
  Fiber& me = self();
  CGE_HERE();
  Mbarrier& b = *find(at, "mbarrier.arrive");
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
  while ((b->phase & 1) == (parity & 1)) {
    if (!blocking) {
      pause();
      b = find(at, "mbarrier.test_wait");
      if ((b->phase & 1) == (parity & 1)) { return false; }
      break;
    }
    b->waiting.push(&me);
    block("mbarrier.try_wait");
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

void fence_init() {}

uint32_t mapa(uint32_t address, uint32_t rank) { return address % kCtaSpan + rank * kCtaSpan; }

}  // namespace cge
