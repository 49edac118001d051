  // Tell all CTAs that write into this slot that it is free; called by all threads of a warpgroup.
  CUTE_DEVICE void release(EmptyBarrier const& empty) const {
    int thread = threadIdx.x % 128;
    if constexpr (TILES == 1) {
      if (thread == 0) {
        empty.arrive();
      }
    } else {
      empty.arrive(thread, thread < SIZE && ((row_mask() | column_mask()) >> thread & 1));
    }
  }
