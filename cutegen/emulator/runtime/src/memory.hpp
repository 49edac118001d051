// Address spaces: global buffers with their names and bounds, and shared memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine.hpp"

namespace cge {

constexpr uintptr_t kGlobalWindow = uintptr_t(0x210000000000);
constexpr uintptr_t kWindows = kSharedWindow;  // both windows lie in one span, so one comparison finds them
constexpr uintptr_t kWindowsSpan = uintptr_t(0x080000000000);  // cudaMalloc begins 2 TiB in

constexpr uint16_t kStrong = 0x8000;

// Who touched an element of a writable buffer. It lies in memory that all workers share.
struct ElementRecord {
  uint32_t write_cta;  // linear index + 1; 0: nobody
  uint32_t read_cta;   // likewise; ~0: several
  uint32_t write_clock, read_clock;
  uint16_t writer, reader;  // with kStrong for accesses that may race with others of their kind
  uint16_t write_site, read_site;
};

struct Buffer {
  std::string name;
  char* begin = nullptr;
  size_t bytes = 0;
  uint32_t element = 1;
  bool writable = false;
  bool dependent = false;  // the kernel before this one may still use it
  size_t row_bytes = 0, pitch = 0;  // 0: no rows
  ElementRecord* records = nullptr;
};

extern std::vector<Buffer> buffers;

enum class Access : uint8_t { load, store, ldmatrix, stmatrix, cp_async };

inline bool in_windows(void const* p) { return reinterpret_cast<uintptr_t>(p) - kWindows < kWindowsSpan; }
inline bool is_shared(void const* p) {
  return reinterpret_cast<uintptr_t>(p) - kSharedWindow < kSharedSpan;
}

// Maps the shared window for so many CTAs.
void map_shared(uint32_t count);
void add_buffer(Buffer buffer);
void remove_buffer(char const* begin);
void forget_accesses();  // before a launch: what happened earlier is ordered

// The buffer that holds [p, p + bytes), or null after a report.
Buffer* check_global(void const* p, uint32_t bytes, bool write, char const* what);
// Whether [address, address + bytes) is shared memory of its CTA; reports if not.
bool check_shared(uint32_t address, uint32_t bytes, bool write, char const* what);
// Reports an address that is no multiple of `align`.
bool check_aligned(uintptr_t address, uint32_t align, char const* what);

// `strong`: an access that may race with others of its kind, such as an atomic operation.
void global_read(Buffer& buffer, void const* p, uint32_t bytes, uint32_t site, bool strong = false);
void global_write(Buffer& buffer, void const* p, uint32_t bytes, uint32_t site, bool strong = false);

// Checks a load or a store of the current thread to shared or global memory; false after a report of a wrong address.
bool memory_access(void const* p, uint32_t bytes, Access access, bool strong, void* pc, bool aligned = true);

}  // namespace cge
