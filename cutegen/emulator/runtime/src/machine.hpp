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

constexpr uint32_t kCtaSpan = 1u << 24;      // shared addresses of one CTA of a cluster
constexpr uint32_t kSharedBegin = 1024;      // what the driver keeps for itself at the start of each
constexpr uint32_t kPoison = 0xffa5ffc3u;    // fills fresh stacks: NaN as f32, f16 and bf16
constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kPoisonedBytes = 24 << 10;

struct Cta;
struct Warp;

struct AsyncCopy {
  uint32_t to;
  uint32_t site;
  void const* from;
  uint8_t bytes, source_bytes;
};

enum class State : uint8_t { ready, blocked, done };

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
  std::vector<AsyncCopy> open;                  // cp.async since the last commit
  std::deque<std::vector<AsyncCopy>> groups;    // committed, oldest first
  uint64_t cluster_phase = 0;                   // of the cluster barrier at which it arrived last
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
  KnowledgePtr joined;
};

struct SharedShadow;  // shadow.hpp

struct Cta {
  uint32_t linear = 0;  // in the grid
  uint32_t rank = 0;    // in its cluster
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
};

struct Launch {
  dim3 grid, block, cluster{1, 1, 1};
  uint32_t dynamic_shared = 0;
  void (*body)(void*) = nullptr;
  void* context = nullptr;
};

struct Options {
  uint32_t arch = 80;
  uint32_t shared_limit = 227 << 10;
  uint64_t seed = 0;         // 0: threads run in order
  uint32_t processes = 1;
  uint32_t max_findings = 100;
};

extern Options options;
extern Launch launch_now;
extern Fiber* current;  // null in host code
extern std::vector<Cta> ctas;  // of the cluster that runs, by rank
extern uint32_t threads_per_cta;

// fiber.cpp
void prepare_stacks(std::vector<Cta>& all);
void start_fiber(Fiber& f, void (*entry)());
extern "C" void cge_switch(void** save, void* load);

// scheduler.cpp
void run_cta_range(uint32_t cluster_index);
void block(char const* what);  // until wake()
void wake(Fiber* f);
void abandon();                // gives up on the running cluster, after a fatal finding
uint32_t cluster_size();

inline Fiber& self() { return *current; }
inline Cta& cta_of(uint32_t shared_address) { return ctas[shared_address / kCtaSpan]; }

// Runs `execute(arguments)` in the last of the lanes of `mask` to arrive; the others wait for it.
using CollectiveBody = void (*)(Warp& warp, uint32_t mask, void const* const* arguments);
void collective(char const* what, uint64_t key, uint32_t mask, void const* argument, CollectiveBody execute);

}  // namespace cge

#define CGE_HERE() (::cge::self().pc = __builtin_return_address(0))
