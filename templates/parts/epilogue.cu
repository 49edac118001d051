//{% include "parts/convert.cu" %}

// An accumulator as Config::Scale. The intrinsics keep the compiler from converting all accumulators
// ahead of the stores, which would spill.
template <class T>
CUTE_DEVICE Config::Scale to_scale(T x) {
  if constexpr (is_same_v<T, int32_t>) {
    return is_same_v<Config::Scale, double> ? __int2double_rn(x) : __int2float_rn(x);
  } else {
    return Config::Scale(x);
  }
}

template <class T, int N>
struct alignas(sizeof(T) * N) Vector {
  T value[N];
};

using VectorC = Vector<Config::ElementC, Output::VEC>;
using VectorD = Vector<Config::ElementD, Output::VEC>;

// alpha * acc + beta * c of accumulators [i, i + VEC), converted.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE VectorD scaled(CutegenParams const& p, FragmentC const& tCrC, int i, VectorC const& c) {
  using Scale = Config::Scale;
  VectorD d;
  CUTE_UNROLL
  for (int j = 0; j < Output::VEC; ++j) {
    Scale x = Scale(p.alpha) * to_scale(tCrC(i + j));
    if constexpr (WITH_C) {
      x += Scale(p.beta) * Scale(c.value[j]);
    }
    d.value[j] = convert<Config::ElementD>(x);
  }
  return d;
}

// One thread's elements of C, read from global memory where its accumulators lie.
struct GlobalC {
  Config::ElementC const* ptr;  // the thread's first element
  int64_t ld;
  int m_left, n_left;           // from there to the edges of the matrix

  CUTE_DEVICE GlobalC(CutegenParams const& p, int m, int n) : ld(p.ldc), m_left(p.m - m), n_left(p.n - n) {
    ptr = static_cast<Config::ElementC const*>(p.c) + (Output::C_N_MAJOR ? m * ld + n : n * ld + m);
  }

  CUTE_DEVICE VectorC operator()(int i) const {
    VectorC c{};
    CUTE_UNROLL
    for (int j = 0; j < Output::VEC; j += Output::C_VEC) {
      int m = Output::RegM{}(i + j), n = Output::RegN{}(i + j);
      if (m < m_left && n < n_left) {
        using Piece = Vector<Config::ElementC, Output::C_VEC>;
        *reinterpret_cast<Piece*>(c.value + j) =
            *reinterpret_cast<Piece const*>(ptr + (Output::C_N_MAJOR ? m * ld + n : n * ld + m));
      }
    }
    __syncwarp();  // keeps ptxas from starting all loads at once, which would spill
    return c;
  }
};
