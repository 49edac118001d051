/* Device memory for fake_cuda.c, in host memory, and a kernel for it: floats, A and B K-major, C and D N-major. */
#include <stdlib.h>
#include <string.h>

typedef struct {
  const void *a, *b, *c;
  void* d;
  long long lda, ldb, ldc, ldd;
  int m, n, k, reserved;
  double alpha, beta;
} Params;

static int allocations;

int cuMemAlloc_v2(unsigned long long* pointer, size_t bytes) {
  void* memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++allocations;
  return *pointer = (unsigned long long)(size_t)memory, memory ? 0 : 2;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  return memcpy((void*)(size_t)to, from, bytes), 0;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  return memcpy(to, (void*)(size_t)from, bytes), 0;
}
int cuCtxSetCurrent(void* context) { return (void)context, 0; }
int cuStreamCreate(void** stream, unsigned flags) { return *stream = (void*)0x77, (void)flags, 0; }
int cuStreamSynchronize(void* stream) { return stream == (void*)0x77 ? 0 : 400; }

void fake_compute(const Params* p) {
  if (!allocations) return;
  const float *a = p->a, *b = p->b, *c = p->c;
  for (int m = 0; m < p->m; ++m)
    for (int n = 0; n < p->n; ++n) {
      double sum = 0;
      for (int k = 0; k < p->k; ++k) sum += (double)a[m * p->lda + k] * b[n * p->ldb + k];
      sum = p->alpha * sum + (p->beta != 0 ? p->beta * c[m * p->ldc + n] : 0);
      ((float*)p->d)[m * p->ldd + n] = (float)sum;
    }
}
