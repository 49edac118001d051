// Whose turn it is to multiply: with pingpong, one warpgroup's mainloop hides the other's epilogue.
struct Turn {
  static constexpr int THREADS = 256;
  int own, other;

  CUTE_DEVICE Turn(int warpgroup) : own(warpgroup), other(1 - warpgroup) {
    if (Config::PINGPONG && warpgroup == 1) {
      cutlass::arch::NamedBarrier::arrive(THREADS, other);
    }
  }

  CUTE_DEVICE void wait() const {
    if constexpr (Config::PINGPONG) {
      cutlass::arch::NamedBarrier::sync(THREADS, own);
    }
  }

  CUTE_DEVICE void pass() const {
    if constexpr (Config::PINGPONG) {
      cutlass::arch::NamedBarrier::arrive(THREADS, other);
    }
  }
};
