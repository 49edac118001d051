//{% if vectors %}
// D(m,n) = alpha * scale_a(m) * scale_b(n) * sum_k A(m,k) * B(n,k) + bias(n) + beta * C(m,n); leading strides in elements.
//{% else %}
// D(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n); leading strides in elements.
//{% endif %}
struct CutegenParams {
  void const* a;
  void const* b;
  void const* c;
  void* d;
  int64_t lda, ldb, ldc, ldd;
  int32_t m, n, k;
  int32_t group;  // tiles of a raster group; 0: as the config says
  double alpha, beta;
//{% if vectors %}
  void const* scale_a;  // of these three those that the config has
  void const* scale_b;
  void const* bias;
//{% endif %}
};
static_assert(sizeof(CutegenParams) == {{ 120 if vectors else 96 }}, "the launcher passes {{ 120 if vectors else 96 }} bytes");
