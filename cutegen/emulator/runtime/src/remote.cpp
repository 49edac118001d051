// st.async: stores into the shared memory of a CTA of the cluster that complete bytes of an mbarrier there. They
// take place only when no thread can run, so that a missing wait shows.
#include <cstring>
#include <deque>

#include "cluster.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

namespace {

struct Remote {
  char value[32];
  uint32_t to, bytes, barrier, site;
  Fiber* by;
};

std::deque<Remote> remotes;

}  // namespace

void forget_remotes(Cluster const& cluster) {
  for (size_t i = remotes.size(); i-- > 0;) {
    if (remotes[i].by->cta->cluster == &cluster) { remotes.erase(remotes.begin() + long(i)); }
  }
}

bool run_remotes() {
  if (remotes.empty()) { return false; }
  Remote const r = remotes.front();
  remotes.pop_front();
  Fiber* const last = current;
  current = r.by;
  void* const pc = r.by->pc;
  if (kSanitize) { r.by->pc = site_at(r.site).pc; }
  Cta& cta = cta_of(r.to);
  if (kSanitize && !reaches(cta, "st.async")) {
    r.by->pc = pc;
    current = last;
    return true;
  }
  uint32_t const clock = ++cta.proxy_clock;
  std::memcpy(shared_pointer(r.to), r.value, r.bytes);
  if (kSanitize) { shared_async_end(r.to, r.bytes, r.site, cta.rank * kAgentSpan + threads_per_cta, clock, 0, false); }
  mbarrier_complete(r.barrier, r.bytes, cta, clock);
  r.by->pc = pc;
  current = last;
  return true;
}

void store_async(uint32_t to, uint32_t barrier, uint32_t bytes, void const* from) {
  CGE_HERE();
  Remote r{};
  std::memcpy(r.value, from, bytes);
  r.to = to;
  r.bytes = bytes;
  r.barrier = barrier;
  r.by = &self();
  if (cta_of(to).rank != cta_of(barrier).rank) {
    Finding f{"bad-arrival"};
    f.message = "st.async: the mbarrier is in another CTA than the bytes";
    report_fatal(std::move(f));
  }
  if (kSanitize) {
    r.site = site_index(self().pc);
    check_initialised(barrier, "st.async", true);
    if (!check_aligned(kSharedWindow + to, bytes, "st.async") || !check_shared(to, bytes, true, "st.async")) { return; }
    shared_async_begin(to, bytes, r.site, "st.async");
  }
  remotes.push_back(r);
}

}  // namespace cge
