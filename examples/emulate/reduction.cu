// Sums each CTA's part of x into y: a halving loop in shared memory.
#include <cuda_runtime.h>

template <int THREADS>
__global__ void reduce(float const* x, float* y, int n) {
  __shared__ float part[THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int stride = THREADS / 2; stride > 0; stride /= 2) {
    if (threadIdx.x < stride) { part[threadIdx.x] += part[threadIdx.x + stride]; }
#if FIXED
    __syncthreads();
#endif
  }
  if (threadIdx.x == 0) { y[blockIdx.x] = part[0]; }
}
