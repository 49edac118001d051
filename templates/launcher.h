/* {{ name }}.h: call the kernel {{ name }} from C or C++.
 *
//{% if launch.vectors %}
 *   D(m,n) = alpha * scale_a(m) * scale_b(n) * sum_k A(m,k) * B(n,k) + bias(n) + beta * C(m,n)
//{% else %}
 *   D(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n)
//{% endif %}
 *
 * built for {{ target }}, with PTX for {{ virtual }}; alpha and beta are applied in {{ launch.scale }}.
 *
 *   matrix  extents  elements       contiguous along  alignment
//{% for op in (launch.a, launch.b, launch.c, launch.d) %}
//{% set ld = "ld" ~ op.name|lower %}
 *   {{ "%-7s %-8s %-14s %-17s"|format(op.name, {"A": "M x K", "B": "N x K"}.get(op.name, "M x N"), op.dtype ~ ", " ~ op.bytes ~ " B", op.run|upper) }} {{ op.align }} B{{ ": " ~ ld ~ " and " ~ op.run|upper ~ " are multiples of " ~ op.elements if op.elements > 1 else ", as any element is" }}
//{% endfor %}
//{% if launch.vectors %}
 *
 *   vector   extent  elements
//{% for vector in launch.vectors %}
 *   {{ "%-8s %-7s %s"|format(vector.name, vector.extent|upper, vector.dtype) }}, {{ vector.element.bytes }} B, side by side
//{% endfor %}
 *
 * What stands in the formula and not in this table is 1, or 0 for bias. A vector may not overlap D.
//{% endif %}
 *
 * Alignment is of the address, of the leading stride and of the contiguous extent: a vector copy neither starts nor
 * ends off its width. Leading strides (lda, ldb, ldc, ldd) count elements from one contiguous run to the next. They are
 * at least as long as a run; where there is but one run they are not looked at. A leading stride of 0 repeats the
 * only run of A, B or C. No extent may exceed 2^31-1, rounded down to a multiple of the CTA tile
 * ({{ launch.blk_m }} x {{ launch.blk_n }} x {{ launch.blk_k }}); where M or N is 0 nothing is launched, where K is 0 the sum is 0.
 * D may overlap neither A nor B, and C only when it is D itself with D's type, major and leading stride. Whatever of
 * this can be seen from the arguments is checked, and a launch that breaks it returns one of the codes below.
 *
 * Pointers are device pointers. The launch is asynchronous, on the stream that it is given; any thread may launch.
//{% if launch.sums %}
 * CTAs sum in device memory that the library keeps for each of 16 streams of a device, as much as the largest problem
 * so far needs; launches that a graph captures, and those on more streams, allocate it in the order of their stream.
//{% endif %}
 * The driver library is loaded at the first launch, so nothing else needs linking but
 *   lib{{ name }}.so
 * Made by cutegen.
 */
#ifndef CUTEGEN_KERNEL_{{ name }}
#define CUTEGEN_KERNEL_{{ name }}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CUTEGEN_ABI
#define CUTEGEN_ABI 4

/* The problem: what to multiply. */
typedef struct {
  const void* a;               /* (M,K) */
  const void* b;               /* (N,K) */
  const void* c;               /* (M,N); not read when beta is 0, then it may be null. It may be d. */
  void* d;                     /* (M,N) */
  int64_t lda, ldb, ldc, ldd;  /* stride of the mode that is not contiguous, in elements */
  int32_t m, n, k;
  int32_t group;               /* tiles of a raster group: any number from 1 on, or 0 for the config's */
  double alpha, beta;
  const void* scale_a;         /* of these three those that the kernel takes; the others are null */
  const void* scale_b;
  const void* bias;
} CutegenParams;

/* One launch. */
typedef struct {
  CutegenParams p;
  void* stream;                /* a CUstream or cudaStream_t; null is the default stream */
  int32_t device;              /* ordinal of the device that the pointers and the stream belong to */
  int32_t flags;               /* 0, or CUTEGEN_UNCHECKED */
} CutegenLaunch;

/* A flag: the caller has made sure of pointers, leading strides and alignment, and the launch does not look at
 * them. Rows of A, B and C may then overlap, with a leading stride shorter than a row. */
#define CUTEGEN_UNCHECKED 1

/* What the driver says of the loaded kernel. */
typedef struct {
  int32_t registers;           /* per thread */
  int32_t local_bytes;         /* per thread: stack and spills */
  int32_t static_smem;         /* per CTA, in bytes */
  int32_t dynamic_smem;        /* per CTA, in bytes */
  int32_t max_threads;         /* per CTA */
  int32_t binary_version;      /* 80 for sm_80 */
  int32_t ptx_version;         /* 80 for compute_80 */
  int32_t blocks_per_sm;       /* CTAs that an SM can hold at once */
} CutegenAttributes;

/* Return values: 0, a CUresult of the driver (positive), or one of these. After any but 0 nothing was launched. */
#define CUTEGEN_OK 0
#define CUTEGEN_NO_DRIVER (-1)      /* libcuda.so.1 is missing or too old */
#define CUTEGEN_CAPTURING (-2)      /* the first launch on a device was made during stream capture */
#define CUTEGEN_NO_IMAGE (-3)       /* neither the cubin nor the PTX fits the device */
#define CUTEGEN_BAD_ARGUMENT (-4)   /* no struct, an unknown device or flag, or a negative group */
#define CUTEGEN_GRID_TOO_LARGE (-5) /* D has more tiles than a launch can have CTAs */
#define CUTEGEN_BAD_EXTENT (-6)     /* m, n or k is negative, or too large to be counted in 32 bits */
#define CUTEGEN_BAD_POINTER (-7)    /* a matrix or vector that is needed is null, one that is not is given, or A or B is D */
#define CUTEGEN_BAD_STRIDE (-8)     /* a leading stride is too short, negative, or beyond 64-bit offsets */
#define CUTEGEN_MISALIGNED (-9)     /* an address, a leading stride or a contiguous extent */

/* What ..._loaded returns. */
#define CUTEGEN_LOADED_NONE 0
#define CUTEGEN_LOADED_CUBIN 1
#define CUTEGEN_LOADED_PTX 2

#elif CUTEGEN_ABI != 4
#error "headers of two cutegen versions that do not fit together"
#endif

/* Launch. The first launch on a device loads the kernel there, which stream capture does not allow. */
int32_t {{ name }}_launch(const CutegenLaunch* launch);

/* Load ahead of time, for example before a capture. The current context stays as it is. */
int32_t {{ name }}_load(int32_t device);

/* Which image is loaded on a device. */
int32_t {{ name }}_loaded(int32_t device);

/* What the driver says of the kernel on a device; loads it there if need be. */
int32_t {{ name }}_attributes(int32_t device, CutegenAttributes* attributes);

/* A return value in words, never null. Right after a failure, in the same thread, they name the argument or the
 * step and what it got. The text is valid until this thread asks again. */
const char* {{ name }}_error_string(int32_t code);

/* What this kernel takes, as JSON: name, target, tile, threads, dtype, major and align of a, b, c and d,
 * and dtype and kind (per) of the vectors. */
const char* {{ name }}_describe(void);

/* The same functions under names that do not depend on the kernel, for dlopen. */
int32_t cutegen_abi(void);
int32_t cutegen_launch(const CutegenLaunch* launch);
int32_t cutegen_load(int32_t device);
int32_t cutegen_loaded(int32_t device);
int32_t cutegen_attributes(int32_t device, CutegenAttributes* attributes);
const char* cutegen_error_string(int32_t code);
const char* cutegen_describe(void);

#ifdef __cplusplus
}
#endif

#endif
