typedef struct {
  Maps maps;
  unsigned grid;
} Work;

static int32_t find_work(const CutegenLaunch* launch, const Slot* slot, int64_t clusters, Work* work) {
  if (PERSISTENT && clusters > slot->resident) clusters = slot->resident;
  work->grid = (unsigned)clusters * CLUSTER;
  return find_maps(&launch->p, &work->maps);
}

static int32_t start(Function function, const CutegenLaunch* launch, const Slot* slot, Work* work) {
  (void)slot;
  void* params[] = {(void*)&launch->p, &work->maps};
  Result code = launch_grid(function, work->grid, (Stream)launch->stream, params);
  return code ? failed(code, PDL ? "cuLaunchKernelEx" : "cuLaunchKernel") : CUTEGEN_OK;
}
