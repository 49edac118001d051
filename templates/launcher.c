/* Launcher of {{ name }}: one shared library with the kernel inside. Made by cutegen.
 *
 * The driver library is opened at the first launch, so this library loads on machines without a GPU. A warm
 * launch checks its arguments, reads one pointer, compares one context and calls cuLaunchKernel.
 */
#include "{{ name }}.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
  THREADS = {{ launch.threads }},
  SMEM_BYTES = {{ launch.smem_bytes }},
  BLK_M = {{ launch.blk_m }},
  BLK_N = {{ launch.blk_n }},
  BLK_K = {{ launch.blk_k }},
  CLUSTER_M = {{ launch.cluster[0] }},
  CLUSTER_N = {{ launch.cluster[1] }},
  CLUSTER = CLUSTER_M * CLUSTER_N * {{ launch.split_k }},
  SHARES = {{ launch.sums.shares if launch.sums else 1 }}, /* of a tile's k-tiles, in clusters of their own */
  PDL = {{ launch.pdl|int }}, /* programmatic dependent launch */
  PERSISTENT = {{ (launch.persistent or launch.host_code)|int }}, /* a launch depends on what the device holds at once */
  CLUSTER_X = {{ launch.cluster[0] if launch.host_code else launch.cluster_size }},
  CLUSTER_Y = CLUSTER / CLUSTER_X,
  MOST_M = INT32_MAX / (BLK_M * CLUSTER_M) * (BLK_M * CLUSTER_M), /* the last index of a partial tile must not wrap */
  MOST_N = INT32_MAX / (BLK_N * CLUSTER_N) * (BLK_N * CLUSTER_N),
  MOST_K = INT32_MAX / BLK_K * BLK_K,
  C_IS_LIKE_D = {{ (launch.c.dtype == launch.d.dtype and launch.c.run == launch.d.run)|int }},
  SMEM_WITHOUT_OPT_IN = 48 * 1024,
  MAX_DEVICES = 64
};

static const char kernel_name[] = "{{ launch.kernel }}";
static const char description[] =
    {{ description|tojson }};

__asm__(
    ".pushsection .rodata,\"a\"\n"
    ".balign 64\n"
    ".hidden cutegen_image_cubin\n.globl cutegen_image_cubin\ncutegen_image_cubin:\n"
    ".incbin \"{{ name }}.cubin\"\n"
    ".balign 64\n"
    ".hidden cutegen_image_ptx\n.globl cutegen_image_ptx\ncutegen_image_ptx:\n"
    ".incbin \"{{ name }}.ptx\"\n"
    ".byte 0\n" /* the driver reads PTX as a C string */
    ".popsection\n");
__attribute__((visibility("hidden"))) extern const char cutegen_image_cubin[];
__attribute__((visibility("hidden"))) extern const char cutegen_image_ptx[];

_Static_assert(sizeof(CutegenParams) == 120, "a kernel's parameters are these 120 bytes, or without vectors the first 96");
_Static_assert(offsetof(CutegenParams, alpha) == 80, "alpha lies at byte 80");
_Static_assert(offsetof(CutegenParams, scale_a) == 96, "scale_a lies at byte 96");
_Static_assert(sizeof(CutegenLaunch) == 136, "the launch struct has 136 bytes");

/* ------------------------------------------------------------------------------ the driver's interface */

typedef int Result; /* CUresult */
typedef struct CUctx_st* Context;
typedef struct CUmod_st* Module;
typedef struct CUfunc_st* Function;
typedef struct CUstream_st* Stream;
typedef struct CUmemPoolHandle_st* Pool;

enum { /* values of cuda.h */
  ERROR_NO_BINARY_FOR_GPU = 209,
  ERROR_INVALID_IMAGE = 200,
  ERROR_INVALID_PTX = 218,
  ERROR_UNSUPPORTED_PTX_VERSION = 222,
  ERROR_CAPTURE_FIRST = 900, /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED .. WRONG_THREAD */
  ERROR_CAPTURE_LAST = 908,
  ATTRIBUTE_MAX_THREADS = 0,
  ATTRIBUTE_STATIC_SMEM = 1,
  ATTRIBUTE_LOCAL = 3,
  ATTRIBUTE_REGISTERS = 4,
  ATTRIBUTE_PTX_VERSION = 5,
  ATTRIBUTE_BINARY_VERSION = 6,
  ATTRIBUTE_MAX_DYNAMIC_SMEM = 8,
  DEVICE_MULTIPROCESSORS = 16,
  LAUNCH_CLUSTER_DIMENSION = 4,
  LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6
};

/* CUlaunchConfig with one attribute. */
typedef struct {
  int id, padding;
  union {
    unsigned cluster[3];
    int allowed;
    char bytes[64];
  } value;
} LaunchAttribute;
typedef struct {
  unsigned grid[3], block[3], smem;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned count;
} LaunchConfig;

/* CUmemPoolProps. */
typedef struct {
  int allocation, handles, location, ordinal;
  void* security;
  size_t most;
  unsigned char reserved[56];
} PoolProperties;

static struct {
  Result (*init)(unsigned flags);
  Result (*device_get)(int* device, int ordinal);
  Result (*context_retain)(Context* context, int device);
  Result (*context_get)(Context* context);
  Result (*context_push)(Context context);
  Result (*context_pop)(Context* context);
  Result (*module_load)(Module* module, const void* image);
  Result (*module_unload)(Module module);
  Result (*module_function)(Function* function, Module module, const char* name);
  Result (*function_get)(int* value, int attribute, Function function);
  Result (*function_set)(Function function, int attribute, int value);
  Result (*function_load)(Function function); /* since CUDA 12.4; may be null */
  Result (*occupancy)(int* blocks, Function function, int threads, size_t smem);
  Result (*device_attribute)(int* value, int attribute, int device);
  Result (*active_clusters)(int* clusters, Function function, const LaunchConfig* config); /* may be null */
  Result (*encode_tiled)(void* map, int type, uint32_t rank, void* address, const uint64_t* extents,
                         const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                         int interleave, int swizzle, int l2_promotion, int fill); /* since CUDA 12 */
  Result (*pool_create)(Pool* pool, const PoolProperties* properties); /* since CUDA 11.2, as the next three */
  Result (*pool_set)(Pool pool, int attribute, void* value);
  Result (*allocate)(uint64_t* address, size_t bytes, Pool pool, Stream stream);
  Result (*release)(uint64_t address, Stream stream);
  Result (*fill)(uint64_t address, unsigned char value, size_t bytes, Stream stream);
  Result (*stream_capturing)(Stream stream, int* status);
  Result (*stream_id)(Stream stream, uint64_t* id); /* since CUDA 12, and different for each stream that ever was */
  Result (*launch)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned smem, Stream stream, void** params,
                   void** extra);
  Result (*launch_ex)(const LaunchConfig* config, Function function, void** params, void** extra); /* may be null */
  Result (*error_name)(Result code, const char** text);
  Result (*error_string)(Result code, const char** text);
} cu;

static const struct {
  const char* name;
  void* pointer;
  int optional;
} symbols[] = {
    {"cuInit", &cu.init, 0},
    {"cuDeviceGet", &cu.device_get, 0},
    {"cuDevicePrimaryCtxRetain", &cu.context_retain, 0},
    {"cuCtxGetCurrent", &cu.context_get, 0},
    {"cuCtxPushCurrent_v2", &cu.context_push, 0},
    {"cuCtxPopCurrent_v2", &cu.context_pop, 0},
    {"cuModuleLoadData", &cu.module_load, 0},
    {"cuModuleUnload", &cu.module_unload, 0},
    {"cuModuleGetFunction", &cu.module_function, 0},
    {"cuFuncGetAttribute", &cu.function_get, 0},
    {"cuFuncSetAttribute", &cu.function_set, 0},
    {"cuFuncLoad", &cu.function_load, 1},
    {"cuOccupancyMaxActiveBlocksPerMultiprocessor", &cu.occupancy, 0},
    {"cuDeviceGetAttribute", &cu.device_attribute, !PERSISTENT},
    {"cuOccupancyMaxActiveClusters", &cu.active_clusters, CLUSTER == 1},
    {"cuTensorMapEncodeTiled", &cu.encode_tiled, {{ (not launch.maps and not launch.host_code)|int }}},
    {"cuMemPoolCreate", &cu.pool_create, {{ (not launch.workspace)|int }}},
    {"cuMemPoolSetAttribute", &cu.pool_set, {{ (not launch.workspace)|int }}},
    {"cuMemAllocFromPoolAsync", &cu.allocate, {{ (not launch.workspace)|int }}},
    {"cuMemFreeAsync", &cu.release, {{ (not launch.workspace)|int }}},
    {"cuMemsetD8Async", &cu.fill, {{ (not launch.workspace)|int }}},
    {"cuStreamIsCapturing", &cu.stream_capturing, 0},
    {"cuStreamGetId", &cu.stream_id, {{ (not launch.sums)|int }}},
    {"cuLaunchKernel", &cu.launch, 0},
    {"cuLaunchKernelEx", &cu.launch_ex, !PDL},
    {"cuGetErrorName", &cu.error_name, 0},
    {"cuGetErrorString", &cu.error_string, 0},
};

/* ----------------------------------------------------------------------------------------------- state */

typedef struct {
  _Atomic(Function) function; /* null until the kernel is loaded; everything below is written before it */
  Context context;
  Module module;
  int image;
  int resident; /* clusters that the device holds at once; counted for persistent kernels */
  int processors; /* likewise */
} Slot;

static Slot slots[MAX_DEVICES];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int driver_ready; /* set once, when all of cu is there */

/* This thread's last failure. The words are put together when they are asked for. */
static _Thread_local struct {
  int32_t code;
  const char* format; /* of name, got and need, of which it may leave out the last ones */
  const char* name;
  long long got, need;
} last;

static int32_t refused(int32_t code, const char* format, const char* name, int64_t got, int64_t need) {
  last.code = code;
  last.format = format;
  last.name = name;
  last.got = got;
  last.need = need;
  return code;
}

static int32_t failed(int32_t code, const char* step) { return refused(code, step ? "%s" : NULL, step, 0, 0); }

static int is_capture_error(Result code) { return code >= ERROR_CAPTURE_FIRST && code <= ERROR_CAPTURE_LAST; }

/* --------------------------------------------------------------------------------------------- loading */

static int32_t open_driver(void) {
  if (atomic_load(&driver_ready)) return CUTEGEN_OK;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return failed(CUTEGEN_NO_DRIVER, "libcuda.so.1, which comes with the GPU driver");
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; ++i) {
    void* function = dlsym(library, symbols[i].name);
    if (!function && !symbols[i].optional) return failed(CUTEGEN_NO_DRIVER, symbols[i].name);
    memcpy(symbols[i].pointer, &function, sizeof function);
  }
  Result code = cu.init(0);
  if (code) return failed(code, "cuInit");
  atomic_store(&driver_ready, 1);
  return CUTEGEN_OK;
}

/* Load the image that fits the device: the cubin, or else the PTX. */
static int32_t load_image(Slot* slot) {
  Result code = cu.module_load(&slot->module, cutegen_image_cubin);
  slot->image = CUTEGEN_LOADED_CUBIN;
  if (code == ERROR_NO_BINARY_FOR_GPU || code == ERROR_INVALID_IMAGE) {
    code = cu.module_load(&slot->module, cutegen_image_ptx);
    slot->image = CUTEGEN_LOADED_PTX;
    if (code == ERROR_NO_BINARY_FOR_GPU || code == ERROR_INVALID_IMAGE || code == ERROR_INVALID_PTX ||
        code == ERROR_UNSUPPORTED_PTX_VERSION)
      return failed(CUTEGEN_NO_IMAGE, "the binary is for {{ target }} and the PTX for {{ virtual }}");
  }
  return code ? failed(code, "cuModuleLoadData") : CUTEGEN_OK;
}

/* Get the function of a loaded module ready to launch. */
static int32_t prepare_function(Slot* slot, Function* function) {
  Result code = cu.module_function(function, slot->module, kernel_name);
  if (code) return failed(code, "cuModuleGetFunction");
  if (cu.function_load && (code = cu.function_load(*function))) return failed(code, "cuFuncLoad");
  int static_bytes = 0;
  code = cu.function_get(&static_bytes, ATTRIBUTE_STATIC_SMEM, *function);
  if (code) return failed(code, "cuFuncGetAttribute");
  if (static_bytes + SMEM_BYTES > SMEM_WITHOUT_OPT_IN) {
    code = cu.function_set(*function, ATTRIBUTE_MAX_DYNAMIC_SMEM, SMEM_BYTES);
    if (code) return failed(code, "the device refuses {{ launch.smem_bytes }} bytes of shared memory");
  }
  return CUTEGEN_OK;
}

/* How many clusters of a persistent kernel the device holds at once. */
static int32_t count_resident(Slot* slot, int device, Function function) {
  if (!PERSISTENT) return CUTEGEN_OK;
  int blocks = 0, processors = 0;
  Result code = cu.device_attribute(&processors, DEVICE_MULTIPROCESSORS, device);
  if (code) return failed(code, "cuDeviceGetAttribute");
  slot->processors = processors;
  if (CLUSTER == 1) {
    code = cu.occupancy(&blocks, function, THREADS, SMEM_BYTES);
    if (code) return failed(code, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    slot->resident = processors * blocks;
  } else {
    LaunchAttribute attribute = {.id = LAUNCH_CLUSTER_DIMENSION, .value.cluster = {CLUSTER_X, CLUSTER_Y, 1}};
    LaunchConfig config = {.grid = {(unsigned)processors / CLUSTER * CLUSTER_X, CLUSTER_Y, 1},
                           .block = {THREADS, 1, 1},
                           .smem = SMEM_BYTES,
                           .attributes = &attribute,
                           .count = 1};
    code = cu.active_clusters(&slot->resident, function, &config);
    if (code) return failed(code, "cuOccupancyMaxActiveClusters");
  }
  return slot->resident > 0 ? CUTEGEN_OK : failed(CUTEGEN_NO_IMAGE, "the device cannot hold one CTA of the kernel");
}

//{% if launch.host_code or launch.sums %}
//{% include "parts/launcher_pool.c" %}

//{% endif %}
static int32_t load_in_context(Slot* slot, int ordinal, const Stream* stream) {
  if (stream) { /* NOTE: loading would break a capture, so it is refused before it starts */
    int status = 0;
    Result code = cu.stream_capturing(*stream, &status);
    if (status || is_capture_error(code)) return failed(CUTEGEN_CAPTURING, NULL);
    if (code) return failed(code, "cuStreamIsCapturing");
  }
  Function function = NULL;
  int32_t code = load_image(slot);
  if (!code) {
    code = prepare_function(slot, &function);
    if (!code) code = count_resident(slot, ordinal, function);
//{% if launch.host_code or launch.sums %}
    if (!code) code = make_pool(ordinal); /* a capture would break on it, and its launches need it */
//{% endif %}
    if (code) cu.module_unload(slot->module);
  }
  if (is_capture_error(code)) return failed(CUTEGEN_CAPTURING, NULL); /* another stream captures */
  if (code) return code;
  atomic_store_explicit(&slot->function, function, memory_order_release);
  return CUTEGEN_OK;
}

/* Load the kernel on a device unless it is loaded; a failure is not remembered. */
static int32_t load(int32_t ordinal, const Stream* stream) {
  if (ordinal < 0 || ordinal >= MAX_DEVICES)
    return refused(CUTEGEN_BAD_ARGUMENT, "%s is %lld, must be from 0 to %lld", "device", ordinal,
                   MAX_DEVICES - 1);
  Slot* slot = &slots[ordinal];
  pthread_mutex_lock(&mutex);
  int32_t code = CUTEGEN_OK;
  if (!atomic_load_explicit(&slot->function, memory_order_acquire)) {
    code = open_driver();
    int device = 0;
    if (!code && !slot->context) { /* retained once and for the life of the process */
      Context context = NULL;
      if ((code = cu.device_get(&device, ordinal))) failed(code, "cuDeviceGet");
      else if ((code = cu.context_retain(&context, device))) failed(code, "cuDevicePrimaryCtxRetain");
      else slot->context = context;
    }
    if (!code && (code = cu.context_push(slot->context))) failed(code, "cuCtxPushCurrent");
    else if (!code) {
      Context popped;
      code = load_in_context(slot, ordinal, stream);
      cu.context_pop(&popped);
    }
  }
  pthread_mutex_unlock(&mutex);
  return code;
}

/* --------------------------------------------------------------------------------------------- checks */

/* One matrix as this kernel takes it. */
typedef struct {
  const char *name, *ld, *run; /* as messages call the address, the leading stride, the contiguous extent */
  int64_t bytes, align, block; /* of an element; of everything; rows of a tile */
  int input;
} Matrix;

//{% for op in (launch.a, launch.b, launch.c, launch.d) %}
static const Matrix matrix_{{ op.name|lower }} = {"{{ op.name|lower }}", "ld{{ op.name|lower }}", "{{ op.run }}", {{ op.bytes }}, {{ op.align }}, BLK_{{ op.rows|upper }}, {{ (op.name != "D")|int }}};
//{% endfor %}

static inline __attribute__((always_inline)) int32_t check_matrix(Matrix x, const void* pointer, int64_t ld,
                                                                  int64_t run, int64_t rows) {
  const int64_t elements = x.align / x.bytes;
  int64_t span;
  if (!pointer) return refused(CUTEGEN_BAD_POINTER, "%s is null", x.name, 0, 0);
  if ((uintptr_t)pointer % (uintptr_t)x.align)
    return refused(CUTEGEN_MISALIGNED, "%s lies %lld bytes beyond a multiple of %lld bytes", x.name,
                   (int64_t)((uintptr_t)pointer % (uintptr_t)x.align), x.align);
  if (run % elements)
    return refused(CUTEGEN_MISALIGNED, "%s is %lld, must be a multiple of %lld", x.run, run, elements);
  if (rows <= 1) return CUTEGEN_OK; /* nothing steps along the leading stride */
  if (ld < run && (ld != 0 || !x.input))
    return refused(CUTEGEN_BAD_STRIDE, "%s is %lld, must be at least %lld", x.ld, ld, run);
  if (ld % elements)
    return refused(CUTEGEN_MISALIGNED, "%s is %lld, must be a multiple of %lld", x.ld, ld, elements);
  if (__builtin_mul_overflow(ld, (rows + x.block) * x.bytes, &span))
    return refused(CUTEGEN_BAD_STRIDE, "%s is %lld, must be at most %lld", x.ld, ld,
                   INT64_MAX / ((rows + x.block) * x.bytes));
  return CUTEGEN_OK;
}

static int32_t check_extents(const CutegenParams* p) {
  const char* words = "%s is %lld, must be from 0 to %lld";
  if ((uint32_t)p->m > MOST_M) return refused(CUTEGEN_BAD_EXTENT, words, "m", p->m, MOST_M);
  if ((uint32_t)p->n > MOST_N) return refused(CUTEGEN_BAD_EXTENT, words, "n", p->n, MOST_N);
  if ((uint32_t)p->k > MOST_K) return refused(CUTEGEN_BAD_EXTENT, words, "k", p->k, MOST_K);
  return CUTEGEN_OK;
}

/* A vector that this kernel takes, of elements of so many bytes, or with 0 of them one that it does not. */
static int32_t check_vector(const char* name, const void* pointer, int64_t bytes) {
  if (!bytes && pointer) return refused(CUTEGEN_BAD_POINTER, "%s is given, and this kernel takes none", name, 0, 0);
  if (!bytes) return CUTEGEN_OK;
  if (!pointer) return refused(CUTEGEN_BAD_POINTER, "%s is null", name, 0, 0);
  if ((uintptr_t)pointer % (uintptr_t)bytes)
    return refused(CUTEGEN_MISALIGNED, "%s lies %lld bytes beyond a multiple of %lld bytes", name,
                   (int64_t)((uintptr_t)pointer % (uintptr_t)bytes), bytes);
  return CUTEGEN_OK;
}

/* Pointers, strides and alignment of a problem with m > 0 and n > 0. */
static int32_t check_matrices(const CutegenParams* p) {
  const char* overlaps = "%s is d, which other CTAs overwrite";
  int32_t code = check_matrix(matrix_d, p->d, p->ldd, p->{{ launch.d.run }}, p->{{ launch.d.rows }});
  if (code) return code;
  if ((code = check_vector("scale_a", p->scale_a, {{ launch.vector_bytes("scale_a") }}))) return code;
  if ((code = check_vector("scale_b", p->scale_b, {{ launch.vector_bytes("scale_b") }}))) return code;
  if ((code = check_vector("bias", p->bias, {{ launch.vector_bytes("bias") }}))) return code;
  if (p->k > 0) {
    if ((code = check_matrix(matrix_a, p->a, p->lda, p->{{ launch.a.run }}, p->{{ launch.a.rows }}))) return code;
    if ((code = check_matrix(matrix_b, p->b, p->ldb, p->{{ launch.b.run }}, p->{{ launch.b.rows }}))) return code;
    if (p->a == p->d) return refused(CUTEGEN_BAD_POINTER, overlaps, "a", 0, 0);
    if (p->b == p->d) return refused(CUTEGEN_BAD_POINTER, overlaps, "b", 0, 0);
  }
  if (p->beta != 0) {
    if ((code = check_matrix(matrix_c, p->c, p->ldc, p->{{ launch.c.run }}, p->{{ launch.c.rows }}))) return code;
    if (p->c == p->d && !C_IS_LIKE_D)
      return refused(CUTEGEN_BAD_POINTER, "%s is d, but this kernel takes them in different layouts", "c", 0, 0);
    if (p->c == p->d && p->ldc != p->ldd && p->{{ launch.d.rows }} > 1)
      return refused(CUTEGEN_BAD_STRIDE, "c is d, but %s is %lld and ldd is %lld", "ldc", p->ldc, p->ldd);
  }
  return CUTEGEN_OK;
}

//{% if not launch.host_code %}
/* A launch of so many CTAs in a row; with PDL before the kernel before it has ended. */
static Result launch_grid(Function function, unsigned grid, Stream stream, void** params) {
  if (!PDL) return cu.launch(function, grid, 1, 1, THREADS, 1, 1, SMEM_BYTES, stream, params, NULL);
  LaunchAttribute attribute = {.id = LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, .value.allowed = 1};
  const LaunchConfig config = {.grid = {grid, 1, 1},
                               .block = {THREADS, 1, 1},
                               .smem = SMEM_BYTES,
                               .stream = stream,
                               .attributes = &attribute,
                               .count = 1};
  return cu.launch_ex(&config, function, params, NULL);
}
//{% endif %}

//{% if launch.host_code %}
//{% include "parts/launcher_host_code.c" %}
//{% elif launch.sums %}
//{% include "parts/launcher_maps.c" %}

//{% include "parts/launcher_sums.c" %}
//{% elif launch.maps %}
//{% include "parts/launcher_maps.c" %}

//{% include "parts/launcher_tma.c" %}
//{% else %}
//{% include "parts/launcher_plain.c" %}
//{% endif %}

/* ------------------------------------------------------------------------------------------- interface */

static int32_t launch_kernel(const CutegenLaunch* launch) {
  if (!launch) return failed(CUTEGEN_BAD_ARGUMENT, "launch is null");
  const CutegenParams* p = &launch->p;
  if (launch->device < 0 || launch->device >= MAX_DEVICES)
    return refused(CUTEGEN_BAD_ARGUMENT, "%s is %lld, must be from 0 to %lld", "device", launch->device,
                   MAX_DEVICES - 1);
  if (launch->flags & ~CUTEGEN_UNCHECKED) return failed(CUTEGEN_BAD_ARGUMENT, "flags has an unknown bit");
  if (p->group < 0) return failed(CUTEGEN_BAD_ARGUMENT, "group is negative");
  int32_t wrong = check_extents(p);
  if (wrong) return wrong;
  if (p->m == 0 || p->n == 0) return CUTEGEN_OK;
  int64_t clusters = (((int64_t)p->m + BLK_M * CLUSTER_M - 1) / (BLK_M * CLUSTER_M)) *
                     (((int64_t)p->n + BLK_N * CLUSTER_N - 1) / (BLK_N * CLUSTER_N));
  if (clusters > INT32_MAX / CLUSTER / SHARES)
    return refused(CUTEGEN_GRID_TOO_LARGE, "%s has %lld tiles, must have at most %lld", "d", clusters * CLUSTER,
                   INT32_MAX / SHARES);
  if (!(launch->flags & CUTEGEN_UNCHECKED) && (wrong = check_matrices(p))) return wrong;

  Slot* slot = &slots[launch->device];
  Stream stream = (Stream)launch->stream;
  Function function = atomic_load_explicit(&slot->function, memory_order_acquire);
  if (!function) {
    int32_t code = load(launch->device, &stream);
    if (code) return code;
    function = atomic_load_explicit(&slot->function, memory_order_acquire);
  }
  Work work;
  if ((wrong = find_work(launch, slot, clusters, &work))) return wrong;
  Context current = NULL;
  Result code = cu.context_get(&current);
  if (code) return failed(code, "cuCtxGetCurrent");
  int foreign = current != slot->context;
  if (foreign && (code = cu.context_push(slot->context))) return failed(code, "cuCtxPushCurrent");
  wrong = start(function, launch, slot, &work);
  if (foreign) cu.context_pop(&current);
  return wrong;
}

static int32_t loaded_image(int32_t device) {
  if (device < 0 || device >= MAX_DEVICES) return CUTEGEN_LOADED_NONE;
  return atomic_load_explicit(&slots[device].function, memory_order_acquire) ? slots[device].image
                                                                             : CUTEGEN_LOADED_NONE;
}

static int32_t ask_attributes(int32_t device, CutegenAttributes* out) {
  if (!out) return failed(CUTEGEN_BAD_ARGUMENT, "attributes is null");
  memset(out, 0, sizeof *out);
  int32_t refused = load(device, NULL);
  if (refused) return refused;
  const struct {
    int attribute;
    int32_t* value;
  } wanted[] = {
      {ATTRIBUTE_REGISTERS, &out->registers},       {ATTRIBUTE_LOCAL, &out->local_bytes},
      {ATTRIBUTE_STATIC_SMEM, &out->static_smem},   {ATTRIBUTE_MAX_THREADS, &out->max_threads},
      {ATTRIBUTE_PTX_VERSION, &out->ptx_version},   {ATTRIBUTE_BINARY_VERSION, &out->binary_version},
  };
  Slot* slot = &slots[device];
  Function function = atomic_load_explicit(&slot->function, memory_order_acquire);
  Context popped;
  Result code = cu.context_push(slot->context);
  if (code) return failed(code, "cuCtxPushCurrent");
  for (size_t i = 0; !code && i < sizeof wanted / sizeof wanted[0]; ++i)
    if ((code = cu.function_get(wanted[i].value, wanted[i].attribute, function)))
      failed(code, "cuFuncGetAttribute");
  if (!code && (code = cu.occupancy(&out->blocks_per_sm, function, THREADS, SMEM_BYTES)))
    failed(code, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  out->dynamic_smem = SMEM_BYTES;
  cu.context_pop(&popped);
  return code;
}

static const char* own_error(int32_t code) {
  switch (code) {
    case CUTEGEN_OK: return "no error";
    case CUTEGEN_NO_DRIVER: return "the CUDA driver library is missing or too old";
    case CUTEGEN_CAPTURING:
      return "the kernel is not loaded on this device yet, and cannot be loaded during stream capture; "
             "launch it once, or load it, before the capture";
    case CUTEGEN_NO_IMAGE: return "the kernel was built for other devices";
    case CUTEGEN_BAD_ARGUMENT: return "an argument is not valid";
    case CUTEGEN_GRID_TOO_LARGE: return "the problem needs more CTAs than one launch can have";
    case CUTEGEN_BAD_EXTENT: return "the kernel counts in 32 bits, whole tiles included";
    case CUTEGEN_BAD_POINTER: return "a matrix or vector is missing, is one too many, or overlaps D";
    case CUTEGEN_BAD_STRIDE: return "a leading stride does not fit its matrix";
    case CUTEGEN_MISALIGNED: return "the kernel was built for better aligned matrices; a smaller align in its config takes these";
    default: return NULL;
  }
}

static const char* describe_error(int32_t code) {
  static _Thread_local char text[512];
  char step[192] = "";
  if (last.format && last.code == code && code)
    snprintf(step, sizeof step, last.format, last.name, last.got, last.need);
  const char* own = own_error(code);
  const char *name = NULL, *words = NULL;
  if (!own && code > 0 && atomic_load(&driver_ready)) {
    cu.error_name(code, &name);
    cu.error_string(code, &words);
  }
  snprintf(text, sizeof text, "%s%s%s%s%s (%d)", step, *step ? ": " : "",
           own ? own : name ? name : "unknown error", words ? ": " : "", words ? words : "", (int)code);
  return text;
}

#define EXPORT __attribute__((visibility("default")))
#define EXPORT_ALL(prefix)                                                                                   \
  EXPORT int32_t prefix##_launch(const CutegenLaunch* launch) { return launch_kernel(launch); }              \
  EXPORT int32_t prefix##_load(int32_t device) { return load(device, NULL); }                                \
  EXPORT int32_t prefix##_loaded(int32_t device) { return loaded_image(device); }                            \
  EXPORT int32_t prefix##_attributes(int32_t device, CutegenAttributes* attributes) {                        \
    return ask_attributes(device, attributes);                                                               \
  }                                                                                                          \
  EXPORT const char* prefix##_error_string(int32_t code) { return describe_error(code); }                    \
  EXPORT const char* prefix##_describe(void) { return description; }

EXPORT int32_t cutegen_abi(void) { return CUTEGEN_ABI; }
EXPORT_ALL(cutegen)
EXPORT_ALL({{ name }})
