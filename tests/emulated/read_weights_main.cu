// Runs the kernel that only reads B: B is zero but for one word, and who reads that word says so in D.
#include "../../cutegen/bench/read_weights.cu"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  int n = std::atoi(argv[1]), k = std::atoi(argv[2]), ctas = std::atoi(argv[3]);
  size_t bytes = size_t(n) * k;
  void *b, *d;
  cudaMalloc(&b, bytes);
  cudaMalloc(&d, 4);
  CutegenParams p = {};
  p.b = b;
  p.d = d;
  p.m = 1;
  p.n = n;
  p.k = k;
  uint32_t const words = bytes / 4, mark = 0x9e3779b9u;
  for (int turn = 0; turn < 12; ++turn) {
    uint32_t at = turn < 4 ? words / 4 * turn + turn : words - 1 - (turn - 4) * 5, got = 0;
    if (at >= words) continue;
    cudaMemset(b, 0, bytes);
    cudaMemset(d, 0, 4);
    cudaMemcpy(static_cast<uint32_t*>(b) + at, &mark, 4, cudaMemcpyHostToDevice);
    read_weights<<<ctas, kThreads>>>(p);
    cudaMemcpy(&got, d, 4, cudaMemcpyDeviceToHost);
    if (got != mark) return std::printf("word %u of %u was not read once\n", at, words), 1;
  }
  return 0;
}
