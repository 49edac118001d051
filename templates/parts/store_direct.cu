// Fragments straight to global memory.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE void store(CutegenParams const& p, int m_begin, int n_begin, uint32_t, FragmentC const& tCrC) {
  using T = Config::ElementD;
  using Piece = Vector<T, Output::D_VEC>;

  int m_thr = m_begin + Output::ThrM{}(int(threadIdx.x)), n_thr = n_begin + Output::ThrN{}(int(threadIdx.x));
  GlobalC global_c(p, m_thr, n_thr);
  T* d = static_cast<T*>(p.d) + (Output::D_N_MAJOR ? m_thr * p.ldd + n_thr : n_thr * p.ldd + m_thr);
//{% if out.column_by_column %}
  // Atom by atom, ptxas would keep the offsets of all columns for the next one, and spill.
  constexpr int OF_ATOM = Output::REGISTERS / Config::ATOMS_M;
  CUTE_UNROLL
  for (int x = 0; x < Output::REGISTERS; x += Output::VEC) {
    int atom = x / Output::VEC % Config::ATOMS_M;
    int i = atom * OF_ATOM + x / Output::VEC / Config::ATOMS_M * Output::VEC;
//{% else %}
  CUTE_UNROLL
  for (int i = 0; i < Output::REGISTERS; i += Output::VEC) {
//{% endif %}
    VectorC c{};
    if constexpr (WITH_C) {
      c = global_c(i);
    }
    VectorD value = scaled<WITH_C>(p, tCrC, i, c);
    CUTE_UNROLL
    for (int j = 0; j < Output::VEC; j += Output::D_VEC) {
      int m = Output::RegM{}(i + j), n = Output::RegN{}(i + j);
      // By CUTLASS's operation: nvcc would split some of the plain stores into elements.
      cutlass::arch::global_store<Piece, sizeof(Piece)>(
          *reinterpret_cast<Piece const*>(value.value + j),
          d + (Output::D_N_MAJOR ? m * p.ldd + n : n * p.ldd + m), m < global_c.m_left && n < global_c.n_left);
    }
  }
}
