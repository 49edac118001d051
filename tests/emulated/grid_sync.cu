// CTAs that wait for each other through global memory, in the ways that GEMMs use. FAULT takes one step away.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>
#include <cutlass/barrier.h>
#include <cutlass/semaphore.h>

#ifndef FAULT
#define FAULT 0
#endif

constexpr int kThreads = 64;

// Split-K by a counter: the last CTA of a tile adds what the others have left in the workspace.
__global__ void last_adds(float const* x, float* workspace, int* counter, float* y, int splits) {
  __shared__ bool last;
  int const tile = blockIdx.x / splits, split = blockIdx.x % splits;
  workspace[blockIdx.x * kThreads + threadIdx.x] = x[blockIdx.x * kThreads + threadIdx.x];
#if FAULT != 1
  __threadfence();
#endif
#if FAULT != 2
  __syncthreads();
#endif
  if (threadIdx.x == 0) {
    last = atomicAdd(&counter[tile], 1) == splits - 1;
#if FAULT != 3
    __threadfence();
#endif
  }
  __syncthreads();
  if (!last) { return; }
  float sum = 0;
  for (int s = 0; s < splits; ++s) { sum += workspace[(tile * splits + s) * kThreads + threadIdx.x]; }
  y[tile * kThreads + threadIdx.x] = sum;
  (void)split;
}

// Split-K in turn: each CTA waits for the one before it, as CUTLASS's serial reduction does.
__global__ void in_turn(float const* x, int* lock, float* y, int splits) {
  int const tile = blockIdx.x / splits, split = blockIdx.x % splits;
  cutlass::Semaphore semaphore(lock + tile, threadIdx.x);
  semaphore.fetch();
#if FAULT != 4
  semaphore.wait(split);
#endif
  float const old = split ? y[tile * kThreads + threadIdx.x] : 0.0f;
  y[tile * kThreads + threadIdx.x] = old + x[blockIdx.x * kThreads + threadIdx.x];
  semaphore.release(split + 1 == splits ? 0 : split + 1);
}

// The first CTA waits for all later ones, as a tile's owner does in stream-K.
__global__ void owner_waits(float const* x, float* workspace, int* flags, float* y, int splits) {
  int const tile = blockIdx.x / splits, split = blockIdx.x % splits;
  using Barrier = cutlass::Barrier;
  if (split) {
    workspace[blockIdx.x * kThreads + threadIdx.x] = x[blockIdx.x * kThreads + threadIdx.x];
#if FAULT == 5
    __syncthreads();
    if (threadIdx.x == 0) { atomicAdd(flags + tile, 1); }  // without the fence
#elif FAULT != 6
    Barrier::arrive_inc(flags, threadIdx.x, tile);
#endif
    return;
  }
#if FAULT != 7
  Barrier::wait_eq(flags, threadIdx.x, tile, splits - 1);
#endif
  float sum = x[blockIdx.x * kThreads + threadIdx.x];
  for (int s = 1; s < splits; ++s) { sum += workspace[(blockIdx.x + s) * kThreads + threadIdx.x]; }
  y[tile * kThreads + threadIdx.x] = sum;
}

// A flag that is volatile, with fences on both sides.
__global__ void volatile_flag(float const* x, float* workspace, int* flags, float* y, int splits) {
  int const tile = blockIdx.x / splits, split = blockIdx.x % splits;
  if (split) {
    workspace[blockIdx.x * kThreads + threadIdx.x] = x[blockIdx.x * kThreads + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
#if FAULT != 8
      __threadfence();
#endif
      *(int volatile*)(flags + blockIdx.x) = 1;
    }
    return;
  }
  if (threadIdx.x == 0) {
    for (int s = 1; s < splits; ++s) {
      while (*(int volatile*)(flags + blockIdx.x + s) == 0) {}
    }
#if FAULT != 9
    __threadfence();
#endif
  }
  __syncthreads();
  float sum = x[blockIdx.x * kThreads + threadIdx.x];
  for (int s = 1; s < splits; ++s) { sum += workspace[(blockIdx.x + s) * kThreads + threadIdx.x]; }
  y[tile * kThreads + threadIdx.x] = sum;
}

// All CTAs meet.
__global__ void everybody(float const* x, float* workspace, int*, float* y, int splits) {
  workspace[blockIdx.x * kThreads + threadIdx.x] = x[blockIdx.x * kThreads + threadIdx.x];
#if FAULT != 10
  cooperative_groups::this_grid().sync();
#endif
  int const tile = blockIdx.x / splits;
  if (blockIdx.x % splits) { return; }
  float sum = 0;
  for (int s = 0; s < splits; ++s) { sum += workspace[(blockIdx.x + s) * kThreads + threadIdx.x]; }
  y[tile * kThreads + threadIdx.x] = sum;
}

// A barrier of the grid made by hand: right as long as all CTAs are resident.
__global__ void by_hand(float const* x, float* workspace, int* counter, float* y, int splits) {
  workspace[blockIdx.x * kThreads + threadIdx.x] = x[blockIdx.x * kThreads + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(counter, 1);
#if FAULT != 11
    while (atomicAdd(counter, 0) < int(gridDim.x)) { __nanosleep(100); }
#endif
    __threadfence();
  }
  __syncthreads();
  int const tile = blockIdx.x / splits;
  if (blockIdx.x % splits) { return; }
  float sum = 0;
  for (int s = 0; s < splits; ++s) { sum += workspace[(blockIdx.x + s) * kThreads + threadIdx.x]; }
  y[tile * kThreads + threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  int const which = atoi(argv[1]), tiles = atoi(argv[2]), n_splits = atoi(argv[3]), ctas = tiles * n_splits;
  int splits = n_splits;
  std::vector<float> x(size_t(ctas) * kThreads), y(size_t(tiles) * kThreads);
  for (size_t i = 0; i < x.size(); ++i) { x[i] = float(i % 7); }
  float *dx, *workspace, *dy;
  int* flags;
  cudaMalloc(&dx, x.size() * 4);
  cudaMalloc(&workspace, x.size() * 4);
  cudaMalloc(&dy, y.size() * 4);
  cudaMalloc(&flags, size_t(ctas) * 4);
  cudaMemcpy(dx, x.data(), x.size() * 4, cudaMemcpyHostToDevice);
  cudaMemset(flags, 0, size_t(ctas) * 4);
  if (which == 0) { last_adds<<<ctas, kThreads>>>(dx, workspace, flags, dy, splits); }
  if (which == 1) { in_turn<<<ctas, kThreads>>>(dx, flags, dy, splits); }
  if (which == 2) { owner_waits<<<ctas, kThreads>>>(dx, workspace, flags, dy, splits); }
  if (which == 3) { volatile_flag<<<ctas, kThreads>>>(dx, workspace, flags, dy, splits); }
  if (which == 5) { by_hand<<<ctas, kThreads>>>(dx, workspace, flags, dy, splits); }
  if (which == 4) {
    void* arguments[] = {&dx, &workspace, &flags, &dy, &splits};
    if (cudaLaunchCooperativeKernel((void*)everybody, dim3(ctas), dim3(kThreads), arguments) != cudaSuccess) { return 2; }
  }
  cudaMemcpy(y.data(), dy, y.size() * 4, cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int t = 0; t < tiles; ++t) {
    for (int i = 0; i < kThreads; ++i) {
      float want = 0;
      for (int s = 0; s < splits; ++s) { want += x[size_t(t * splits + s) * kThreads + i]; }
      bad += y[size_t(t) * kThreads + i] != want;
    }
  }
  std::printf("%d wrong\n", bad);
  return bad != 0;
}
