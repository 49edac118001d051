// When a CTA returns, its shared memory is gone. What its peers do there must have happened before.
#include <unordered_map>

#include "cluster.hpp"
#include "order.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

// The last visit of each thread of the cluster, and what the threads that have returned knew.
struct Visits {
  struct Visit {
    uint32_t clock, site;
    char const* what;
  };
  std::unordered_map<uint32_t, Visit> last;  // by agent
  Released left;
};

namespace {

void too_late(uint32_t agent, Visits::Visit const& v, uint32_t owner) {
  Finding f{"use-after-return"};
  f.pc = site_at(v.site).pc;
  f.tensor = "shared memory";
  f.message = std::string(v.what) + " of " + agent_name(agent) + " may reach CTA " + std::to_string(owner) +
              " of the cluster after that has returned: nothing orders the two";
  report(std::move(f));
}

}  // namespace

void begin_visits(Cta& cta) {
  if (kSanitize && cluster_size() > 1) { cta.visits = new Visits; }
}

void end_visits(Cta& cta) {
  delete cta.visits;
  cta.visits = nullptr;
}

void visit(uint32_t address, char const* what) {
  Fiber const& me = self();
  Cta& cta = cta_of(address);
  if (&cta == me.cta || !cta.visits) { return; }
  Visits::Visit const v{me.clock.self, site_index(me.pc), what};
  if (cta.live == 0) {
    too_late(agent_of(me), v, cta.rank);
    return;
  }
  cta.visits->last[agent_of(me)] = v;
}

bool reaches(Cta const& cta, char const* what) {
  Fiber const& me = self();
  if (cta.live || &cta == me.cta) { return true; }
  too_late(agent_of(me), {me.clock.self, site_index(me.pc), what}, cta.rank);
  return false;
}

void leave_cta(Fiber& f) {
  Cta& cta = *f.cta;
  if (!cta.visits) { return; }
  Visits& visits = *cta.visits;
  visits.left.release(f);
  if (cta.live > 1) { return; }
  visits.left.acquire(f);  // the last thread: it goes with all that the others knew
  for (auto const& [agent, v] : visits.last) {
    if (!happened_before(f, agent, v.clock)) {
      too_late(agent, v, cta.rank);
      return;
    }
  }
}

}  // namespace cge
