//{% if overlap %}
using plain::drain;
using plain::Pending;
//{% else %}
// Accumulators meet the vectors, and what comes of them is stored with a factor of 1.
template <bool WITH_C, class FragmentC>
CUTE_DEVICE void store(CutegenParams const& p, CutegenTensorMaps const& maps, int m_begin, int n_begin, uint32_t staging,
                       FragmentC const& tCrC) {
  CutegenParams rest = p;
  rest.alpha = 1;
  plain::store<WITH_C>(rest, maps, m_begin, n_begin, staging,
                       WithVectors(p, m_begin, n_begin, staging + Vectors::OFFSET, tCrC));
}

using plain::drain;
//{% endif %}
