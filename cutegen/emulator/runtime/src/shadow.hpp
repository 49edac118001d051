// What is known of every byte of shared memory: who wrote it, who has read it since, what is in flight.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "machine.hpp"

namespace cge {

// A thread of the cluster in 16 bits; index kMaxThreads is the CTA's asynchronous proxy.
constexpr uint32_t kAgentSpan = 2048;

enum class Bytes : uint8_t { uninitialised, valid, in_flight };

struct Reader {
  uint32_t clock;
  uint32_t lanes;
  uint16_t warp;  // rank * 64 + warp of the CTA
  uint16_t site;
};

// The history of one byte, or of a whole block of 16 when all accesses covered it.
struct Cell {
  uint32_t write_clock = 0;
  uint16_t writer = 0;
  uint16_t write_site = 0;
  Bytes state = Bytes::uninitialised;
  uint8_t origin = 0;   // 1 + index of the buffer whose data it holds; 0: computed
  uint8_t readers = 0;  // of which the first two are here
  bool async_proxy = false;  // written through the asynchronous proxy
  bool strong = false;       // written by an access that may race with others of its kind
  Reader first[2];
  uint32_t more = 0;    // 1 + index in SharedShadow::overflow
};

struct SharedShadow {
  std::vector<Cell> cells;         // 16 a block; a uniform block uses its first
  std::vector<uint8_t> uniform;    // by block
  std::vector<std::vector<Reader>> overflow;
  std::vector<uint32_t> unused;    // indices in overflow
};

void begin_shared(Cta& cta);
void end_shared(Cta& cta);
void grow_shared(Cta& cta, uint32_t from, uint32_t to);  // static arrays appear while the CTA runs

// Each takes an address range that check_shared() accepted, and reports what is wrong with the access.
// shared_read returns 1 + the index of the buffer whose data it read, or 0.
uint32_t shared_read(uint32_t address, uint32_t bytes, uint32_t site, char const* what, bool strong = false);
void shared_write(uint32_t address, uint32_t bytes, uint32_t site, char const* what, bool strong = false);
// An asynchronous copy begins to write, and ends; `by` is the thread that may see its result then.
void shared_async_begin(uint32_t address, uint32_t bytes, uint32_t site, char const* what);
void shared_async_end(uint32_t address, uint32_t bytes, uint32_t site, uint32_t agent, uint32_t clock, uint32_t origin,
                      bool async_proxy);
// The asynchronous proxy reads what threads wrote: they must have fenced.
void shared_async_read(uint32_t address, uint32_t bytes, uint32_t site, char const* what);
// A bulk store of the current thread begins to read, and has read; what is written between the two may reach it.
void shared_read_begin(uint32_t address, uint32_t bytes, uint32_t site);
void shared_read_end(uint32_t address, uint32_t bytes);
// Whether what a thread of the cluster did at that time of its clock happened before what `me` does now.
bool happened_before(Fiber const& me, uint32_t agent, uint32_t clock);
std::string agent_name(uint32_t agent);
// A thread of the cluster in 16 bits.
inline uint32_t agent_of(Fiber const& f) { return f.cta->rank * kAgentSpan + f.index; }

}  // namespace cge
