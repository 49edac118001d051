// Accumulators meet the vectors, and what comes of them is stored with a factor of 1.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE void store(CutegenParams const& p, int m_begin, int n_begin, uint32_t smem, FragmentC const& tCrC) {
  CutegenParams rest = p;
  rest.alpha = 1;
  plain::store<WITH_C>(rest, m_begin, n_begin, smem, WithVectors(p, m_begin, n_begin, tCrC));
}
