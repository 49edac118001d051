// Counts of what accesses cost: wavefronts in shared memory, sectors in global memory.
#pragma once

#include <cstdint>
#include <string>

#include "memory.hpp"

namespace cge {

// One lane's part of a warp-wide access; inactive lanes have no bit in the request's mask.
struct Request {
  uint32_t mask = 0;
  uint32_t segment = 0;
  uint64_t address[32];
  uint64_t source[32];  // cp.async only
};

// Wavefronts follow the rules of cutegen/layout/banks.py.
void count_matrix(uint32_t site, Access access, int matrices, uint64_t const* rows, uint32_t origin);
// An access of the current lane; the lanes of a warp are put together by site and order.
void count_lane(uint32_t site, Access access, uint32_t bytes, void const* address, void const* source, uint32_t origin,
                bool bypass_l1);
// A plain load or store of the current lane. What a compiler took apart is one access again: neighbouring bytes
// that different instructions access one after the other.
void count_plain(uint32_t site, Access access, uint32_t bytes, void const* address, uint32_t origin);
// One warp-wide instruction; `name` turns the code into text when the counts are written.
void count_instruction(uint32_t site, uint64_t code, std::string (*name)(uint64_t));
void flush_counts();
void write_counts(std::string& out);

}  // namespace cge
