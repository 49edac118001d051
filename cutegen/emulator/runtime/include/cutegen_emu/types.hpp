// Element types of matrix instructions. cutegen/emulator/rewrite/mma.py has the same codes.
#pragma once

#include <cstdint>

namespace cge {

enum class Type : uint8_t { none, f16, bf16, tf32, f32, f64, s8, u8, s4, u4, b1, e4m3, e5m2, s32 };

// The shape and types of one mma, decoded from its opcode when the headers were rewritten.
struct MmaCode {
  uint16_t m, n, k;
  uint8_t d, a, b, c;  // Type
  uint8_t saturate;
};

// `compared` is relaxed, but behind a barrier it counts as an acquisition: CUTLASS's stream-K of sm_80 waits by
// atomicCAS and __syncthreads(), without a fence.
enum class Order : uint8_t { plain, relaxed, acquire, release, acq_rel, compared };
enum class Scope : uint8_t { block, device };  // a cluster's scope counts as the device's

enum class Cvt : uint8_t {
  u8, s8, u16, s16, u32, s32, u64, s64, f16, bf16, tf32, f32, f64, f16x2, bf16x2, e4m3x2, e5m2x2
};

enum : unsigned {
  cvt_rn = 1, cvt_rz = 2, cvt_rna = 4, cvt_rni = 8, cvt_rzi = 16, cvt_rmi = 32, cvt_rpi = 64, cvt_rp = 128,
  cvt_rm = 256, cvt_sat = 512, cvt_satfinite = 1024, cvt_relu = 2048, cvt_ftz = 0
};

enum class Simd : uint8_t {
  add_f16x2, sub_f16x2, mul_f16x2, fma_f16x2, min_f16x2, max_f16x2,
  add_bf16x2, sub_bf16x2, mul_bf16x2, fma_bf16x2, min_bf16x2, max_bf16x2,
  add_f32x2, sub_f32x2, mul_f32x2, fma_f32x2,
  add_f16, sub_f16, mul_f16, fma_f16, min_f16, max_f16,
  add_bf16, sub_bf16, mul_bf16, fma_bf16, min_bf16, max_bf16
};

}  // namespace cge
