// Bulk tensor copies. A load takes place only when no thread can run, a store when its thread waits for it:
// as late as they may, so that a missing wait shows.
#include "tma.hpp"

#include <cuda.h>

#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

namespace {

struct Bulk {
  TensorMap map;
  int32_t at[5];
  uint32_t shared, barrier, site;
  uint16_t targets;  // CTAs of the cluster
  bool reduce;
  Fiber* by;
};

std::deque<Bulk> loads;

}  // namespace

struct ThreadStores {
  std::vector<Bulk> open;
  std::deque<std::vector<Bulk>> groups;
};

namespace {

ThreadStores& stores_of(Fiber& f) {
  if (!f.stores) { f.stores = new ThreadStores; }
  return *f.stores;
}

uint32_t box_bytes(TensorMap const& m) {
  uint32_t bytes = m.element;
  for (int d = 0; d < m.rank; ++d) { bytes *= m.box[d]; }
  return bytes;
}

// Calls visit(shared offset in the box, global address or null, bytes) for every chunk of 16 bytes, split at the
// tensor's edge.
template <class Visit>
void for_chunks(Bulk const& b, Visit visit) {
  TensorMap const& m = b.map;
  uint32_t const row = uint32_t(m.box[0]) * m.element;
  uint32_t const rows = box_bytes(m) / row;
  for (uint32_t r = 0; r < rows; ++r) {
    bool inside = true;
    int64_t offset = 0;
    uint32_t rest = r;
    for (int d = 1; d < m.rank; ++d) {
      int64_t const c = b.at[d] + int64_t(rest % m.box[d]);
      rest /= m.box[d];
      inside = inside && c >= 0 && c < int64_t(m.dims[d]);
      offset += c * int64_t(m.strides[d - 1]);
    }
    for (uint32_t x = 0; x < row;) {
      int64_t const c = b.at[0] + int64_t(x / m.element);
      bool const in = inside && c >= 0 && c < int64_t(m.dims[0]);
      uint32_t n = std::min<uint32_t>(16 - x % 16, row - x);
      // A chunk that crosses an edge goes element by element.
      int64_t const last = b.at[0] + int64_t((x + n - 1) / m.element);
      if ((c < 0) != (last < 0) || (c < int64_t(m.dims[0])) != (last < int64_t(m.dims[0]))) { n = m.element; }
      visit(r * row + x, in ? m.base + offset + c * m.element : nullptr, n);
      x += n;
    }
  }
}

uint32_t place(Bulk const& b, uint32_t shared, uint32_t offset) { return swizzled(shared + offset, b.map.swizzle); }

Bulk make(uint64_t map, std::initializer_list<int32_t> coordinates, uint32_t shared, char const* what) {
  Bulk b{};
  std::memcpy(&b.map, reinterpret_cast<void const*>(map), sizeof b.map);
  if (b.map.magic != kTensorMap || b.map.rank != coordinates.size()) {
    Finding f{"bad-tensor-map"};
    f.message = std::string(what) + ": the descriptor is no tensor map of " + std::to_string(coordinates.size()) + " dimensions";
    report_fatal(std::move(f));
  }
  std::copy(coordinates.begin(), coordinates.end(), b.at);
  b.shared = shared;
  b.by = &self();
  if (kSanitize) {
    b.site = site_index(self().pc);
    check_aligned(kSharedWindow + shared, 16, what);
  }
  return b;
}

// CUTLASS's epilogues let all lanes of a warp issue the same store. It is one store as far as anybody can tell.
bool repeated(Bulk const& b) {
  Fiber& me = self();
  Warp& warp = *me.warp;
  uint64_t key = (reinterpret_cast<uintptr_t>(b.map.base) ^ uint64_t(b.site) << 48 ^ b.shared) * 0x9e3779b97f4a7c15ull;
  for (int d = 0; d < b.map.rank; ++d) { key = (key ^ uint32_t(b.at[d])) * 0xc2b2ae3d27d4eb4full; }
  uint32_t const bit = 1u << me.lane;
  bool const again = warp.stored == key && !(warp.stored_by & bit);
  warp.stored_by = again ? warp.stored_by | bit : bit;
  warp.stored = key;
  return again;
}

void load_now(Bulk const& b) {
  Fiber* const last = current;
  current = b.by;
  void* const pc = b.by->pc;
  if (kSanitize) { b.by->pc = site_at(b.site).pc; }
  for (uint32_t rank = 0; rank < cluster_size(); ++rank) {
    if (!(b.targets >> rank & 1)) { continue; }
    uint32_t const shared = in_peer(b.shared, rank);
    Cta& cta = cta_of(shared);
    if (kSanitize && !reaches(cta, "a bulk load")) { continue; }
    uint32_t const clock = ++cta.proxy_clock;
    for_chunks(b, [&](uint32_t offset, char* from, uint32_t n) {
      uint32_t const to = place(b, shared, offset);
      Buffer* buffer = from && kSanitize && in_windows(from) ? check_global(from, n, false, "a bulk load") : nullptr;
      if (buffer) { global_read(*buffer, from, n, b.site); }
      bool const good = from && (!kSanitize || buffer || !in_windows(from));
      if (good) {
        std::memcpy(shared_pointer(to), from, n);
      } else {
        std::memset(shared_pointer(to), 0, n);
      }
      if (kSanitize) {
        uint32_t const origin = buffer ? uint32_t(buffer - buffers.data()) + 1 : 0;
        shared_async_end(to, n, b.site, rank * kAgentSpan + threads_per_cta, clock, origin, true);
      }
    });
    mbarrier_complete(in_peer(b.barrier, rank), box_bytes(b.map), cta, clock);
  }
  b.by->pc = pc;
  current = last;
}

void reduce(char* to, void const* from, uint32_t n, Bulk const& b) {
  for (uint32_t x = 0; b.map.element == 4 && x + 4 <= n; x += 4) {
    float a, c;
    std::memcpy(&a, to + x, 4);
    std::memcpy(&c, static_cast<char const*>(from) + x, 4);
    a += c;
    std::memcpy(to + x, &a, 4);
  }
}

void store_now(Bulk const& b) {
  Fiber* const last = current;
  current = b.by;
  void* const pc = b.by->pc;
  if (kSanitize) { b.by->pc = site_at(b.site).pc; }
  for_chunks(b, [&](uint32_t offset, char* to, uint32_t n) {
    if (!to) { return; }
    uint32_t const from = place(b, b.shared, offset);
    if (kSanitize) {
      if (!check_shared(from, n, false, "a bulk store")) { return; }
      shared_read_end(from, n);
      Buffer* buffer = check_global(to, n, true, "a bulk store");
      if (!buffer) { return; }
      global_write(*buffer, to, n, b.site, b.reduce);
    }
    if (b.reduce) {
      reduce(to, shared_pointer(from), n, b);
    } else {
      std::memcpy(to, shared_pointer(from), n);
    }
  });
  b.by->pc = pc;
  current = last;
}

// Whether a thread that returns has waited for its stores.
void check_read(ThreadStores const& s) {
  Bulk const* late = s.open.empty() ? nullptr : &s.open.front();
  for (auto const& group : s.groups) {
    if (!group.empty()) { late = &group.front(); }
  }
  if (!late) { return; }
  Finding f{"async-in-flight"};
  f.pc = site_at(late->site).pc;
  f.tensor = "shared memory";
  f.offset = int64_t(late->shared % kCtaSpan) - kSharedBegin;
  f.message = "a bulk store is still reading when its thread returns: cp.async.bulk.wait_group.read must come before";
  report(std::move(f));
}

}  // namespace

void forget_loads(Cluster const& cluster) {
  for (size_t i = loads.size(); i-- > 0;) {
    if (loads[i].by->cta->cluster == &cluster) { loads.erase(loads.begin() + long(i)); }
  }
}

void forget_stores(Fiber& f) {
  delete f.stores;
  f.stores = nullptr;
}

bool run_engines() {
  if (loads.empty()) { return false; }
  Bulk const b = loads.front();
  loads.pop_front();
  load_now(b);
  return true;
}

void finish_bulk(Fiber& f) {
  if (!f.stores) { return; }
  if (kSanitize) { check_read(*f.stores); }
  for (auto const& group : f.stores->groups) {
    for (Bulk const& b : group) { store_now(b); }
  }
  for (Bulk const& b : f.stores->open) { store_now(b); }
  forget_stores(f);
}

void tma_load(uint64_t map, std::initializer_list<int32_t> coordinates, uint32_t to, uint32_t barrier, uint16_t mask) {
  Fiber& me = self();
  CGE_HERE();
  Bulk b = make(map, coordinates, to, "a bulk load");
  b.barrier = barrier;
  b.targets = mask ? mask : uint16_t(1u << cta_of(to).rank);
  if (kSanitize) {
    for (uint32_t rank = 0; rank < cluster_size(); ++rank) {
      if (!(b.targets >> rank & 1)) { continue; }
      uint32_t const shared = in_peer(to, rank);
      check_initialised(in_peer(barrier, rank), "a bulk load", true);
      bool good = true;
      for_chunks(b, [&](uint32_t offset, char*, uint32_t n) {
        uint32_t const at = place(b, shared, offset);
        good = good && check_shared(at, n, true, "a bulk load");
        if (good) { shared_async_begin(at, n, b.site, "a bulk load"); }
      });
      if (!good) { return; }
    }
  }
  (void)me;
  loads.push_back(b);
}

void tma_store(uint64_t map, std::initializer_list<int32_t> coordinates, uint32_t from, bool reduce) {
  CGE_HERE();
  Bulk b = make(map, coordinates, from, "a bulk store");
  b.reduce = reduce;
  if (!reduce && repeated(b)) { return; }
  if (kSanitize) {
    for_chunks(b, [&](uint32_t offset, char* to, uint32_t n) {
      uint32_t const at = place(b, from, offset);
      if (to && check_shared(at, n, false, "a bulk store")) {
        shared_async_read(at, n, b.site, "a bulk store");
        shared_read_begin(at, n, b.site);
      }
    });
  }
  stores_of(self()).open.push_back(b);
}

void bulk_commit() {
  ThreadStores& s = stores_of(self());
  s.groups.push_back(std::move(s.open));
  s.open.clear();
}

void bulk_wait(uint32_t pending, bool) {
  CGE_HERE();
  ThreadStores& s = stores_of(self());
  while (s.groups.size() > pending) {
    for (Bulk const& b : s.groups.front()) { store_now(b); }
    s.groups.pop_front();
  }
}

}  // namespace cge

extern "C" {

CUresult cuTensorMapEncodeTiled(CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* base,
                                cuuint64_t const* dims, cuuint64_t const* strides, cuuint32_t const* box,
                                cuuint32_t const*, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill fill) {
  static uint8_t const widths[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  if (rank < 1 || rank > 5 || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE || unsigned(type) >= sizeof widths ||
      reinterpret_cast<uintptr_t>(base) % 16 || unsigned(swizzle) > 3) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  cge::TensorMap m{};
  m.magic = cge::kTensorMap;
  m.rank = uint8_t(rank);
  m.element = widths[type];
  m.swizzle = uint8_t(swizzle);
  m.nan_fill = fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  m.base = static_cast<char*>(base);
  for (uint32_t d = 0; d < rank; ++d) {
    m.dims[d] = dims[d];
    m.box[d] = uint16_t(box[d]);
    if (d && strides[d - 1] % 16) { return CUDA_ERROR_INVALID_VALUE; }
    if (d) { m.strides[d - 1] = strides[d - 1]; }
    if (box[d] < 1 || box[d] > 256) { return CUDA_ERROR_INVALID_VALUE; }
  }
  uint32_t const inner = box[0] * m.element, most = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 128 : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 64 : 32;
  if (inner % 16 || (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && inner > most)) { return CUDA_ERROR_INVALID_VALUE; }
  std::memset(static_cast<void*>(out), 0, sizeof *out);
  std::memcpy(static_cast<void*>(out), &m, sizeof m);
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, char const** text) {
  *text = "refused by the emulator";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, char const** text) { return cuGetErrorString(CUDA_SUCCESS, text); }

}  // extern "C"
