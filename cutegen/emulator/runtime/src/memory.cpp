#include "memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "counts.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

std::vector<Buffer> buffers;

namespace {

size_t last_hit = 0;
constexpr uint32_t kSeveral = ~0u;

Buffer* find(char const* p, uint32_t bytes) {
  if (last_hit < buffers.size()) {
    Buffer& b = buffers[last_hit];
    if (p >= b.begin && p + bytes <= b.begin + b.bytes) { return &b; }
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    Buffer& b = buffers[i];
    if (p >= b.begin && p + bytes <= b.begin + b.bytes) {
      last_hit = i;
      return &b;
    }
  }
  return nullptr;
}

// The buffer whose end or begin is nearest to a wrong address.
Buffer* nearest(char const* p) {
  Buffer* best = nullptr;
  size_t distance = size_t(1) << 30;
  for (Buffer& b : buffers) {
    size_t const d = p < b.begin ? size_t(b.begin - p) : p >= b.begin + b.bytes ? size_t(p - b.begin - b.bytes) : 0;
    if (d < distance) {
      distance = d;
      best = &b;
    }
  }
  return best;
}

std::string amount(char const* what, uint32_t bytes) {
  return std::string(what) + " of " + std::to_string(bytes) + " bytes";
}

}  // namespace

void map_shared(uint32_t count) {
  static uint32_t mapped = 0;
  if (count <= mapped) { return; }
  void* p = mmap(shared_pointer(mapped * kCtaSpan), size_t(count - mapped) * kCtaSpan, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (p == MAP_FAILED) { std::abort(); }
  mapped = count;
}

void add_buffer(Buffer b) {
  if (kSanitize && b.writable && b.bytes) {
    size_t const size = (b.bytes / b.element + 1) * sizeof(ElementRecord);
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    b.records = p == MAP_FAILED ? nullptr : static_cast<ElementRecord*>(p);
  }
  buffers.push_back(std::move(b));
}

void remove_buffer(char const* begin) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].begin == begin) {
      Buffer& b = buffers[i];
      if (b.records) { munmap(b.records, (b.bytes / b.element + 1) * sizeof(ElementRecord)); }
      buffers.erase(buffers.begin() + long(i));
      return;
    }
  }
}

void forget_accesses() {
  for (Buffer& b : buffers) {
    if (b.records) { madvise(b.records, (b.bytes / b.element + 1) * sizeof(ElementRecord), MADV_REMOVE); }
  }
}

bool check_aligned(uintptr_t address, uint32_t align, char const* what) {
  if ((address & (align - 1)) == 0) { return true; }
  Finding f{"misaligned"};
  f.bytes = align;
  auto* p = reinterpret_cast<char const*>(address);
  if (is_shared(p)) {
    f.tensor = "shared memory";
    f.offset = int64_t(to_shared(address) % kCtaSpan) - kSharedBegin;
  } else if (Buffer* b = find(p, 1)) {
    f.tensor = b->name;
    f.offset = p - b->begin;
  }
  f.message = amount(what, align) + " at an address that is no multiple of " + std::to_string(align);
  report(std::move(f));
  return false;
}

bool check_shared(uint32_t address, uint32_t bytes, bool write, char const* what) {
  uint32_t const slot = address / kCtaSpan, offset = address % kCtaSpan;
  if (slot < slots.size() && slots[slot] && slots[slot]->cluster == self().cta->cluster) {
    Cta const& cta = *slots[slot];
    uint32_t const size = cta.dynamic_bytes + cta.static_bytes;
    if (offset >= kSharedBegin && offset + bytes <= kSharedBegin + size) { return true; }
    Finding f{"out-of-bounds-shared"};
    f.tensor = "shared memory";
    f.offset = int64_t(offset) - kSharedBegin;
    f.bytes = bytes;
    f.message = amount(what, bytes) + (write ? " writes" : " reads") + " outside the CTA's " +
                std::to_string(size) + " bytes of shared memory";
    report(std::move(f));
    return false;
  }
  Finding f{"out-of-bounds-shared"};
  f.tensor = "shared memory";
  f.bytes = bytes;
  f.message = amount(what, bytes) + ": the address belongs to no CTA of the cluster";
  report(std::move(f));
  return false;
}

Buffer* check_global(void const* pointer, uint32_t bytes, bool write, char const* what) {
  auto* p = static_cast<char const*>(pointer);
  Buffer* b = find(p, bytes);
  if (!b) {
    Finding f{"out-of-bounds-global"};
    f.bytes = bytes;
    f.message = amount(what, bytes);
    if (Buffer* near = nearest(p)) {
      f.tensor = near->name;
      f.offset = p - near->begin;
      f.message += (write ? " writes" : " reads") + std::string(" outside ") + near->name + ", which has " +
                   std::to_string(near->bytes) + " bytes";
    } else {
      f.message += " at an address that belongs to no buffer";
    }
    report(std::move(f));
    return nullptr;
  }
  if (b->dependent && !self().alone) {
    Finding f{"missing-grid-wait"};
    f.tensor = b->name;
    f.offset = p - b->begin;
    f.bytes = bytes;
    f.message = amount(what, bytes) + (write ? " writes " : " reads ") + b->name +
                ", which the kernel before this one may still use";
    report(std::move(f));
  }
  if (write) {
    size_t const offset = size_t(p - b->begin);
    if (!b->writable) {
      Finding f{"write-to-read-only"};
      f.tensor = b->name;
      f.offset = int64_t(offset);
      f.bytes = bytes;
      f.message = amount(what, bytes) + " writes to " + b->name + ", which is an input";
      report(std::move(f));
      return nullptr;
    }
    if (b->pitch && offset % b->pitch + bytes > b->row_bytes) {
      Finding f{"out-of-bounds-global"};
      f.tensor = b->name;
      f.offset = int64_t(offset);
      f.bytes = bytes;
      f.message = amount(what, bytes) + " writes beyond the end of a row of " + b->name + " (row " +
                  std::to_string(offset / b->pitch) + ", byte " + std::to_string(offset % b->pitch) + " of " +
                  std::to_string(b->row_bytes) + ")";
      report(std::move(f));
      return nullptr;
    }
  }
  return b;
}

namespace {

void conflict(char const* kind, Buffer& b, void const* p, uint32_t bytes, uint32_t cta, uint32_t thread, uint32_t site,
              char const* verbs) {
  Finding f{kind};
  f.tensor = b.name;
  f.offset = static_cast<char const*>(p) - b.begin;
  f.bytes = bytes;
  f.other_site = site;
  f.message = std::string(verbs) + (cta == kSeveral ? "several CTAs" : "thread " + std::to_string(thread) + " of CTA " + std::to_string(cta - 1)) +
              ", and nothing orders the two";
  report(std::move(f));
}

// Whether an access by `thread` of `cta` at `clock` is ordered before what the current thread does now.
bool ordered(uint32_t cta, uint32_t thread, uint32_t clock) {
  Fiber& me = self();
  if (cta == me.cta->linear + 1) { return thread == me.index || me.clock.knows(thread, clock); }
  return cta != kSeveral && me.clock.knows_foreign(cta - 1, thread, clock);
}

}  // namespace

void global_read(Buffer& b, void const* p, uint32_t bytes, uint32_t site, bool strong) {
  if (!b.records) { return; }
  Fiber& me = self();
  uint32_t const mine = me.cta->linear + 1;
  size_t const first = size_t(static_cast<char const*>(p) - b.begin) / b.element;
  size_t const last = (size_t(static_cast<char const*>(p) - b.begin) + bytes - 1) / b.element;
  for (size_t i = first; i <= last; ++i) {
    ElementRecord& r = b.records[i];
    uint32_t const before = __atomic_exchange_n(&r.read_cta, mine, __ATOMIC_SEQ_CST);
    bool const keep = before != 0 && before != mine && !ordered(before, r.reader & ~kStrong, r.read_clock);
    if (keep) { __atomic_store_n(&r.read_cta, kSeveral, __ATOMIC_SEQ_CST); }
    r.reader = uint16_t(me.index | (strong && (!keep || r.reader & kStrong) ? kStrong : 0));
    r.read_clock = me.clock.self;
    r.read_site = uint16_t(site);
    uint32_t const writer = __atomic_load_n(&r.write_cta, __ATOMIC_SEQ_CST);
    if (writer && !(strong && r.writer & kStrong) && !ordered(writer, r.writer & ~kStrong, r.write_clock)) {
      conflict("race-raw", b, p, bytes, writer, r.writer & ~kStrong, r.write_site, "reads what was written by ");
      return;
    }
  }
}

void global_write(Buffer& b, void const* p, uint32_t bytes, uint32_t site, bool strong) {
  if (!b.records) { return; }
  Fiber& me = self();
  uint32_t const mine = me.cta->linear + 1;
  size_t const first = size_t(static_cast<char const*>(p) - b.begin) / b.element;
  size_t const last = (size_t(static_cast<char const*>(p) - b.begin) + bytes - 1) / b.element;
  for (size_t i = first; i <= last; ++i) {
    ElementRecord& r = b.records[i];
    uint32_t const writer = r.writer, clock = r.write_clock, write_site = r.write_site;
    uint32_t const before = __atomic_exchange_n(&r.write_cta, mine, __ATOMIC_SEQ_CST);
    r.writer = uint16_t(me.index | (strong ? kStrong : 0));
    r.write_clock = me.clock.self;
    r.write_site = uint16_t(site);
    if (before && !(strong && writer & kStrong) && !ordered(before, writer & ~kStrong, clock)) {
      conflict("race-waw", b, p, bytes, before, writer & ~kStrong, write_site, "writes what was also written by ");
      return;
    }
    uint32_t const reader = __atomic_load_n(&r.read_cta, __ATOMIC_SEQ_CST);
    if (reader && !(strong && r.reader & kStrong) && !ordered(reader, r.reader & ~kStrong, r.read_clock)) {
      conflict("race-war", b, p, bytes, reader, r.reader & ~kStrong, r.read_site, "overwrites what is read by ");
      return;
    }
  }
}

bool memory_access(void const* p, uint32_t bytes, Access access, bool strong, void* pc, bool aligned) {
  current->pc = pc;
  uint32_t const site = site_index(pc);
  bool const write = access == Access::store;
  char const* what = strong ? (write ? "a volatile or atomic store" : "a volatile or atomic load") : write ? "a store" : "a load";
  bool const power = (bytes & (bytes - 1)) == 0 && bytes <= 16;
  if (aligned && power && !check_aligned(reinterpret_cast<uintptr_t>(p), bytes, what)) { return false; }
  uint32_t origin = 0;
  if (is_shared(p)) {
    uint32_t const address = to_shared(reinterpret_cast<uint64_t>(p));
    if (!check_shared(address, bytes, write, what)) { return false; }
    if (write) {
      shared_write(address, bytes, site, what, strong);
    } else {
      origin = shared_read(address, bytes, site, what, strong);
    }
  } else {
    Buffer* b = check_global(p, bytes, write, what);
    if (!b) { return false; }
    if (write) {
      global_write(*b, p, bytes, site, strong);
    } else {
      global_read(*b, p, bytes, site, strong);
    }
    origin = uint32_t(b - buffers.data()) + 1;
  }
  if (bytes <= 16 && !strong) { count_plain(site, access, bytes, p, origin); }
  return true;
}

}  // namespace cge
