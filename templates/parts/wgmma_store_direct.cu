// Without bulk stores no map is needed.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE void store(CutegenParams const& p, CutegenTensorMaps const&, int m_begin, int n_begin, uint32_t staging,
                       FragmentC const& tCrC) {
  store<WITH_C>(p, m_begin, n_begin, staging, tCrC);
}

CUTE_DEVICE void drain() {}
