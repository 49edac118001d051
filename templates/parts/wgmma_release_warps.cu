  // Tell all CTAs that write into this slot that the warp has read it; called by all threads of a warpgroup. Each warp
  // speaks for itself: its loads of A are no part of a wgmma that others wait for.
  CUTE_DEVICE void release(EmptyBarrier const& empty) const {
    int lane = threadIdx.x % 32;
    __syncwarp();
    if constexpr (TILES == 1) {
      if (lane == 0) {
        empty.arrive();
      }
    } else {
      empty.arrive(lane, lane < SIZE && ((row_mask() | column_mask()) >> lane & 1));
    }
  }
