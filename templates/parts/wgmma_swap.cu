// D^T = B * A^T as a product of its own: from here on A and B, M and N are in each other's place.
CUTE_DEVICE CutegenParams transposed(CutegenParams p) {
  auto exchange = [](auto& x, auto& y) {
    auto kept = x;
    x = y;
    y = kept;
  };
  exchange(p.a, p.b);
  exchange(p.lda, p.ldb);
  exchange(p.m, p.n);
//{% if vectors %}
  exchange(p.scale_a, p.scale_b);
//{% endif %}
  return p;
}
