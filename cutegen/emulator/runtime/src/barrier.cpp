// Barriers of a CTA: bar.sync, bar.arrive, and what happens when nobody can go on.
#include <string>

#include "cluster.hpp"
#include "report.hpp"
#include "scheduler.hpp"

namespace cge {

namespace {

// Lanes of one warp must reach the same barrier at the same place.
void check_convergence(FiberList const& waiting) {
  for (Fiber* f = waiting.head; f; f = f->next) {
    for (Fiber* g = f->next; g; g = g->next) {
      if (g->warp != f->warp) { continue; }
      if (g->pc != f->pc) {
        Finding finding{"divergent-barrier"};
        finding.pc = g->pc;
        finding.other_site = site_index(f->pc);
        finding.message = "threads " + std::to_string(f->index) + " and " + std::to_string(g->index) +
                          " of one warp meet at barriers in different places";
        report(std::move(finding));
        return;
      }
      break;  // neighbours are enough
    }
  }
}

void complete(NamedBarrier& b, Cta& cta) {
  if (kSanitize) { check_convergence(b.waiting); }
  KnowledgePtr joined = std::move(b.joined);
  b.joined = KnowledgePtr();
  b.arrived = 0;
  FiberList waiting = b.waiting;
  b.waiting = FiberList{};
  while (waiting.head) {
    Fiber* f = waiting.pop();
    if (kSanitize) { f->clock.base = joined; }
    if (f != current) { wake(f); }
  }
  (void)cta;
}

void arrive(NamedBarrier& b, Fiber& me) {
  ++b.arrived;
  if (kSanitize) {
    if (!b.joined.get()) {
      b.joined = KnowledgePtr(new Knowledge(*me.clock.base));
    } else if (b.joined.get() != me.clock.base.get()) {
      b.joined->join(*me.clock.base);
    }
    b.joined->own[me.index] = me.clock.self++;
  }
}

NamedBarrier& named(uint32_t id) {
  if (id >= 16) {
    Finding f{"unsupported-instruction"};
    f.message = "barrier " + std::to_string(id) + ": a CTA has barriers 0 to 15";
    report_fatal(std::move(f));
  }
  return self().cta->barriers[id];
}

std::string sites_of(Cta const& cta) {
  std::string text;
  int listed = 0;
  std::string last;
  for (Fiber const& f : cta.fibers) {
    if (f.state != State::blocked || last == f.doing) { continue; }
    last = f.doing;
    text += (listed++ ? ", " : "") + std::string("thread ") + std::to_string(f.index) + " in " + f.doing;
    if (listed == 6) { break; }
  }
  return text;
}

// Threads that returned count as arrived, as the hardware has it; but nobody should rely on it.
bool release_after_exit(Cta& cta) {
  for (NamedBarrier& b : cta.barriers) {
    if (!b.arrived || b.arrived < cta.live || cta.live == b.expected || b.expected != threads_per_cta) { continue; }
    Fiber& first = *b.waiting.head;
    current = &first;
    Finding f{"divergent-barrier"};
    f.pc = first.pc;
    f.message = std::to_string(b.expected - b.arrived) + " of the CTA's " + std::to_string(b.expected) +
                " threads return without reaching this barrier";
    report(std::move(f));
    current = nullptr;
    complete(b, cta);
    return true;
  }
  return false;
}

// A warp-wide operation that some lanes of the warp have not come to, because they wait elsewhere.
void report_split_warps(Cta& cta) {
  for (Warp& warp : cta.warps) {
    for (Collective const& c : warp.collectives) {
      uint32_t const missing = c.arrived ? c.mask & ~c.arrived : 0;
      if (!missing) { continue; }
      Fiber const& elsewhere = *warp.lanes[__builtin_ctz(missing)];
      current = warp.lanes[__builtin_ctz(c.arrived)];
      Finding f{"divergent-collective"};
      f.pc = c.pc;
      if (elsewhere.state == State::blocked) { f.other_site = site_index(elsewhere.pc); }
      f.message = std::string(c.what) + " waits for lane " + std::to_string(elsewhere.lane) + " of its warp, which " +
                  (elsewhere.state == State::blocked ? std::string("waits in ") + elsewhere.doing : "has returned");
      report(std::move(f));
    }
  }
  current = nullptr;
}

}  // namespace

void bar_sync(uint32_t id, uint32_t threads) {
  Fiber& me = self();
  CGE_HERE();
  ++me.segment;
  NamedBarrier& b = named(id);
  uint32_t const expected = threads ? threads : threads_per_cta;
  if (b.arrived && b.expected != expected) {
    Finding f{"divergent-barrier"};
    f.message = "barrier " + std::to_string(id) + " is waited for by " + std::to_string(b.expected) + " and by " +
                std::to_string(expected) + " threads at a time";
    report(std::move(f));
  }
  b.expected = expected;
  arrive(b, me);
  b.waiting.push(&me);
  if (b.arrived >= expected) {
    complete(b, *me.cta);
  } else {
    block("bar.sync");
  }
}

void bar_arrive(uint32_t id, uint32_t threads) {
  Fiber& me = self();
  CGE_HERE();
  NamedBarrier& b = named(id);
  b.expected = threads;
  arrive(b, me);
  if (b.arrived >= threads) { complete(b, *me.cta); }
}

bool resolve_stall() {
  if (run_engines()) { return true; }
  for (Cta& cta : ctas) {
    if (release_after_exit(cta)) { return true; }
  }
  for (Cta& cta : ctas) { report_split_warps(cta); }
  for (Cta& cta : ctas) {
    for (Fiber& f : cta.fibers) {
      if (f.state != State::blocked) { continue; }
      current = &f;
      Finding finding{"deadlock"};
      finding.pc = f.pc;
      finding.message = "no thread can go on: " + sites_of(cta) + " (" + std::to_string(cta.live) + " of " +
                        std::to_string(threads_per_cta) + " threads have not returned)";
      report(std::move(finding));
      // One finding for each place where threads wait.
      for (Fiber& g : cta.fibers) {
        if (g.state == State::blocked && g.pc != f.pc) {
          current = &g;
          Finding other{"deadlock"};
          other.pc = g.pc;
          other.message = "waits here in " + std::string(g.doing) + " while no thread can go on";
          report(std::move(other));
        }
      }
      current = nullptr;
      return false;
    }
  }
  return false;
}

}  // namespace cge
