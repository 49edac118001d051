/* ------------------------------------------------------------------------------ what else a launch needs */

typedef struct {
  unsigned grid;
} Work;

static int32_t find_work(const CutegenLaunch* launch, const Slot* slot, int64_t clusters, Work* work) {
  (void)launch;
  if (PERSISTENT && clusters > slot->resident) clusters = slot->resident;
  work->grid = (unsigned)clusters * CLUSTER;
  return CUTEGEN_OK;
}

static int32_t start(Function function, const CutegenLaunch* launch, const Slot* slot, Work* work) {
  (void)slot;
  void* params[] = {(void*)&launch->p};
  Result code = launch_grid(function, work->grid, (Stream)launch->stream, params);
  return code ? failed(code, "cuLaunchKernel") : CUTEGEN_OK;
}
