// What is said when no thread can go on.
#include <set>
#include <string>

#include "barrier.hpp"
#include "cluster.hpp"
#include "launch.hpp"
#include "report.hpp"
#include "scheduler.hpp"

namespace cge {

namespace {

bool waits(Fiber const& f) { return f.state == State::blocked || f.state == State::polling; }

// Threads that returned count as arrived, as the hardware has it; but nobody should rely on it.
bool release_after_exit(Cta& cta) {
  for (NamedBarrier& b : cta.barriers) {
    if (!b.arrived || b.arrived < cta.live || cta.live == b.expected || b.expected != threads_per_cta) { continue; }
    if (!b.waiting.head) { continue; }
    Fiber& first = *b.waiting.head;
    current = &first;
    Finding f{"divergent-barrier"};
    f.pc = first.pc;
    f.message = std::to_string(b.expected - b.arrived) + " of the CTA's " + std::to_string(b.expected) +
                " threads return without reaching this barrier";
    report(std::move(f));
    current = nullptr;
    complete_after_exit(cta, b);
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
      if (waits(elsewhere)) { f.other_site = site_index(elsewhere.pc); }
      f.message = std::string(c.what) + " waits for lane " + std::to_string(elsewhere.lane) + " of its warp, which " +
                  (waits(elsewhere) ? std::string("waits in ") + elsewhere.doing : "has returned");
      report(std::move(f));
    }
  }
  current = nullptr;
}

std::string sites_of(Cta const& cta) {
  std::string text;
  int listed = 0;
  std::string last;
  for (Fiber const& f : cta.fibers) {
    if (!waits(f) || last == f.doing) { continue; }
    last = f.doing;
    text += (listed++ ? ", " : "") + std::string("thread ") + std::to_string(f.index) + " in " + f.doing +
            describe_mbarrier(f);
    if (listed == 6) { break; }
  }
  return text;
}

// The first thread that waits; one that polls memory says more than those that wait for it at a barrier.
Fiber* first_waiting() {
  Fiber* first = nullptr;
  for (Cluster* cluster : alive) {
    for (Cta& cta : cluster->ctas) {
      for (Fiber& f : cta.fibers) {
        if (f.state == State::polling) { return &f; }
        if (!first && waits(f)) { first = &f; }
      }
    }
  }
  return first;
}

std::string message_of(Cta const& cta, bool residency) {
  std::string text;
  if (residency) {
    text = "all " + std::to_string(alive.size() * cluster_size()) + " CTAs that this GPU can hold at a time (" +
           std::to_string(device_multiprocessors()) + " SMs) wait for one of the " +
           std::to_string(clusters_left() * cluster_size()) + " that have not started: ";
  } else {
    text = "no thread can go on: ";
  }
  text += sites_of(cta) + " (" + std::to_string(cta.live) + " of " + std::to_string(threads_per_cta) +
          " threads have not returned";
  if (alive.size() * cluster_size() > 1) {
    text += " in this CTA, and " + std::to_string(alive.size() * cluster_size() - 1) + " more CTAs wait";
  }
  return text + ")";
}

}  // namespace

bool release_after_exit() {
  for (Cluster* cluster : alive) {
    for (Cta& cta : cluster->ctas) {
      if (release_after_exit(cta)) { return true; }
    }
  }
  return false;
}

void report_stall(bool more_to_start) {
  for (Cluster* cluster : alive) {
    for (Cta& cta : cluster->ctas) { report_split_warps(cta); }
  }
  Fiber* const first = first_waiting();
  if (!first) { return; }
  char const* const kind = more_to_start ? "residency" : "deadlock";
  current = first;
  Finding finding{kind};
  finding.pc = first->pc;
  finding.message = message_of(*first->cta, more_to_start);
  report(std::move(finding));
  // One finding for each place where threads wait.
  std::set<void*> places{first->pc};
  for (Cluster* cluster : alive) {
    for (Cta& cta : cluster->ctas) {
      for (Fiber& g : cta.fibers) {
        if (!waits(g) || !places.insert(g.pc).second) { continue; }
        current = &g;
        Finding other{kind};
        other.pc = g.pc;
        other.message = "waits here in " + std::string(g.doing) + describe_mbarrier(g) + " while no thread can go on";
        report(std::move(other));
      }
    }
  }
  current = nullptr;
  fail_launch();
}

}  // namespace cge
