// Memory order through memory: fences, atomics, and loads and stores with an order. The rules are those of the PTX
// memory model: a store releases what its thread did before it if it is a release, or what was done before the last
// fence if it is relaxed; a load acquires what it sees if it is an acquire, or at the next fence if it is relaxed.
#include <cstring>
#include <unordered_map>
#include "launch.hpp"
#include "memory.hpp"
#include "order.hpp"
#include "report.hpp"
#include "sync.hpp"

namespace cge {

namespace {

struct Location {
  Released device;                        // for every thread of the GPU
  std::map<uint32_t, Released> of_block;  // for the threads of one CTA, by its linear index
};
std::unordered_map<void const*, Location> locations;

Inbox& inbox_of(Fiber& f) {
  if (!f.inbox) { f.inbox = new Inbox; }
  return *f.inbox;
}

bool acquires(Order o) { return o == Order::acquire || o == Order::acq_rel; }
bool releases(Order o) { return o == Order::release || o == Order::acq_rel; }

void see(void const* at, Order order) {
  auto it = locations.find(at);
  if (it == locations.end()) { return; }
  Fiber& me = self();
  Location& l = it->second;
  auto const own = l.of_block.find(me.cta->linear);
  if (acquires(order)) {
    l.device.acquire(me);
    if (own != l.of_block.end()) { own->second.acquire(me); }
    return;
  }
  Inbox& in = inbox_of(me);
  (order == Order::compared ? in.compared : in.device).merge(l.device);
  if (own != l.of_block.end()) { in.block.merge(own->second); }
}

// A plain store ends what earlier ones released; an atomic operation goes on with it.
void publish(void const* at, Order order, bool atomic) {
  Fiber& me = self();
  Location& l = locations[at];
  if (!atomic) { l = Location{}; }
  if (releases(order)) {
    l.device.release(me);
    return;
  }
  l.device.release_visible(me, me.device_visible);
  if (me.block_visible.get()) { l.of_block[me.cta->linear].release_visible(me, me.block_visible); }
}

uint64_t mix(void const* at, uint64_t value) {
  return (reinterpret_cast<uintptr_t>(at) * 0x9e3779b97f4a7c15ull) ^ (value + 1) * 0xc2b2ae3d27d4eb4full ^
         reinterpret_cast<uintptr_t>(self().pc);
}

uint64_t value_at(void const* at, uint32_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, at, bytes < 8 ? bytes : 8);
  return value;
}

}  // namespace

void forget_inbox(Fiber& f) {
  delete f.inbox;
  f.inbox = nullptr;
}

void acquire_compared(Fiber& f) {
  if (!f.inbox || f.inbox->compared.empty()) { return; }
  f.inbox->compared.acquire(f);
  f.inbox->compared.clear();
}

void fence(Scope scope) {
  if (!kSanitize || !current) { return; }
  Fiber& me = self();
  if (me.inbox) {
    me.inbox->block.acquire(me);
    me.inbox->block.clear();
    if (scope == Scope::device) {
      me.inbox->device.acquire(me);
      me.inbox->device.clear();
      acquire_compared(me);
    }
  }
  KnowledgePtr const visible(new Knowledge(*me.clock.base));
  visible->own[me.index] = me.clock.self++;
  (scope == Scope::device ? me.device_visible : me.block_visible) = visible;
}

void memory_load(void const* from, uint32_t bytes, Order order, void* to) {
  if (current) {
    CGE_HERE();
    if (order != Order::plain) {
      if (!is_shared(from)) { need_one_process(); }
      poll(mix(from, value_at(from, bytes)));
    }
    bool const checked = !kSanitize || !in_windows(from) ||
                         memory_access(from, bytes, Access::load, order != Order::plain, self().pc);
    if (!checked) {
      std::memset(to, 0xff, bytes);
      return;
    }
    if (kSanitize && order != Order::plain) { see(from, order); }
  }
  std::memcpy(to, from, bytes);
}

void memory_store(void* to, uint32_t bytes, Order order, void const* from) {
  if (current) {
    CGE_HERE();
    note_progress();
    if (order != Order::plain && !is_shared(to)) { need_one_process(); }
    if (kSanitize && in_windows(to) && !memory_access(to, bytes, Access::store, order != Order::plain, self().pc)) {
      return;
    }
    if (kSanitize && order != Order::plain) { publish(to, order, false); }
  }
  std::memcpy(to, from, bytes);
}

// An atomic operation: its two halves are one step, since threads change places only in the runtime, and here only
// before the first.
void atomic_begin(void* at, uint32_t bytes, Order order, void* old) {
  if (current) {
    CGE_HERE();
    if (!is_shared(at)) { need_one_process(); }
    poll(mix(at, value_at(at, bytes)));
    if (kSanitize && in_windows(at) && memory_access(at, bytes, Access::store, true, self().pc)) { see(at, order); }
  }
  std::memcpy(old, at, bytes);
}

void atomic_end(void* at, uint32_t bytes, Order order, void const* now) {
  if (current && std::memcmp(at, now, bytes) != 0) { note_progress(); }
  std::memcpy(at, now, bytes);
  if (kSanitize && current && in_windows(at)) { publish(at, order, true); }
}

void volatile_access(void* p, uint32_t bytes, bool write, void* pc) {
  if (!current) { return; }
  self().pc = pc;
  if (!is_shared(p)) { need_one_process(); }
  if (write) {
    note_progress();
  } else {
    poll(mix(p, value_at(p, bytes)));
  }
  if (!kSanitize || !memory_access(p, bytes, write ? Access::store : Access::load, true, pc)) { return; }
  if (write) {
    publish(p, Order::relaxed, false);
  } else {
    see(p, Order::relaxed);
  }
}

void reduce(Simd op, void* at, Order order, Registers values) {
  for (void const* r : values) {
    uint32_t old, v;
    std::memcpy(&v, r, 4);
    atomic_begin(at, 4, order, &old);
    simd(op, {&v}, {&old, &v}, false);
    atomic_end(at, 4, order, &v);
    at = static_cast<char*>(at) + 4;
  }
}

void reduce_f32(void* at, Order order, Registers values) {
  for (void const* r : values) {
    float old, v;
    std::memcpy(&v, r, 4);
    atomic_begin(at, 4, order, &old);
    v += old;
    atomic_end(at, 4, order, &v);
    at = static_cast<char*>(at) + 4;
  }
}

void pause() {
  if (!current) { return; }
  CGE_HERE();
  poll(reinterpret_cast<uintptr_t>(self().pc));
}

namespace {
struct GridBarrier {
  uint64_t arrived = 0;
  FiberList waiting;
  Released arriving;
};
GridBarrier grid;
}  // namespace

// cooperative_groups::this_grid().sync()
void grid_sync() {
  Fiber& me = self();
  CGE_HERE();
  ++me.segment;
  need_one_process();
  if (!launch_now.cooperative) {
    Finding f{"bad-launch"};
    f.message = "a barrier of the whole grid needs a cooperative launch (cudaLaunchCooperativeKernel)";
    report_fatal(std::move(f));
  }
  if (kSanitize) { grid.arriving.release(me); }
  uint64_t const threads = uint64_t(launch_now.grid.x) * launch_now.grid.y * launch_now.grid.z * threads_per_cta;
  if (++grid.arrived < threads) {
    grid.waiting.push(&me);
    block("a barrier of the grid");
    return;
  }
  Released const all = std::move(grid.arriving);
  FiberList waiting = grid.waiting;
  grid = GridBarrier{};
  note_progress();
  if (kSanitize) { all.acquire(me); }
  while (waiting.head) {
    Fiber* f = waiting.pop();
    if (kSanitize) { all.acquire(*f); }
    wake(f);
  }
}

bool grid_can_sync() { return launch_now.cooperative; }

void forget_releases() {
  locations.clear();
  grid = GridBarrier{};
}

}  // namespace cge
