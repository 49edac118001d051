// D(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n); leading strides in elements.
struct CutegenParams {
  void const* a;
  void const* b;
  void const* c;
  void* d;
  int64_t lda, ldb, ldc, ldd;
  int32_t m, n, k, reserved;
  double alpha, beta;
};
static_assert(sizeof(CutegenParams) == 96, "the launcher passes 96 bytes");
