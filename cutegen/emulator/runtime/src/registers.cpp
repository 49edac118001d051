// Operations on registers that are too long to be inline, and special registers.
#include <cuda_fp8.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <string>

#include "machine.hpp"
#include "numeric.hpp"
#include "report.hpp"

namespace cge {

uint32_t prmt(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t const both = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t const s = selector >> 4 * i & 15;
    uint32_t byte = uint32_t(both >> 8 * (s & 7)) & 255;
    if (s & 8) { byte = byte & 128 ? 255 : 0; }
    result |= byte << 8 * i;
  }
  return result;
}

uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (int i = 0; i < 8; ++i) {
    if (!(table >> i & 1)) { continue; }
    result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  }
  return result;
}

void repack(Registers to, Registers from, int bits) {
  uint64_t value = 0;
  int const in = bits / int(from.size()), out = bits / int(to.size());
  int at = 0;
  for (void const* r : from) {
    uint64_t v = 0;
    std::memcpy(&v, r, size_t(in + 7) / 8);
    value |= (in == 64 ? v : v & ((uint64_t(1) << in) - 1)) << at;
    at += in;
  }
  at = 0;
  for (void const* r : to) {
    uint64_t const v = value >> at;
    std::memcpy(const_cast<void*>(r), &v, size_t(out + 7) / 8);
    at += out;
  }
}

namespace {

bool is_float(Cvt t) { return t >= Cvt::f16; }

int bytes_of(Cvt t) {
  switch (t) {
    case Cvt::u8: case Cvt::s8: return 1;
    case Cvt::u16: case Cvt::s16: case Cvt::f16: case Cvt::bf16: case Cvt::e4m3x2: case Cvt::e5m2x2: return 2;
    case Cvt::u64: case Cvt::s64: case Cvt::f64: return 8;
    default: return 4;
  }
}

double read_number(Cvt t, void const* p) {
  uint64_t u = 0;
  std::memcpy(&u, p, size_t(bytes_of(t)));
  switch (t) {
    case Cvt::f16: return from_f16(uint16_t(u));
    case Cvt::bf16: return from_bf16(uint16_t(u));
    case Cvt::tf32: case Cvt::f32: return float_of_bits(uint32_t(u));
    case Cvt::f64: { double d; std::memcpy(&d, &u, 8); return d; }
    case Cvt::s8: return int8_t(u);
    case Cvt::s16: return int16_t(u);
    case Cvt::s32: return int32_t(u);
    case Cvt::s64: return double(int64_t(u));
    default: return double(u);
  }
}

// Toward zero, by stepping back when rounding to nearest went up; only for f16 and bf16 from f32.
uint16_t narrow(Cvt t, float x, unsigned flags) {
  bool const half = t == Cvt::f16;
  if (flags & cvt_relu) { x = x > 0 ? x : 0.0f; }
  uint16_t h = half ? to_f16(x) : to_bf16(x);
  float const back = half ? from_f16(h) : from_bf16(h);
  if ((flags & cvt_rz) && std::fabs(back) > std::fabs(x)) { --h; }
  return h;
}

uint8_t to_fp8(Cvt t, float x) {
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, t == Cvt::e4m3x2 ? __NV_E4M3 : __NV_E5M2);
}

double rounded(double x, unsigned flags) {
  return flags & cvt_rzi ? std::trunc(x) : flags & cvt_rmi ? std::floor(x) : flags & cvt_rpi ? std::ceil(x) : std::nearbyint(x);
}

uint64_t to_integer(Cvt t, double x) {
  static double const low[] = {0, -128, 0, -32768, 0, -2147483648.0, 0, -9223372036854775808.0};
  static double const high[] = {255, 127, 65535, 32767, 4294967295.0, 2147483647.0, 18446744073709551615.0,
                                9223372036854775807.0};
  if (std::isnan(x)) { return 0; }
  if (x <= low[int(t)]) { return uint64_t(int64_t(low[int(t)])); }
  if (x >= high[int(t)]) { return t == Cvt::u64 ? ~uint64_t(0) : t == Cvt::s64 ? uint64_t(INT64_MAX) : uint64_t(high[int(t)]); }
  return x < 0 ? uint64_t(int64_t(x)) : uint64_t(x);
}

// Integer to integer: sign extension of the source, then truncation, or saturation.
uint64_t widen(Cvt t, void const* p) {
  uint64_t u = 0;
  std::memcpy(&u, p, size_t(bytes_of(t)));
  bool const is_signed = t == Cvt::s8 || t == Cvt::s16 || t == Cvt::s32;
  int const shift = 64 - 8 * bytes_of(t);
  return is_signed ? uint64_t(int64_t(u << shift) >> shift) : u;
}

void pack_pair(Cvt to, Cvt from, unsigned flags, void* d, void const* const* a) {
  if (from == Cvt::f32) {  // a[0] goes to the upper half
    float hi, lo;
    std::memcpy(&hi, a[0], 4);
    std::memcpy(&lo, a[1], 4);
    if (to == Cvt::f16x2 || to == Cvt::bf16x2) {
      Cvt const one = to == Cvt::f16x2 ? Cvt::f16 : Cvt::bf16;
      uint16_t const h[2] = {narrow(one, lo, flags), narrow(one, hi, flags)};
      std::memcpy(d, h, 4);
    } else {
      uint8_t const h[2] = {to_fp8(to, lo), to_fp8(to, hi)};
      std::memcpy(d, h, 2);
    }
    return;
  }
  uint16_t in[2] = {};
  std::memcpy(in, a[0], size_t(bytes_of(from)));
  if (to == Cvt::f16x2) {
    uint16_t h[2];
    for (int e = 0; e < 2; ++e) {
      uint8_t const v = uint8_t(in[0] >> 8 * e);
      h[e] = to_f16(from == Cvt::e4m3x2 ? from_e4m3(v) : from_e5m2(v));
    }
    std::memcpy(d, h, 4);
  } else {
    uint8_t const h[2] = {to_fp8(to, from_f16(in[0])), to_fp8(to, from_f16(in[1]))};
    std::memcpy(d, h, 2);
  }
}

}  // namespace

uint32_t pack(Cvt to, int32_t a, int32_t b, uint32_t c) {
  int const bits = 8 * bytes_of(to);
  uint32_t const mask = (1u << bits) - 1, hi = uint32_t(to_integer(to, a)) & mask, lo = uint32_t(to_integer(to, b)) & mask;
  return (bits == 8 ? c << 16 : 0) | hi << bits | lo;
}

void convert(Cvt to, Cvt from, unsigned flags, Registers destinations, Registers sources) {
  void* d = const_cast<void*>(*destinations.begin());
  void const* const* a = sources.begin();
  if (to >= Cvt::f16x2) { return pack_pair(to, from, flags, d, a); }
  uint64_t result = 0;
  if (!is_float(to)) {
    result = is_float(from) ? to_integer(to, rounded(read_number(from, a[0]), flags)) : widen(from, a[0]);
    if (!is_float(from) && (flags & (cvt_sat | cvt_satfinite))) { result = to_integer(to, read_number(from, a[0])); }
  } else {
    double x = read_number(from, a[0]);
    if (flags & cvt_sat) { x = x > 0 ? std::min(x, 1.0) : 0.0; }
    if (flags & (cvt_rni | cvt_rzi | cvt_rmi | cvt_rpi)) { x = rounded(x, flags); }
    if (to == Cvt::f64) {
      std::memcpy(&result, &x, 8);
    } else if (to == Cvt::f32) {
      result = bits_of_float(float(x));
    } else if (to == Cvt::tf32) {
      uint32_t const u = bits_of_float(float(x));
      result = flags & cvt_rna ? (u + 0x1000u) & 0xffffe000u : (u + 0xfffu + (u >> 13 & 1u)) & 0xffffe000u;
    } else {
      result = narrow(to, float(x), flags);
    }
  }
  std::memcpy(d, &result, size_t(bytes_of(to)));
}

void simd(Simd op, Registers d, Registers operands, bool relu) {
  int const kind = int(op);
  bool const wide = op >= Simd::add_f32x2 && op <= Simd::fma_f32x2;
  int const operation = wide ? kind - int(Simd::add_f32x2) : (kind >= int(Simd::add_f16) ? kind - int(Simd::add_f16) : kind) % 6;
  bool const brain = (op >= Simd::add_bf16x2 && op <= Simd::max_bf16x2) || op >= Simd::add_bf16;
  int const count = op >= Simd::add_f16 ? 1 : 2, bytes = wide ? 4 : 2;
  for (int e = 0; e < count; ++e) {
    float v[3] = {};
    int n = 0;
    for (void const* r : operands) {
      uint32_t u = 0;
      std::memcpy(&u, static_cast<char const*>(r) + e * bytes, size_t(bytes));
      v[n++] = wide ? float_of_bits(u) : brain ? from_bf16(uint16_t(u)) : from_f16(uint16_t(u));
    }
    double const x = operation == 0 ? double(v[0]) + v[1] : operation == 1 ? double(v[0]) - v[1] : operation == 2 ? double(v[0]) * v[1]
                     : operation == 3 ? double(v[0]) * v[1] + v[2] : operation == 4 ? std::fmin(v[0], v[1]) : std::fmax(v[0], v[1]);
    float const y = relu && x < 0 ? 0.0f : float(x);
    uint32_t const u = wide ? bits_of_float(y) : brain ? to_bf16(y) : to_f16(y);
    std::memcpy(static_cast<char*>(const_cast<void*>(*d.begin())) + e * bytes, &u, size_t(bytes));
  }
}

uint32_t special_tid_x() { return self().tid.x; }
uint32_t special_tid_y() { return self().tid.y; }
uint32_t special_tid_z() { return self().tid.z; }
uint32_t special_ntid_x() { return launch_now.block.x; }
uint32_t special_ctaid_x() { return self().cta->block.x; }
uint32_t special_ctaid_y() { return self().cta->block.y; }
uint32_t special_ctaid_z() { return self().cta->block.z; }
uint32_t special_nctaid_x() { return launch_now.grid.x; }
uint32_t special_laneid() { return self().lane; }
uint32_t special_warpid() { return self().warp->index; }
uint32_t special_lanemask_lt() { return (1u << self().lane) - 1; }
uint32_t special_smid() { return 0; }
uint32_t special_clusterid_x() { return self().cta->block.x / launch_now.cluster.x; }
uint32_t special_clusterid_y() { return self().cta->block.y / launch_now.cluster.y; }
uint32_t special_clusterid_z() { return self().cta->block.z / launch_now.cluster.z; }
uint32_t special_nclusterid_x() { return launch_now.grid.x / launch_now.cluster.x; }
uint32_t special_nclusterid_y() { return launch_now.grid.y / launch_now.cluster.y; }
uint32_t special_nclusterid_z() { return launch_now.grid.z / launch_now.cluster.z; }
uint32_t special_cluster_ctaid_x() { return self().cta->block.x % launch_now.cluster.x; }
uint32_t special_cluster_ctaid_y() { return self().cta->block.y % launch_now.cluster.y; }
uint32_t special_cluster_ctaid_z() { return self().cta->block.z % launch_now.cluster.z; }
uint32_t special_cluster_nctaid_x() { return launch_now.cluster.x; }
uint32_t special_cluster_nctaid_y() { return launch_now.cluster.y; }
uint32_t special_cluster_nctaid_z() { return launch_now.cluster.z; }
uint32_t special_cluster_ctarank() { return self().cta->rank; }
uint32_t special_cluster_nctarank() { return cluster_size(); }
uint64_t special_clock64() { return special_globaltimer(); }
uint64_t special_globaltimer() {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
}

void trap(char const* what) {
  Finding f{"trap"};
  if (current) { CGE_HERE(); }
  f.message = std::string("the kernel executes ") + what;
  report_fatal(std::move(f));
}

uint32_t device_level = 0;
bool device_specific = false;

void not_on_this_device(uint32_t level, bool specific, char const* instruction) {
  if (!kSanitize || !current) { return; }
  CGE_HERE();
  Finding f{"unsupported-on-arch"};
  f.message = std::string(instruction) + " needs sm_" + std::to_string(level) + (specific ? "a" : " or later") +
              ", and this is sm_" + std::to_string(device_level) + (device_specific ? "a" : "");
  report(std::move(f));
}

void unsupported(char const* instruction) {
  Finding f{"unsupported-instruction"};
  if (current) { CGE_HERE(); }
  f.message = std::string("the emulator does not know ") + instruction;
  report_fatal(std::move(f));
}

}  // namespace cge
