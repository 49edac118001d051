// Registers of wgmma: who touches them while a product is in flight, or between two products without a fence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cge {

struct Fiber;

enum class Use : uint8_t { accumulator, operand };

// The registers of one thread that its products use.
class Watch {
 public:
  // A product begins to use registers; it ends.
  void begin(std::vector<void*> const& registers, Use use, uint32_t site);
  void end(std::vector<void*> const& registers, Use use);
  // Whether they belong to a product in flight, or nobody has touched them since the last one ended.
  bool untouched(std::vector<void*> const& registers) const;
  bool in_flight(std::vector<void*> const& registers) const;
  // The thread itself accesses [p, p + bytes): reports if that is too early. Whether it touched a register.
  bool touch(void const* p, size_t bytes, bool write);
  // The span of all of them.
  uintptr_t lowest() const { return lowest_; }
  uintptr_t span() const { return span_; }

 private:
  struct Range {
    uintptr_t begin, end;
    Use use;
    uint32_t products;  // in flight
    uint32_t site;
  };
  Range const* find(uintptr_t at) const;
  void measure();
  std::vector<Range> ranges_;
  uintptr_t lowest_ = 0, span_ = 0;
};

// Those of the thread that runs, so that the hook of every access can tell quickly.
extern uintptr_t watch_begin, watch_span;
void follow_watch(Fiber const* f);
void watched_access(void const* p, size_t bytes, bool write, void* pc);

}  // namespace cge
