// One access of one warp with the offsets of a measured pattern; each kind has a line of its own.
#include <cstdint>

template <int N>
__device__ void keep(uint32_t* out, uint32_t const (&v)[N]) {
  for (int i = 0; i < N; ++i) { out[threadIdx.x] += v[i]; }
}

__global__ void pattern(int kind, int const* offset, int const* source, unsigned char const* global, uint32_t* out) {
  extern __shared__ __align__(128) unsigned char memory[];
  for (int i = threadIdx.x; i < 96 * 1024 / 16; i += 32) { reinterpret_cast<uint4*>(memory)[i] = make_uint4(0, 0, 0, 0); }
  __syncthreads();
  bool active = offset[threadIdx.x] >= 0;
  unsigned char* p = memory + (active ? offset[threadIdx.x] : 0);
  unsigned char const* g = global + source[threadIdx.x];
  uint32_t a = uint32_t(__cvta_generic_to_shared(p));
  uint32_t v[4] = {};
  uint2 v2 = make_uint2(1, 2);
  uint4 v4 = make_uint4(1, 2, 3, 4);
  if (kind < 4) {
    if (kind == 0) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v[0]) : "r"(a));  // ldsm_x1
    if (kind == 1) asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(a));  // ldsm_x2
    if (kind == 2) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(a));  // ldsm_x4
    if (kind == 3) asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(a));  // ldsm_x4_trans
  } else if (kind < 8) {
    if (kind == 4) asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(a), "r"(v[0]));  // stsm_x1
    if (kind == 5) asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(a), "r"(v[0]), "r"(v[1]));  // stsm_x2
    if (kind == 6) asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"(a), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]));  // stsm_x4
    if (kind == 7) asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"(a), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]));  // stsm_x4_trans
  } else if (active) {
    if (kind == 8) v[0] = *p;  // lds8
    if (kind == 9) v[0] = *reinterpret_cast<uint16_t*>(p);  // lds16
    if (kind == 10) v[0] = *reinterpret_cast<uint32_t*>(p);  // lds32
    if (kind == 11) v2 = *reinterpret_cast<uint2*>(p);  // lds64
    if (kind == 12) v4 = *reinterpret_cast<uint4*>(p);  // lds128
    if (kind == 13) *p = 1;  // sts8
    if (kind == 14) *reinterpret_cast<uint16_t*>(p) = 1;  // sts16
    if (kind == 15) *reinterpret_cast<uint32_t*>(p) = 1;  // sts32
    if (kind == 16) *reinterpret_cast<uint2*>(p) = v2;  // sts64
    if (kind == 17) *reinterpret_cast<uint4*>(p) = v4;  // sts128
    if (kind == 18) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(a), "l"(g));  // cp4_ca
    if (kind == 19) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(a), "l"(g));  // cp8_ca
    if (kind == 20) asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(a), "l"(g));  // cp16_ca
    if (kind == 21) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(a), "l"(g));  // cp16_cg
  }
  asm volatile("cp.async.wait_all;");
  keep(out, v);
  out[threadIdx.x] += v2.x + v2.y + v4.x + v4.y + v4.z + v4.w;
}
