// Reads B once, linearly, and computes nothing: the floor of a matrix product with few rows of A.
//
// p.b is B as bytes: p.n rows of p.k bytes, a multiple of 16 in all. Every thread takes 16 bytes at a time, four
// of them in flight. The xor of all that was read goes to p.d if it happens to be one certain value, so that
// the compiler cannot leave out a load.
#include <cstdint>

struct CutegenParams {
  void const* a;
  void const* b;
  void const* c;
  void* d;
  int64_t lda, ldb, ldc, ldd;
  int32_t m, n, k, group;
  double alpha, beta;
};
static_assert(sizeof(CutegenParams) == 96, "the launcher passes 96 bytes");

constexpr int kThreads = 512;
constexpr int kUnroll = 4;

extern "C" __global__ void __launch_bounds__(kThreads) read_weights(__grid_constant__ CutegenParams const p) {
  uint4 const* const words = static_cast<uint4 const*>(p.b);
  int64_t const count = int64_t(p.n) * p.k / 16;
  int64_t const step = int64_t(gridDim.x) * kThreads;
  int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  uint32_t mixed = 0;
  for (; i + (kUnroll - 1) * step < count; i += kUnroll * step) {
    uint4 taken[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) taken[u] = words[i + u * step];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) mixed ^= taken[u].x ^ taken[u].y ^ taken[u].z ^ taken[u].w;
  }
  for (; i < count; i += step) {
    uint4 const taken = words[i];
    mixed ^= taken.x ^ taken.y ^ taken.z ^ taken.w;
  }
  if (mixed == 0x9e3779b9u) *static_cast<uint32_t*>(p.d) = mixed;
}
