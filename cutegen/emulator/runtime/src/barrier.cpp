// Barriers of a CTA: bar.sync and bar.arrive.
#include <string>

#include "barrier.hpp"
#include "order.hpp"
#include "report.hpp"

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
  KnowledgePtr const visible = std::move(b.device_visible);
  b.device_visible = KnowledgePtr();
  b.arrived = 0;
  b.result = b.votes;
  b.result_of = b.voters;
  b.votes = b.voters = 0;
  FiberList waiting = b.waiting;
  b.waiting = FiberList{};
  while (waiting.head) {
    Fiber* f = waiting.pop();
    if (kSanitize) {
      f->clock.base = joined;
      if (visible.get()) { f->device_visible = visible; }
    }
    if (f != current) { wake(f); }
  }
  (void)cta;
}

void arrive(NamedBarrier& b, Fiber& me) {
  ++b.arrived;
  if (kSanitize) {
    acquire_compared(me);
    if (!b.joined.get()) {
      b.joined = KnowledgePtr(new Knowledge(*me.clock.base));
    } else if (b.joined.get() != me.clock.base.get()) {
      b.joined->join(*me.clock.base);
    }
    b.joined->own[me.index] = me.clock.self++;
    if (me.device_visible.get()) {
      if (!b.device_visible.get()) {
        b.device_visible = KnowledgePtr(new Knowledge(*me.device_visible));
      } else {
        b.device_visible->join(*me.device_visible);
      }
    }
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

void sync_here(uint32_t id, uint32_t threads) {
  Fiber& me = self();
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

}  // namespace

void bar_sync(uint32_t id, uint32_t threads) {
  CGE_HERE();
  sync_here(id, threads);
}

void bar_arrive(uint32_t id, uint32_t threads) {
  Fiber& me = self();
  CGE_HERE();
  NamedBarrier& b = named(id);
  b.expected = threads;
  arrive(b, me);
  if (b.arrived >= threads) { complete(b, *me.cta); }
}

uint32_t bar_reduce(uint32_t id, uint32_t threads, int mode, bool predicate) {
  CGE_HERE();
  NamedBarrier& b = named(id);
  b.votes += predicate;
  ++b.voters;
  sync_here(id, threads);
  // NOTE: nobody can vote at this barrier again before all who voted now have read the result of this vote.
  uint32_t const votes = b.result, voters = b.result_of;
  return mode == 0 ? votes : mode == 1 ? votes == voters : votes != 0;
}

void complete_after_exit(Cta& cta, NamedBarrier& b) { complete(b, cta); }

}  // namespace cge
