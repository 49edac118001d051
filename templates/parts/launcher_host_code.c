/* ------------------------------------------------------------------------------- host code of the source */

/* The structs of the source, see there. */
typedef struct {
  int32_t multiprocessors, clusters;
} Machine;
typedef struct {
  _Alignas(128) unsigned char parameters[4096];
  uint64_t workspace_bytes;
  uint32_t grid[3];
} Work;
_Bool {{ name }}_prepare(const CutegenParams* p, const Machine* machine, void* workspace, void* stream, Work* work);

static _Thread_local Result failed_call; /* of those below which host code makes */

/* What host code calls of the driver and of the CUDA runtime, which takes no part here. nvcc has it register the
 * image with the runtime; this launcher loads it instead. */
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN Result cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address, const uint64_t* extents,
                                     const uint64_t* strides, const uint32_t* box, const uint32_t* element_strides,
                                     int interleave, int swizzle, int l2_promotion, int fill) {
  Result code = cu.encode_tiled(map, type, rank, address, extents, strides, box, element_strides, interleave, swizzle,
                                l2_promotion, fill);
  if (code) failed_call = code;
  return code;
}
HIDDEN int cudaMemsetAsync(void* address, int value, size_t bytes, void* stream) {
  failed_call = cu.fill((uint64_t)(uintptr_t)address, (unsigned char)value, bytes, (Stream)stream);
  return failed_call;
}
HIDDEN int cudaGetLastError(void) { return failed_call; }
HIDDEN const char* cudaGetErrorString(int code) { return code ? "a call of the CUDA driver failed" : "no error"; }
enum { RUNTIME_NOT_SUPPORTED = 801 }; /* cudaErrorNotSupported: it is told what it asks for here */
HIDDEN int cudaGetDevice(int* device) { return *device = 0, RUNTIME_NOT_SUPPORTED; }
HIDDEN int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  (void)attribute;
  (void)device;
  return *value = 0, RUNTIME_NOT_SUPPORTED;
}
HIDDEN void** __cudaRegisterFatBinary(void* image) { return (void**)image; }
HIDDEN void __cudaRegisterFatBinaryEnd(void** image) { (void)image; }
HIDDEN void __cudaUnregisterFatBinary(void** image) { (void)image; }
HIDDEN void __cudaRegisterFunction(void) {}
HIDDEN void __cudaRegisterVar(void) {}
HIDDEN char __cudaInitModule(void** image) { return (void)image, 1; }
HIDDEN int __cudaGetKernel(void) { return RUNTIME_NOT_SUPPORTED; }
HIDDEN int __cudaLaunchKernel(void) { return RUNTIME_NOT_SUPPORTED; }
HIDDEN int cudaLaunchKernel(void) { return RUNTIME_NOT_SUPPORTED; }
HIDDEN int __cudaPopCallConfiguration(void) { return RUNTIME_NOT_SUPPORTED; }
HIDDEN int __cudaPushCallConfiguration(void) { return RUNTIME_NOT_SUPPORTED; }

static int32_t prepare_work(const CutegenLaunch* launch, const Slot* slot, void* workspace, Work* work) {
  const Machine machine = {slot->processors, slot->resident};
  failed_call = 0;
  _Bool taken = {{ name }}_prepare(&launch->p, &machine, workspace, launch->stream, work);
  if (failed_call) return failed(failed_call, "cuTensorMapEncodeTiled or cuMemsetD8Async");
  return taken ? CUTEGEN_OK : failed(CUTEGEN_MISALIGNED, "a matrix");
}

static int32_t find_work(const CutegenLaunch* launch, const Slot* slot, int64_t clusters, Work* work) {
  (void)clusters;
  if (launch->p.k == 0)
    return refused(CUTEGEN_BAD_EXTENT, "%s is %lld, must be at least %lld for a collective", "k", 0, 1);
  return prepare_work(launch, slot, NULL, work);
}

/* A workspace belongs to one launch: it is allocated, filled and freed in the order of the stream. */
static int32_t start(Function function, const CutegenLaunch* launch, const Slot* slot, Work* work) {
  Stream stream = (Stream)launch->stream;
  uint64_t workspace = 0;
  if (work->workspace_bytes) {
    Result code = cu.allocate(&workspace, work->workspace_bytes, pools[launch->device], stream);
    if (code) return failed(code, "cuMemAllocFromPoolAsync");
    int32_t wrong = prepare_work(launch, slot, (void*)(uintptr_t)workspace, work);
    if (wrong) {
      cu.release(workspace, stream);
      return wrong;
    }
  }
  void* params[] = {work->parameters};
  Result code = cu.launch(function, work->grid[0], work->grid[1], work->grid[2], THREADS, 1, 1, SMEM_BYTES, stream,
                          params, NULL);
  Result freed = workspace ? cu.release(workspace, stream) : 0;
  if (code) return failed(code, "cuLaunchKernel");
  return freed ? failed(freed, "cuMemFreeAsync") : CUTEGEN_OK;
}
