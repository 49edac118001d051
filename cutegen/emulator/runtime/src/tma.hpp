// What a tensor map holds here: the arguments of cuTensorMapEncodeTiled, in the 128 bytes that CUDA gives it.
#pragma once

#include <cstdint>

namespace cge {

struct TensorMap {
  uint32_t magic;
  uint8_t rank, element, swizzle, nan_fill;  // swizzle: 0 none, 1 32 B, 2 64 B, 3 128 B
  char* base;
  uint64_t dims[5];
  uint64_t strides[4];  // bytes, of dimensions 1 and up
  uint16_t box[5];
};
constexpr uint32_t kTensorMap = 0x7a3a11edu;
static_assert(sizeof(TensorMap) <= 128, "it must fit a CUtensorMap");

// Swizzles act on address bits: 16-byte chunks are exchanged within rows of 32, 64 or 128 bytes.
inline uint32_t swizzled(uint32_t address, int mode) {
  uint32_t const mask = mode == 3 ? 7 : mode == 2 ? 3 : mode == 1 ? 1 : 0;
  return address ^ ((address >> 7 & mask) << 4);
}

}  // namespace cge
