// The emulated machine: CTAs of warps of threads, each thread a fiber. One worker process is one OS thread.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "clock.hpp"
#include "cutegen_emu/ptx.hpp"

namespace cge {

#ifdef CGE_SANITIZE
constexpr bool kSanitize = true;
#else
constexpr bool kSanitize = false;
#endif

constexpr uint32_t kCtaSpan = 1u << 20;      // shared addresses of one CTA
constexpr uint32_t kSharedBegin = 1024;      // what the driver keeps for itself at the start of each
constexpr uint32_t kPoison = 0xffa5ffc3u;    // fills fresh stacks: NaN as f32, f16 and bf16
constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kPoisonedBytes = 24 << 10;

struct Cta;
struct Cluster;
struct Warp;
struct ThreadProducts;  // wgmma.cpp
struct ThreadStores;    // tma.cpp

struct AsyncCopy {
  uint32_t to;
  uint32_t site;
  void const* from;
  uint8_t bytes, source_bytes;
};

// What a thread has polled since something last happened: seeing the same again is no progress.
struct Polls {
  uint64_t epoch = 0;
  std::vector<uint64_t> seen;
};

enum class State : uint8_t { ready, polling, blocked, done };

struct Fiber {
  void* stack_pointer = nullptr;
  char* stack = nullptr;
  uint3 tid{};
  uint32_t index = 0;  // in its CTA
  uint32_t lane = 0;
  uint32_t segment = 0;  // counts its warp-wide operations and barriers, to line up the accesses of a warp
  Warp* warp = nullptr;
  Cta* cta = nullptr;
  Fiber* next = nullptr;  // in the ready queue or a barrier's list
  State state = State::ready;
  void* pc = nullptr;        // of the runtime call that it is in
  char const* doing = "";    // what it waits for
  Clock clock;
  KnowledgePtr fenced;  // what fence.proxy.async made visible to the asynchronous proxy
  uint32_t fenced_self = 0;
  uint32_t fenced_init = 0;  // until when its initialisations of mbarriers are visible to that proxy and to peers
  std::vector<AsyncCopy> open;                  // cp.async since the last commit
  std::deque<std::vector<AsyncCopy>> groups;    // committed, oldest first
  uint64_t cluster_phase = 0;                   // of the cluster barrier at which it arrived last
  // What fences of device and of block scope have made visible: that is what relaxed stores release. Null: nothing.
  KnowledgePtr device_visible, block_visible;
  struct Inbox* inbox = nullptr;                // what relaxed loads saw released, until a fence acquires it
  ThreadProducts* products = nullptr;
  ThreadStores* stores = nullptr;
  Polls polls;
  uint32_t waits_at = 0;  // the mbarrier that it waits for
  bool alone = false;     // it has waited for the kernels before this one (griddepcontrol.wait)
};

// One warp-wide operation that lanes are arriving at.
struct Collective {
  uint64_t key = 0;
  uint32_t mask = 0, arrived = 0;
  char const* what = "";
  void* pc = nullptr;
  void const* arguments[32];
};

struct Warp {
  Cta* cta = nullptr;
  uint32_t index = 0;
  uint32_t live = 0;           // lanes that exist and have not returned
  Fiber* lanes[32] = {};
  std::vector<Collective> collectives = std::vector<Collective>(1);
  uint64_t stored = 0;     // the last bulk store, and the lanes that issued it
  uint32_t stored_by = 0;
};

struct FiberList {
  Fiber* head = nullptr;
  Fiber* tail = nullptr;
  void push(Fiber* f) {
    f->next = nullptr;
    (head ? tail->next : head) = f;
    tail = f;
  }
  Fiber* pop() {
    Fiber* f = head;
    head = f->next;
    return f;
  }
};

struct NamedBarrier {
  uint32_t arrived = 0, expected = 0;
  FiberList waiting;
  KnowledgePtr joined, device_visible;
  uint32_t votes = 0, voters = 0, result = 0, result_of = 0;  // barrier.red
};

struct SharedShadow;  // shadow.hpp

struct Cta {
  Cluster* cluster = nullptr;
  uint32_t linear = 0;  // in the grid
  uint32_t rank = 0;    // in its cluster
  uint32_t slot = 0;    // which shared addresses it has: slot * kCtaSpan and up
  uint3 block{};
  char* shared = nullptr;     // generic address of dynamic shared memory
  uint32_t dynamic_bytes = 0, static_bytes = 0;
  uint32_t live = 0;          // threads that have not returned
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  NamedBarrier barriers[16];
  std::vector<std::pair<void const*, uint32_t>> statics;  // tag and offset from the window's begin
  SharedShadow* shadow = nullptr;
  uint32_t proxy_clock = 0;   // of its asynchronous proxy
  struct Visits* visits = nullptr;  // of peers: leaving.cpp
};

// CTAs that were started together and end together. Several clusters may be alive, when some wait for others.
struct Cluster {
  uint32_t index = 0;  // in the grid
  std::vector<Cta> ctas;
  struct ClusterBarrier* barrier = nullptr;

  uint32_t live() const {
    uint32_t n = 0;
    for (Cta const& cta : ctas) { n += cta.live; }
    return n;
  }
};

struct Launch {
  dim3 grid, block, cluster{1, 1, 1};
  uint32_t dynamic_shared = 0;
  void (*body)(void*) = nullptr;
  void* context = nullptr;
  bool cooperative = false;
};

struct Options {
  uint32_t shared_limit = 227 << 10;
  uint64_t seed = 0;         // 0: threads run in order
  uint32_t processes = 1;
  uint32_t multiprocessors = 0;  // 0: those of the architecture's largest GPU
};

extern Options options;
extern Launch launch_now;
extern Fiber* current;  // null in host code
extern std::vector<Cta*> slots;  // by shared address
extern uint32_t threads_per_cta;

// fiber.cpp
char* take_stack();
void return_stack(char* stack);
void start_fiber(Fiber& f, void (*entry)());
extern "C" void cge_switch(void** save, void* load);

// scheduler.cpp
void block(char const* what);  // until wake()
void wake(Fiber* f);
void abandon();                // gives up on what runs, after a fatal finding
// The current thread polled and saw `what`; it lets others run. Whoever only sees what it has seen is waiting.
void poll(uint64_t what);
extern uint64_t progress;
inline void note_progress() { ++progress; }  // something happened that a polling thread may wait for

inline Fiber& self() { return *current; }
inline Cta& cta_at(uint32_t slot) { return *slots[slot]; }
inline Cta& cta_of(uint32_t shared_address) { return *slots[shared_address / kCtaSpan]; }
inline std::vector<Cta>& peers(Fiber const& f) { return f.cta->cluster->ctas; }
inline uint32_t cluster_size() { return launch_now.cluster.x * launch_now.cluster.y * launch_now.cluster.z; }
// The shared address of another CTA of the cluster that corresponds to an address of one of its CTAs.
inline uint32_t in_peer(uint32_t address, uint32_t rank) {
  return address % kCtaSpan + cta_of(address).cluster->ctas[rank].slot * kCtaSpan;
}

// Runs `execute(arguments)` in the last of the lanes of `mask` to arrive; the others wait for it.
using CollectiveBody = void (*)(Warp& warp, uint32_t mask, void const* const* arguments);
void collective(char const* what, uint64_t key, uint32_t mask, void const* argument, CollectiveBody execute);

}  // namespace cge

#define CGE_HERE() (::cge::self().pc = __builtin_return_address(0))
