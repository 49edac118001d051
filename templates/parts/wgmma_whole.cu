// One CTA has all k-tiles of an output tile: there is nothing to sum.
struct Partials {
  CUTE_DEVICE static void init(Barriers&) {}
  CUTE_DEVICE Partials(Cluster const&, Barriers&, uint32_t, int) {}

  template <class FragmentC>
  CUTE_DEVICE bool sum(FragmentC&) {
    return true;
  }
};
