/* A libcuda.so.1 that records calls and does what it is told. */
#include <stddef.h>
#include <stdio.h>
#include <stdarg.h>
#include <string.h>
#include <pthread.h>
#include <time.h>

typedef struct {
  const void *a, *b, *c;
  void* d;
  long long lda, ldb, ldc, ldd;
  int m, n, k, reserved;
  double alpha, beta;
} Params;

static struct {
  int init_error, cubin_error, ptx_error, set_error, launch_error, capturing, capture_error, load_ms, smem, maps;
  int allocate_error, fill_error, sums;
} told;
static const struct {
  const char* name;
  int* value;
} names[] = {
    {"init_error", &told.init_error},       {"cubin_error", &told.cubin_error},
    {"ptx_error", &told.ptx_error},         {"set_error", &told.set_error},
    {"launch_error", &told.launch_error},   {"capturing", &told.capturing},
    {"capture_error", &told.capture_error}, {"load_ms", &told.load_ms},
    {"smem", &told.smem},                   {"maps", &told.maps},
    {"allocate_error", &told.allocate_error}, {"fill_error", &told.fill_error},
    {"sums", &told.sums},
};
static char text[1 << 16];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local void* stack[16];
static _Thread_local int depth;

static void record(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&mutex);
  size_t used = strlen(text);
  vsnprintf(text + used, sizeof text - used, format, arguments);
  pthread_mutex_unlock(&mutex);
  va_end(arguments);
}

static void* current(void) { return depth ? stack[depth - 1] : NULL; }

/* For the test. */
void fake_tell(const char* name, int value) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
    if (!strcmp(names[i].name, name)) *names[i].value = value;
}
const char* fake_calls(void) { return text; }
void fake_forget(void) { text[0] = 0; }
void fake_make_current(void* context) { stack[0] = context, depth = context != NULL; }
void* fake_current(void) { return current(); }
int fake_depth(void) { return depth; }

/* Of fake_memory.c, where a test has it. */
__attribute__((weak)) void fake_compute(const Params* p);

/* For the launcher. */
int cuInit(unsigned flags) { return record("init %u\n", flags), told.init_error; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal < 2 ? 0 : 101; }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = (void*)(0x1000 + (size_t)device);
  return record("retain %d\n", device), 0;
}
int cuCtxGetCurrent(void** context) { return *context = current(), 0; }
int cuCtxPushCurrent_v2(void* context) { return stack[depth++] = context, 0; }
int cuCtxPopCurrent_v2(void** context) { return *context = stack[--depth], 0; }
int cuModuleLoadData(void** module, const char* image) {
  int ptx = !strncmp(image, "PTX", 3);
  if (told.load_ms) nanosleep(&(struct timespec){0, told.load_ms * 1000000L}, NULL);
  record("load %s %zu in %zx\n", ptx ? "ptx" : "cubin", ptx ? strlen(image) : 0, (size_t)current());
  *module = (void*)(0x2000 + 16 * (size_t)ptx + ((size_t)current() & 15));
  return ptx ? told.ptx_error : told.cubin_error;
}
int cuModuleUnload(void* module) { return record("unload %zx\n", (size_t)module), 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = (char*)module + 0x1000;
  return record("function %s\n", name), 0;
}
int cuFuncLoad(void* function) { return record("function_load %zx\n", (size_t)function), 0; }
int cuFuncGetAttribute(int* value, int attribute, void* function) {
  (void)function;
  static const int values[] = {1024, 0, 7, 24, 96, 80, 90};
  return *value = attribute == 1 ? told.smem : values[attribute], 0;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  return record("set %zx %d %d\n", (size_t)function, attribute, value), told.set_error;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads, size_t smem) {
  return *blocks = 3, record("occupancy %zx %d %zu\n", (size_t)function, threads, smem), 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return *value = 7, record("device_attribute %d %d\n", attribute, device), 0;
}
typedef struct {
  unsigned grid[3], block[3], smem;
  void* stream;
  struct {
    int id, padding;
    unsigned cluster[16];
  }* attributes;
  unsigned count;
} LaunchConfig;
int cuOccupancyMaxActiveClusters(int* clusters, void* function, const LaunchConfig* c) {
  *clusters = 2;
  return record("clusters %zx grid %u block %u smem %u count %u id %d cluster %u %u %u\n", (size_t)function, c->grid[0],
                c->block[0], c->smem, c->count, c->attributes->id, c->attributes->cluster[0],
                c->attributes->cluster[1], c->attributes->cluster[2]),
         0;
}
int cuTensorMapEncodeTiled(unsigned char* map, int type, unsigned rank, void* address, const unsigned long long* extents,
                           const unsigned long long* strides, const unsigned* box, const unsigned* element_strides,
                           int interleave, int swizzle, int promotion, int fill) {
  static int made;
  memset(map, ++made, 128);
  record("encode %d type %d rank %u at %zx extents %llu %llu stride %llu box %u %u by %u %u interleave %d swizzle %d "
         "promotion %d fill %d\n",
         made, type, rank, (size_t)address, extents[0], extents[1], strides[0], box[0], box[1], element_strides[0],
         element_strides[1], interleave, swizzle, promotion, fill);
  return (size_t)address % 16 || strides[0] % 16 ? 1 : 0;
}
int cuStreamGetId(void* stream, unsigned long long* id) { return *id = (size_t)stream, 0; }
int cuStreamIsCapturing(void* stream, int* status) {
  return *status = told.capturing, record("capturing %zx\n", (size_t)stream), told.capture_error;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned smem, void* stream, void** params, void** extra);
int cuLaunchKernelEx(const LaunchConfig* c, void* function, void** params, void** extra) {
  record("attribute %d value %u of %u\n", c->attributes->id, c->attributes->cluster[0], c->count);
  return cuLaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->smem,
                        c->stream, params, extra);
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned smem, void* stream, void** params, void** extra) {
  const Params* p = params[0];
  record("launch %zx grid %u %u %u block %u %u %u smem %u stream %zx in %zx m %d n %d k %d a %zx ldd %lld "
         "alpha %g beta %g%s\n",
         (size_t)function, gx, gy, gz, bx, by, bz, smem, (size_t)stream, (size_t)current(), p->m, p->n, p->k,
         (size_t)p->a, p->ldd, p->alpha, p->beta, extra ? " extra" : "");
  if (told.maps) {
    const unsigned char* maps = params[1];
    record("maps");
    for (int i = 0; i < told.maps; ++i) record(" %d", maps[128 * i]);
    record(" aligned %d\n", (size_t)maps % 64 == 0);
    size_t sums[2];
    memcpy(sums, maps + 128 * told.maps, sizeof sums);
    if (told.sums) record("sums %zx flags %zx\n", sums[0], sums[1]);
  }
  if (fake_compute) fake_compute(p);
  return told.launch_error;
}
int cuMemPoolCreate(void** pool, const int* properties) {
  *pool = (void*)0x5000;
  return record("pool type %d handles %d location %d of %d\n", properties[0], properties[1], properties[2],
                properties[3]),
         0;
}
int cuMemPoolSetAttribute(void* pool, int attribute, const unsigned long long* value) {
  return record("pool_set %zx %d %llu\n", (size_t)pool, attribute, *value), 0;
}
int cuMemAllocFromPoolAsync(size_t* address, size_t bytes, void* pool, void* stream) {
  static size_t next = 0x10000000;
  *address = next += 0x10000000;
  return record("allocate %zu of %zx stream %zx in %zx\n", bytes, (size_t)pool, (size_t)stream, (size_t)current()),
         told.allocate_error;
}
int cuMemFreeAsync(size_t address, void* stream) {
  return record("free %zx stream %zx in %zx\n", address, (size_t)stream, (size_t)current()), 0;
}
int cuMemsetD8Async(size_t address, unsigned char value, size_t bytes, void* stream) {
  return record("fill %zx with %d, %zu, stream %zx\n", address, value, bytes, (size_t)stream), told.fill_error;
}
int cuGetErrorName(int code, const char** name) {
  return *name = code == 1 ? "CUDA_ERROR_INVALID_VALUE" : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL, 0;
}
int cuGetErrorString(int code, const char** words) {
  return *words = code == 1 ? "invalid argument" : code == 2 ? "out of memory" : NULL, 0;
}
