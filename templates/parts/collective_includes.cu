// Host code calls cuTensorMapEncodeTiled by its name, and checks of CUTLASS's own are off, as in its release builds.
#define CUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL 1
#ifndef NDEBUG
#define NDEBUG
#endif

#include <cstdint>
#include <new>

//{% for header in headers %}
#include <{{ header }}>
//{% endfor %}

