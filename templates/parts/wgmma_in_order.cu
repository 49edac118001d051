// Kernels of a stream run one after the other.
CUTE_DEVICE void wait_for_kernel_before() {}
CUTE_DEVICE void let_next_kernel_start() {}
