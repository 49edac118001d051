// The vectors that D's elements meet. Of one thread's accumulators, which lie on a grid of rows and columns,
// the registers and the places in the tile.
struct Vectors {
  using Bias = {{ vectors.bias }};
  static constexpr bool SCALE_A    = {{ vectors.scale_a is not none }};
  static constexpr bool PER_ROW    = {{ vectors.scale_a == "row" }};  // else one element for all
  static constexpr bool SCALE_B    = {{ vectors.scale_b is not none }};
  static constexpr bool PER_COLUMN = {{ vectors.scale_b == "column" }};
  static constexpr bool WITH_BIAS  = {{ vectors.with_bias }};

  using RowRegister    = {{ vectors.row_register }};
  using RowM           = {{ vectors.row_m }};
  using ColumnRegister = {{ vectors.column_register }};
  using ColumnN        = {{ vectors.column_n }};
};

// An element of a vector; 0 beyond its end.
template <class T>
CUTE_DEVICE Config::Scale element(void const* vector, int i, int count) {
  return i < count ? Config::Scale(static_cast<T const*>(vector)[i]) : Config::Scale(0);
}

// alpha * scale_a(m) * scale_b(n) * acc + bias(n). Each element of a vector is loaded once.
template <class FragmentC>
CUTE_DEVICE auto with_vectors(CutegenParams const& p, int m_begin, int n_begin, FragmentC const& tCrC) {
  using Scale = Config::Scale;
  constexpr int ROWS = size(Vectors::RowM{}), COLUMNS = size(Vectors::ColumnN{});
  int m_thr = m_begin + Output::ThrM{}(int(threadIdx.x)), n_thr = n_begin + Output::ThrN{}(int(threadIdx.x));

  Scale whole = Scale(p.alpha);
  if constexpr (Vectors::SCALE_A && !Vectors::PER_ROW) {
    whole *= element<float>(p.scale_a, 0, 1);
  }
  if constexpr (Vectors::SCALE_B && !Vectors::PER_COLUMN) {
    whole *= element<float>(p.scale_b, 0, 1);
  }
  Scale row[ROWS];
  CUTE_UNROLL
  for (int r = 0; r < ROWS; ++r) {
    row[r] = whole;
    if constexpr (Vectors::PER_ROW) {
      row[r] *= element<float>(p.scale_a, m_thr + Vectors::RowM{}(r), p.m);
    }
  }

  auto tCrS = make_tensor<Scale>(Config::FragmentC{});
  CUTE_UNROLL
  for (int c = 0; c < COLUMNS; ++c) {
    int n = n_thr + Vectors::ColumnN{}(c);
    Scale column = Scale(1), bias = Scale(0);
    if constexpr (Vectors::PER_COLUMN) {
      column = element<float>(p.scale_b, n, p.n);
    }
    if constexpr (Vectors::WITH_BIAS) {
      bias = element<Vectors::Bias>(p.bias, n, p.n);
    }
    CUTE_UNROLL
    for (int r = 0; r < ROWS; ++r) {
      int i = Vectors::RowRegister{}(r) + Vectors::ColumnRegister{}(c);
      tCrS(i) = row[r] * to_scale(tCrC(i)) * column;
      if constexpr (Vectors::WITH_BIAS) {
        tCrS(i) += bias;
      }
    }
  }
  return tCrS;
}
