// The vectors that D's elements meet. Those of columns pass through shared memory, a piece for each warpgroup:
// held in registers they would displace accumulators.
struct Vectors {
  using Bias = {{ vectors.bias }};
  static constexpr bool SCALE_A     = {{ vectors.scale_a is not none }};
  static constexpr bool PER_ROW     = {{ vectors.scale_a == "row" }};  // else one element for all
  static constexpr bool SCALE_B     = {{ vectors.scale_b is not none }};
  static constexpr bool PER_COLUMN  = {{ vectors.scale_b == "column" }};
  static constexpr bool ROW_BIAS    = {{ vectors.bias_of_rows }};
  static constexpr bool COLUMN_BIAS = {{ vectors.with_bias and not vectors.bias_of_rows }};
  static constexpr int  OFFSET = {{ vectors.offset }};  // bytes from the staging buffers
  static constexpr int  BYTES  = {{ vectors.bytes }};  // of one warpgroup
  static constexpr int  FIRST_BARRIER = 5;  // behind those of M-major stores
};

// An element of a vector; 0 beyond its end.
template <class T>
CUTE_DEVICE Config::Scale element(void const* vector, int i, int count) {
  return i < count ? Config::Scale(static_cast<T const*>(vector)[i]) : Config::Scale(0);
}

// A warpgroup's part of a vector along N on its way to shared memory, each thread every 128th column.
struct ColumnLoad {
  static constexpr int STEPS = (Output::COLUMNS + 127) / 128;
  Config::Scale value[STEPS];

  template <class T>
  CUTE_DEVICE void start(void const* vector, int n, int count) {
    CUTE_UNROLL
    for (int i = 0; i < STEPS; ++i) {
      value[i] = element<T>(vector, n + i * 128, count);
    }
  }

  CUTE_DEVICE void finish(uint32_t to, int column) const {
    CUTE_UNROLL
    for (int i = 0; i < STEPS; ++i) {
      if (column + i * 128 < Output::COLUMNS) {
        *shared_ptr_at<Config::Scale>(to + (column + i * 128) * sizeof(Config::Scale)) = value[i];
      }
    }
  }
};

//{% if swap_ab %}
// alpha * scale_a(m) * scale_b(n) * acc + bias(m) of each accumulator, computed when it is asked for.
//{% else %}
// alpha * scale_a(m) * scale_b(n) * acc + bias(n) of each accumulator, computed when it is asked for.
//{% endif %}
template <class FragmentC>
struct WithVectors {
  using Scale = Config::Scale;
  using Pair  = Vector<Scale, 2>;  // of neighbouring columns
  FragmentC const& tCrC;
  uint32_t factors, summands;  // of the thread's first columns
  Scale row[Config::ATOMS_M * 2];
  Scale row_bias[Vectors::ROW_BIAS ? Config::ATOMS_M * 2 : 1];

  CUTE_DEVICE WithVectors(CutegenParams const& p, int m_begin, int n_begin, uint32_t smem, FragmentC const& tCrC)
      : tCrC(tCrC) {
    int thread = threadIdx.x, warpgroup = thread / 128;
    load_rows(p, m_begin + Output::ThrM{}(thread));
    uint32_t begin = smem + warpgroup * Vectors::BYTES;
    uint32_t after = begin + (Vectors::PER_COLUMN ? Output::COLUMNS * sizeof(Scale) : 0);
    if constexpr (Vectors::PER_COLUMN || Vectors::COLUMN_BIAS) {
      load_columns(p, n_begin + Output::ThrN{}(warpgroup * 128), begin, after, Vectors::FIRST_BARRIER + warpgroup);
    }
    factors  = begin + thread % 4 * sizeof(Pair);
    summands = after + thread % 4 * sizeof(Pair);
  }

  CUTE_DEVICE void load_rows(CutegenParams const& p, int m) {
    Scale whole = Scale(p.alpha);
    if constexpr (Vectors::SCALE_A && !Vectors::PER_ROW) {
      whole *= element<float>(p.scale_a, 0, 1);
    }
    if constexpr (Vectors::SCALE_B && !Vectors::PER_COLUMN) {
      whole *= element<float>(p.scale_b, 0, 1);
    }
    CUTE_UNROLL
    for (int r = 0; r < Config::ATOMS_M * 2; ++r) {
      row[r] = whole;
      int at = m + r / 2 * 64 + r % 2 * 8;
      if constexpr (Vectors::PER_ROW) {
        row[r] *= element<float>(p.scale_a, at, p.m);
      }
      if constexpr (Vectors::ROW_BIAS) {
        row_bias[r] = element<Vectors::Bias>(p.bias, at, p.m);
      }
    }
  }

  CUTE_DEVICE void load_columns(CutegenParams const& p, int n_group, uint32_t begin, uint32_t after, int barrier) {
    int column = threadIdx.x % 128;
    ColumnLoad scale_b, bias;
    if constexpr (Vectors::PER_COLUMN) {
      scale_b.start<float>(p.scale_b, n_group + column, p.n);
    }
    if constexpr (Vectors::COLUMN_BIAS) {
      bias.start<Vectors::Bias>(p.bias, n_group + column, p.n);
    }
    cutlass::arch::NamedBarrier::sync(128, barrier);  // all have read what the last tile left here
    if constexpr (Vectors::PER_COLUMN) {
      scale_b.finish(begin, column);
    }
    if constexpr (Vectors::COLUMN_BIAS) {
      bias.finish(after, column);
    }
    cutlass::arch::NamedBarrier::sync(128, barrier);
  }

  CUTE_DEVICE auto layout() const { return tCrC.layout(); }

  CUTE_DEVICE Scale operator()(int i) const {
    constexpr int VALUES = Output::COLUMNS / 2;  // of one operation
    uint32_t octet = i % VALUES / 4 * 8 * sizeof(Scale);
    int r = i / VALUES * 2 + i / 2 % 2;
    Scale x = row[r] * to_scale(tCrC(i));
    if constexpr (Vectors::PER_COLUMN) {
      x *= shared_ptr_at<Pair>(factors + octet)->value[i % 2];
    }
    if constexpr (Vectors::COLUMN_BIAS) {
      x += shared_ptr_at<Pair>(summands + octet)->value[i % 2];
    }
    if constexpr (Vectors::ROW_BIAS) {
      x += row_bias[r];
    }
    return x;
  }
};
