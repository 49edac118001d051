// The output tile between global memory and the padded staging buffer: each thread moves whole vectors,
// neighbouring threads neighbouring ones. Outside the matrix the buffer is filled with zeros.
template <bool TO_GLOBAL, class T>
CUTE_DEVICE void move_rows(T* matrix, int64_t ld, int m_left, int n_left, uint32_t smem) {
  constexpr int VEC    = Output::D_VEC;
  constexpr int RUN    = Output::D_N_MAJOR ? Config::BLK_N : Config::BLK_M;  // along D's major mode
  constexpr int ROWS   = Output::D_N_MAJOR ? Config::BLK_M : Config::BLK_N;
  constexpr int PIECES = RUN / VEC;
  constexpr bool EVEN  = ROWS * PIECES % Config::THREADS == 0;
  int run_left = Output::D_N_MAJOR ? n_left : m_left;
  int row_left = Output::D_N_MAJOR ? m_left : n_left;
  #pragma unroll 4
  for (int i = 0; i < (ROWS * PIECES + Config::THREADS - 1) / Config::THREADS; ++i) {
    int piece = threadIdx.x + i * Config::THREADS;
    int row = piece / PIECES, col = piece % PIECES * VEC;
    if (EVEN || row < ROWS) {
      auto* s = shared_ptr_at<Vector<T, VEC>>(smem + (row * Output::PITCH + col) * sizeof(T));
      auto* g = reinterpret_cast<Vector<T, VEC>*>(matrix + row * ld + col);
      bool inside = row < row_left && col < run_left;
      if constexpr (TO_GLOBAL) {
        if (inside) {
          *g = *s;
        }
      } else {
        *s = inside ? *g : Vector<T, VEC>{};
      }
    }
  }
}

// Fragments to shared memory, then whole rows to global memory. C takes the way back first when it has
// D's type and major: coalesced rows to shared memory, and from there to the fragments.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE void store(CutegenParams const& p, int m_begin, int n_begin, uint32_t smem, FragmentC const& tCrC) {
  using T = Config::ElementD;
  constexpr int STRIDE_M = Output::D_N_MAJOR ? Output::PITCH : 1;
  constexpr int STRIDE_N = Output::D_N_MAJOR ? 1 : Output::PITCH;

  int m_thr = Output::ThrM{}(int(threadIdx.x)), n_thr = Output::ThrN{}(int(threadIdx.x));
  uint32_t fragment = smem + (m_thr * STRIDE_M + n_thr * STRIDE_N) * sizeof(T);
  if constexpr (WITH_C && Output::C_STAGED) {
    auto* c = const_cast<Config::ElementC*>(static_cast<Config::ElementC const*>(p.c));
    c += Output::D_N_MAJOR ? m_begin * p.ldc + n_begin : n_begin * p.ldc + m_begin;
    move_rows<false>(c, p.ldc, p.m - m_begin, p.n - n_begin, smem);
    __syncthreads();
  }
  GlobalC global_c(p, m_begin + m_thr, n_begin + n_thr);
  CUTE_UNROLL
  for (int i = 0; i < Output::REGISTERS; i += Output::VEC) {
    int offset = Output::RegM{}(i) * STRIDE_M + Output::RegN{}(i) * STRIDE_N;
    auto* to = shared_ptr_at<VectorD>(fragment + offset * sizeof(T));
    VectorC c{};
    if constexpr (WITH_C && Output::C_STAGED) {
      c = *reinterpret_cast<VectorC const*>(to);
    } else if constexpr (WITH_C) {
      c = global_c(i);
    }
    *to = scaled<WITH_C>(p, tCrC, i, c);
  }
  __syncthreads();
  T* d = static_cast<T*>(p.d) + (Output::D_N_MAJOR ? m_begin * p.ldd + n_begin : n_begin * p.ldd + m_begin);
  move_rows<true>(d, p.ldd, p.m - m_begin, p.n - n_begin, smem);
}
