// The vectors that D's elements meet. A thread's accumulators lie on a grid of rows and columns.
struct Vectors {
  using Bias = {{ vectors.bias }};
  static constexpr bool SCALE_A    = {{ vectors.scale_a is not none }};
  static constexpr bool PER_ROW    = {{ vectors.scale_a == "row" }};  // else one element for all
  static constexpr bool SCALE_B    = {{ vectors.scale_b is not none }};
  static constexpr bool PER_COLUMN = {{ vectors.scale_b == "column" }};
  static constexpr bool WITH_BIAS  = {{ vectors.with_bias }};

  using Row     = {{ vectors.row }};  // of an accumulator
  using Column  = {{ vectors.column }};
  using RowM    = {{ vectors.row_m }};
  using ColumnN = {{ vectors.column_n }};
};

// A thread's elements of a vector, each loaded once; 0 beyond the vector's end.
template <class Places, class T, int N>
CUTE_DEVICE void load_vector(Config::Scale (&elements)[N], void const* vector, int first, int count) {
  T const* from = static_cast<T const*>(vector) + first;
  CUTE_UNROLL
  for (int i = 0; i < N; ++i) {
    elements[i] = Places{}(i) < count - first ? Config::Scale(from[Places{}(i)]) : Config::Scale(0);
  }
}

// alpha * scale_a(m) * scale_b(n) * acc + bias(n) of each accumulator, computed when it is asked for.
template <class FragmentC>
struct WithVectors {
  using Scale = Config::Scale;
  static constexpr int ROWS    = decltype(size(Vectors::RowM{}))::value;
  static constexpr int COLUMNS = decltype(size(Vectors::ColumnN{}))::value;

  FragmentC const& tCrC;
  Scale row[ROWS], column[COLUMNS], bias[COLUMNS];

  CUTE_DEVICE WithVectors(CutegenParams const& p, int m_begin, int n_begin, FragmentC const& tCrC) : tCrC(tCrC) {
    int m_thr = m_begin + Output::ThrM{}(int(threadIdx.x)), n_thr = n_begin + Output::ThrN{}(int(threadIdx.x));
    Scale whole = Scale(p.alpha);
    if constexpr (Vectors::SCALE_A && !Vectors::PER_ROW) {
      whole *= Scale(*static_cast<float const*>(p.scale_a));
    }
    if constexpr (Vectors::SCALE_B && !Vectors::PER_COLUMN) {
      whole *= Scale(*static_cast<float const*>(p.scale_b));
    }
    if constexpr (Vectors::PER_ROW) {
      load_vector<Vectors::RowM, float>(row, p.scale_a, m_thr, p.m);
    }
    CUTE_UNROLL
    for (int r = 0; r < ROWS; ++r) {
      row[r] = Vectors::PER_ROW ? row[r] * whole : whole;
    }
    if constexpr (Vectors::PER_COLUMN) {
      load_vector<Vectors::ColumnN, float>(column, p.scale_b, n_thr, p.n);
    }
    if constexpr (Vectors::WITH_BIAS) {
      load_vector<Vectors::ColumnN, Vectors::Bias>(bias, p.bias, n_thr, p.n);
    }
  }

  CUTE_DEVICE Scale operator()(int i) const {
    int c = Vectors::Column{}(i);
    Scale x = row[Vectors::Row{}(i)] * to_scale(tCrC(i));
    if constexpr (Vectors::PER_COLUMN) {
      x *= column[c];
    }
    if constexpr (Vectors::WITH_BIAS) {
      x += bias[c];
    }
    return x;
  }
};
