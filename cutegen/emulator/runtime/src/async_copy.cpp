// cp.async: a copy takes place as late as it may, when its thread waits for its group. Until then what it
// writes counts as in flight, and whoever reads it is told.
#include "async_copy.hpp"

#include <cstring>

#include "counts.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

namespace {

void land(Fiber& f, AsyncCopy const& copy) {
  auto* to = static_cast<char*>(shared_pointer(copy.to));
  std::memcpy(to, copy.from, copy.source_bytes);
  std::memset(to + copy.source_bytes, 0, size_t(copy.bytes) - copy.source_bytes);
  if (kSanitize) {
    uint32_t origin = 0;
    if (copy.source_bytes) {
      for (size_t i = 0; i < buffers.size(); ++i) {
        Buffer const& b = buffers[i];
        if (copy.from >= b.begin && copy.from < b.begin + b.bytes) { origin = uint32_t(i) + 1; }
      }
    }
    shared_async_end(copy.to, copy.bytes, copy.site, agent_of(f), f.clock.self, origin, false);
  }
}

void land_groups(Fiber& f, size_t pending) {
  while (f.groups.size() > pending) {
    for (AsyncCopy const& copy : f.groups.front()) { land(f, copy); }
    f.groups.pop_front();
  }
}

bool checked(AsyncCopy& copy, bool bypass_l1) {
  uint32_t const bytes = copy.bytes;
  auto const from = reinterpret_cast<uintptr_t>(copy.from);
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    Finding f{"unsupported-instruction"};
    f.message = "cp.async of " + std::to_string(bytes) + " bytes: the size must be 4, 8 or 16";
    report_fatal(std::move(f));
  }
  bool good = check_aligned(kSharedWindow + copy.to, bytes, "cp.async into shared memory");
  // NOTE: with a source size of 0 the source is not read, but its address must be aligned all the same.
  good = check_aligned(from, bytes, "cp.async from global memory") && good;
  good = check_shared(copy.to, bytes, true, "cp.async") && good;
  if (!good) { return false; }
  if (copy.source_bytes) {
    Buffer* b = check_global(copy.from, copy.source_bytes, false, "cp.async");
    if (b) {
      global_read(*b, copy.from, copy.source_bytes, copy.site);
    } else {
      copy.source_bytes = 0;
    }
  }
  shared_async_begin(copy.to, bytes, copy.site, "cp.async");
  uint32_t origin = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (from - reinterpret_cast<uintptr_t>(buffers[i].begin) < buffers[i].bytes) { origin = uint32_t(i) + 1; }
  }
  count_lane(copy.site, Access::cp_async, bytes, shared_pointer(copy.to), copy.source_bytes ? copy.from : nullptr,
             origin, bypass_l1);
  return true;
}

}  // namespace

void cp_async(uint32_t to, uint64_t from, uint32_t bytes, uint32_t source_bytes, bool bypass_l1) {
  Fiber& me = self();
  CGE_HERE();
  AsyncCopy copy{to, 0, reinterpret_cast<void const*>(from), uint8_t(bytes), uint8_t(std::min(bytes, source_bytes))};
  if (kSanitize) {
    copy.site = site_index(me.pc);
    if (!checked(copy, bypass_l1)) { return; }
  }
  me.open.push_back(copy);
}

void cp_async_commit() {
  Fiber& me = self();
  me.groups.emplace_back(std::move(me.open));
  me.open.clear();
}

void cp_async_wait(uint32_t pending) { land_groups(self(), pending); }

void cp_async_wait_all() {
  cp_async_commit();
  land_groups(self(), 0);
}

void drop_async_copies(Fiber& f) {
  f.groups.emplace_back(std::move(f.open));
  f.open.clear();
  land_groups(f, 0);
}

void forget_async(Fiber& f) {
  f.open.clear();
  f.groups.clear();
}

}  // namespace cge
