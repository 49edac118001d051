// Until the kernel before this one in the stream has ended, its memory is not read and nothing is written.
CUTE_DEVICE void wait_for_kernel_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// All loads are on their way: CTAs of the next kernel may use what this one leaves free.
CUTE_DEVICE void let_next_kernel_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
