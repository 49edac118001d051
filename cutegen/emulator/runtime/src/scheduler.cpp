// Which thread runs next, until all clusters of a launch have ended.
#include "scheduler.hpp"

#include <algorithm>
#include <cstring>

#include "async_copy.hpp"
#include "cluster.hpp"
#include "counts.hpp"
#include "launch.hpp"
#include "report.hpp"
#include "watch.hpp"

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
uint32_t threads_per_cta = 0;
uint64_t progress = 1;

namespace {

FiberList ready, polling;
void* scheduler_stack = nullptr;
bool abandoned = false;
uint64_t random_state = 1;
uint64_t quiet_epoch = 0;   // that of the last round of polls
uint32_t quiet_rounds = 0;  // rounds of polls since then, in which nothing happened

// Rounds without any event after which polling threads count as waiting, and as waiting for ever.
constexpr uint32_t kWaiting = 64, kForever = 1024;

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
  if (kSanitize && (f->products || watch_span)) { follow_watch(f); }
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
  if (kSanitize) { leave_cta(me); }
  me.state = State::done;
  me.warp->live &= ~(1u << me.lane);
  --me.cta->live;
  note_progress();
  leave(me);
  __builtin_trap();  // a fiber that is done is never resumed
}

void end_finished() {
  for (size_t i = alive.size(); i-- > 0;) {
    if (alive[i]->live() != 0) { continue; }
    end_cluster(*alive[i]);
    if (kSanitize) { flush_counts(); }
    cluster_done();
  }
}

// Lets all polling threads look again. False after many rounds in which nothing happened.
bool poll_again(uint32_t rounds) {
  if (!polling.head) { return false; }
  if (quiet_epoch != progress) {
    quiet_epoch = progress;
    quiet_rounds = 0;
  }
  if (quiet_rounds >= rounds) { return false; }
  ++quiet_rounds;
  FiberList again = polling;
  polling = FiberList{};
  while (again.head) { wake(again.pop()); }
  return true;
}

}  // namespace

uint64_t next_random() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

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

void poll(uint64_t what) {
  if (!current) { return; }
  Fiber& me = self();
  Polls& p = me.polls;
  if (p.epoch != progress) {
    p.epoch = progress;
    p.seen.clear();
  }
  bool const fresh = std::find(p.seen.begin(), p.seen.end(), what) == p.seen.end();
  if (fresh) {
    if (p.seen.size() == 256) { p.seen.clear(); }  // a thread that scans memory is not waiting
    p.seen.push_back(what);
    if (!options.seed) { return; }
    wake(&me);
  } else {
    me.state = State::polling;
    me.doing = "a loop that polls memory";
    polling.push(&me);
  }
  leave(me);
}

void abandon() {
  abandoned = true;
  if (current) { leave(*current); }
}

void run_clusters(bool (*take)(uint32_t& index)) {
  abandoned = false;
  ready = polling = FiberList{};
  random_state = options.seed * 0x9e3779b97f4a7c15ull + 1;
  current = nullptr;
  uint32_t const resident = resident_clusters();
  // NOTE: with a seed some clusters run side by side, as on a GPU, though none waits for another.
  size_t const side_by_side = options.seed ? std::min<size_t>(resident, 1 + options.seed % 3) : 1;
  bool more = true;
  auto start_next = [&] {
    uint32_t index = 0;
    if (!more || !room_for_cluster() || !(more = take(index))) { return false; }
    start_cluster(index, thread_main);
    note_progress();
    return true;
  };
  while (!abandoned) {
    while (alive.size() < side_by_side && start_next()) {}
    if (Fiber* f = take_ready()) {
      enter(f);
      cge_switch(&scheduler_stack, f->stack_pointer);
      current = nullptr;
      end_finished();
      continue;
    }
    current = nullptr;
    if (alive.empty()) { break; }
    if (poll_again(kWaiting)) { continue; }
    if (run_engines() || run_remotes()) {
      note_progress();
      continue;
    }
    if (release_after_exit()) { continue; }
    if (alive.size() < resident && start_next()) { continue; }
    if (poll_again(kForever)) { continue; }
    report_stall(more && alive.size() >= resident && clusters_left());
    break;
  }
  current = nullptr;
  follow_watch(nullptr);
  if (kSanitize) { flush_counts(); }
  while (!alive.empty()) { end_cluster(*alive.back()); }
}

}  // namespace cge
