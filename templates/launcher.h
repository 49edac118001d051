/* {{ name }}.h: call the kernel {{ name }} from C or C++.
 *
 *   D(m,n) = alpha * sum_k A(m,k) * B(n,k) + beta * C(m,n)
 *   built for {{ target }}, with PTX for {{ virtual }}
 *
 * Link lib{{ name }}.so, nothing else: the driver library is loaded at the first launch. Pointers are device
 * pointers; the launch is asynchronous, on the stream that it is given. Made by cutegen.
 */
#ifndef CUTEGEN_KERNEL_{{ name }}
#define CUTEGEN_KERNEL_{{ name }}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef CUTEGEN_ABI
#define CUTEGEN_ABI 1

/* The problem: what to multiply. */
typedef struct {
  const void* a;               /* (M,K) */
  const void* b;               /* (N,K) */
  const void* c;               /* (M,N); not read when beta is 0, then it may be null */
  void* d;                     /* (M,N) */
  int64_t lda, ldb, ldc, ldd;  /* stride of the mode that is not the major one, in elements */
  int32_t m, n, k;
  int32_t reserved;            /* 0 */
  double alpha, beta;
} CutegenParams;

/* One launch. */
typedef struct {
  CutegenParams p;
  void* stream;                /* a CUstream or cudaStream_t; null is the default stream */
  int32_t device;              /* ordinal of the device that the pointers and the stream belong to */
  int32_t flags;               /* 0 */
} CutegenLaunch;

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

/* Return values: 0, a CUresult of the driver (positive), or one of these. */
#define CUTEGEN_OK 0
#define CUTEGEN_NO_DRIVER (-1)      /* libcuda.so.1 is missing or too old */
#define CUTEGEN_CAPTURING (-2)      /* the first launch on a device was made during stream capture */
#define CUTEGEN_NO_IMAGE (-3)       /* neither the cubin nor the PTX fits the device */
#define CUTEGEN_BAD_ARGUMENT (-4)   /* a null pointer, a negative extent, or an unknown device or flag */
#define CUTEGEN_GRID_TOO_LARGE (-5) /* more CTAs than a launch can have */

/* What cutegen_loaded returns. */
#define CUTEGEN_LOADED_NONE 0
#define CUTEGEN_LOADED_CUBIN 1
#define CUTEGEN_LOADED_PTX 2

#elif CUTEGEN_ABI != 1
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

/* A return value in words; the text is valid until this thread asks again. */
const char* {{ name }}_error(int32_t code);

/* The same functions under names that do not depend on the kernel, for dlopen. */
int32_t cutegen_abi(void);
int32_t cutegen_launch(const CutegenLaunch* launch);
int32_t cutegen_load(int32_t device);
int32_t cutegen_loaded(int32_t device);
int32_t cutegen_attributes(int32_t device, CutegenAttributes* attributes);
const char* cutegen_error(int32_t code);

#ifdef __cplusplus
}
#endif

#endif
