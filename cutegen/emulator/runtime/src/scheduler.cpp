// Runs the threads of one cluster of CTAs until all have returned.
#include "scheduler.hpp"

#include <cstring>

#include "async_copy.hpp"
#include "cluster.hpp"
#include "counts.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "shadow.hpp"

// What kernels read as threadIdx and so on; declared by device_launch_parameters.h with other types.
uint3 cge_thread_index asm("threadIdx");
uint3 cge_block_index asm("blockIdx");
dim3 cge_block_dim asm("blockDim");
dim3 cge_grid_dim asm("gridDim");
int cge_warp_size asm("warpSize") = 32;

namespace cge {

Options options;
Launch launch_now;
Fiber* current = nullptr;
std::vector<Cta> ctas;
uint32_t threads_per_cta = 0;

namespace {

FiberList ready;
void* scheduler_stack = nullptr;
bool abandoned = false;
uint64_t random_state = 1;

uint64_t next_random() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

// The next fiber to run, or null; with a seed, a random one of the first few.
Fiber* take_ready() {
  if (!ready.head) { return nullptr; }
  if (options.seed) {
    for (uint64_t skip = next_random() % 8; skip && ready.head->next; --skip) { ready.push(ready.pop()); }
  }
  return ready.pop();
}

void enter(Fiber* f) {
  if (!current || current->cta != f->cta) { cge_block_index = f->cta->block; }
  current = f;
  cge_thread_index = f->tid;
}

void leave(Fiber& from) {
  Fiber* next = abandoned ? nullptr : take_ready();
  if (next == &from) { return; }
  if (next) {
    enter(next);
    cge_switch(&from.stack_pointer, next->stack_pointer);
  } else {
    cge_switch(&from.stack_pointer, scheduler_stack);
  }
}

void thread_main() {
  launch_now.body(launch_now.context);
  Fiber& me = self();
  drop_async_copies(me);
  finish_bulk(me);
  me.state = State::done;
  me.warp->live &= ~(1u << me.lane);
  --me.cta->live;
  leave(me);
  __builtin_trap();  // a fiber that is done is never resumed
}

void prepare(uint32_t cluster_index) {
  dim3 const g = launch_now.grid, c = launch_now.cluster;
  uint32_t const gx = g.x / c.x, gy = g.y / c.y;
  uint32_t const cx = cluster_index % gx, cy = cluster_index / gx % gy, cz = cluster_index / gx / gy;
  threads_per_cta = launch_now.block.x * launch_now.block.y * launch_now.block.z;
  cge_block_dim = launch_now.block;
  cge_grid_dim = launch_now.grid;
  ctas.resize(c.x * c.y * c.z);
  for (uint32_t r = 0; r < ctas.size(); ++r) {
    Cta& cta = ctas[r];
    cta.rank = r;
    cta.block = {cx * c.x + r % c.x, cy * c.y + r / c.x % c.y, cz * c.z + r / c.x / c.y};
    cta.linear = cta.block.x + g.x * (cta.block.y + g.y * cta.block.z);
    cta.live = threads_per_cta;
    cta.proxy_clock = 0;
    cta.dynamic_bytes = launch_now.dynamic_shared;
    cta.static_bytes = 0;
    cta.statics.clear();
    cta.shared = static_cast<char*>(shared_pointer(r * kCtaSpan + kSharedBegin));
    for (NamedBarrier& b : cta.barriers) { b = NamedBarrier{}; }
    cta.fibers.resize(threads_per_cta);
    cta.warps.resize((threads_per_cta + 31) / 32);
  }
  prepare_stacks(ctas);
  begin_cluster();
  for (Cta& cta : ctas) {
    KnowledgePtr nothing(new Knowledge(threads_per_cta + 1));
    for (uint32_t w = 0; w < cta.warps.size(); ++w) {
      Warp& warp = cta.warps[w];
      uint32_t const lanes = std::min(32u, threads_per_cta - w * 32);
      warp.cta = &cta;
      warp.index = w;
      warp.live = lanes == 32 ? ~0u : (1u << lanes) - 1;
      warp.collectives.resize(1);
      warp.collectives[0].arrived = 0;
    }
    for (uint32_t t = 0; t < threads_per_cta; ++t) {
      Fiber& f = cta.fibers[t];
      dim3 const b = launch_now.block;
      f.tid = {t % b.x, t / b.x % b.y, t / b.x / b.y};
      f.index = t;
      f.segment = 0;
      f.lane = t % 32;
      f.warp = &cta.warps[t / 32];
      f.warp->lanes[f.lane] = &f;
      f.cta = &cta;
      f.state = State::ready;
      f.doing = "";
      f.open.clear();
      f.groups.clear();
      f.clock.base = nothing;
      f.clock.self = 1;
      f.fenced_self = 0;
      f.cluster_phase = 0;
      f.fenced = nothing;
      start_fiber(f, thread_main);
      ready.push(&f);
    }
    begin_shared(cta);
  }
}

}  // namespace

uint32_t cluster_size() { return uint32_t(ctas.size()); }

void wake(Fiber* f) {
  f->state = State::ready;
  ready.push(f);
}

void block(char const* what) {
  Fiber& me = self();
  me.state = State::blocked;
  me.doing = what;
  leave(me);
}

void pause() {
  if (!current) { return; }
  Fiber& me = self();
  ready.push(&me);
  leave(me);
}

void abandon() {
  abandoned = true;
  if (current) { leave(*current); }
}

void run_cta_range(uint32_t cluster_index) {
  abandoned = false;
  ready = FiberList{};
  random_state = options.seed * 0x9e3779b97f4a7c15ull + cluster_index + 1;
  current = nullptr;
  prepare(cluster_index);
  while (!abandoned) {
    Fiber* f = take_ready();
    if (!f) {
      bool waiting = false;
      for (Cta& cta : ctas) { waiting |= cta.live != 0; }
      if (!waiting) { break; }
      current = nullptr;
      if (!resolve_stall()) { break; }
      continue;
    }
    enter(f);
    cge_switch(&scheduler_stack, f->stack_pointer);
  }
  current = nullptr;
  if (kSanitize) { flush_counts(); }
  for (Cta& cta : ctas) { end_shared(cta); }
}

}  // namespace cge
