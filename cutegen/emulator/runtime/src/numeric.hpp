// Conversions between the element types of tensor cores and float; each is exact or rounds once, to nearest even.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace cge {

inline float float_of_bits(uint32_t u) {
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
inline uint32_t bits_of_float(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  return u;
}

inline float from_f16(uint16_t h) {
  // The exponent moves up by 112; subnormals and infinities need one more step.
  uint32_t const sign = uint32_t(h & 0x8000u) << 16;
  uint32_t const rest = uint32_t(h & 0x7fffu) << 13;
  float scaled = float_of_bits(rest) * float_of_bits(0x77800000u);  // times 2^112
  uint32_t u = bits_of_float(scaled);
  if (rest >= 0x0f800000u) { u |= 0x7f800000u; }
  return float_of_bits(u | sign);
}

inline uint16_t to_f16(float f) {
  uint32_t const u = bits_of_float(f), sign = u >> 16 & 0x8000u;
  uint32_t const a = u & 0x7fffffffu;
  if (a > 0x7f800000u) { return uint16_t(0x7fffu); }
  if (a >= 0x477ff000u) { return uint16_t(sign | 0x7c00u); }
  if (a < 0x38800000u) {  // subnormal: adding 2^-1 leaves the rounded bits at the bottom
    float const shifted = float_of_bits(a) + 0.5f;
    return uint16_t(sign | (bits_of_float(shifted) - 0x3f000000u));
  }
  uint32_t const rounded = a + 0xfffu + (a >> 13 & 1u);
  return uint16_t(sign | ((rounded - 0x38000000u) >> 13));
}

inline float from_bf16(uint16_t b) { return float_of_bits(uint32_t(b) << 16); }

inline uint16_t to_bf16(float f) {
  uint32_t const u = bits_of_float(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) { return 0x7fffu; }
  return uint16_t((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

// e4m3 has no infinity: 0x7f is NaN, all else is finite. e5m2 is the upper half of f16.
inline float from_e4m3(uint8_t v) {
  int const e = v >> 3 & 15, m = v & 7;
  float const a = e == 15 && m == 7 ? NAN : e ? std::ldexp(float(8 + m), e - 10) : std::ldexp(float(m), -9);
  return v & 0x80 ? -a : a;
}
inline float from_e5m2(uint8_t v) { return from_f16(uint16_t(uint16_t(v) << 8)); }

}  // namespace cge
