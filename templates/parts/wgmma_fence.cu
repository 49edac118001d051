// The accumulators change behind the compiler's back until a wait: keep their uses on the right side of it.
template <class FragmentC>
CUTE_DEVICE void fence_accumulators(FragmentC& tCrC) {
  auto rC = recast<Accumulator>(tCrC);
  CUTE_UNROLL
  for (int i = 0; i < size(rC); ++i) {
    warpgroup_fence_operand(rC(i));
  }
}
