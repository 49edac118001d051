// Wait for the last stage and give it back.
template <class FragmentC>
CUTE_DEVICE void finish(Barriers& barriers, Cluster const& cluster, Slot slot, FragmentC& tCrC) {
  warpgroup_wait<0>();
  fence_accumulators(tCrC);
  int last = slot.index > 0 ? slot.index - 1 : Config::STAGES - 1;
  cluster.release(barriers.empty[last]);
}
