typedef struct {
  Maps maps;
  uint64_t sums, flags; /* of the workspace, which the kernel takes behind the maps */
  int64_t slots;        /* that it needs; 0: none is read or written */
  unsigned grid;
} Work;

enum {
  SLOT_BYTES = {{ launch.sums.slot_bytes }},
  SLOT_FLAGS = {{ launch.sums.slot_flags }}, /* of 4 bytes, 0 before and after each launch */
  STREAM_K = {{ launch.sums.stream_k|int }},
  KEPT_STREAMS = 16
};

/* Clusters divide the k-tiles of tiles among them: there may be as many clusters as k-tiles, or shares of them. */
static int32_t find_work(const CutegenLaunch* launch, const Slot* slot, int64_t tiles, Work* work) {
  int64_t k_tiles = ((int64_t)launch->p.k + BLK_K - 1) / BLK_K;
  if (k_tiles == 0) k_tiles = 1;
  int64_t parts = STREAM_K || k_tiles < SHARES ? k_tiles : SHARES, clusters = tiles * parts;
  if (clusters > slot->resident) clusters = slot->resident;
  work->grid = (unsigned)clusters * CLUSTER;
  work->slots = STREAM_K ? (tiles % clusters ? work->grid : 0) : tiles * (parts - 1) * CLUSTER;
  work->sums = work->flags = 0;
  return find_maps(&launch->p, &work->maps);
}

/* Memory with so many slots. Its flags lie behind them, are 0 at first, and nothing else is ever written there. */
typedef struct {
  uint64_t stream, address; /* whose it is; where */
  int64_t slots;            /* 0: there is none yet */
} Workspace;

static Workspace kept_workspaces[MAX_DEVICES][KEPT_STREAMS];
static pthread_mutex_t workspaces_mutex = PTHREAD_MUTEX_INITIALIZER;

static int32_t make_workspace(const CutegenLaunch* launch, int64_t slots, Workspace* made) {
  Stream stream = (Stream)launch->stream;
  uint64_t address = 0;
  Result code = cu.allocate(&address, (size_t)slots * (SLOT_BYTES + SLOT_FLAGS * 4), pools[launch->device], stream);
  if (code) return failed(code, "cuMemAllocFromPoolAsync");
  if ((code = cu.fill(address + (uint64_t)slots * SLOT_BYTES, 0, (size_t)slots * SLOT_FLAGS * 4, stream))) {
    cu.release(address, stream);
    return failed(code, "cuMemsetD8Async");
  }
  made->address = address;
  made->slots = slots;
  return CUTEGEN_OK;
}

/* Behind what fills a new workspace no launch may start early, so that one is made in the plain way. */
static int32_t start_with(Function function, const CutegenLaunch* launch, Work* work, const Workspace* workspace,
                          int is_new) {
  Stream stream = (Stream)launch->stream;
  if (workspace) {
    work->sums = workspace->address;
    work->flags = workspace->address + (uint64_t)workspace->slots * SLOT_BYTES;
  }
  void* params[] = {(void*)&launch->p, &work->maps};
  Result code = is_new ? cu.launch(function, work->grid, 1, 1, THREADS, 1, 1, SMEM_BYTES, stream, params, NULL)
                       : launch_grid(function, work->grid, stream, params);
  return code ? failed(code, PDL && !is_new ? "cuLaunchKernelEx" : "cuLaunchKernel") : CUTEGEN_OK;
}

/* The workspace of a stream, or NULL if those of as many others are kept. */
static Workspace* find_workspace(int32_t device, uint64_t stream) {
  for (Workspace* kept = kept_workspaces[device]; kept < kept_workspaces[device] + KEPT_STREAMS; ++kept)
    if (!kept->slots || kept->stream == stream) return kept;
  return NULL;
}

/* With the stream's own workspace. Kernels of a stream follow each other, and each leaves the flags 0. */
static int32_t start_with_kept(Function function, const CutegenLaunch* launch, Work* work, uint64_t stream, int* kept) {
  pthread_mutex_lock(&workspaces_mutex); /* until the launch is made: another thread may free what is too small */
  Workspace* own = find_workspace(launch->device, stream);
  int32_t code = CUTEGEN_OK;
  int is_new = own && own->slots < work->slots;
  if (is_new) {
    Workspace more = {.stream = stream};
    code = make_workspace(launch, work->slots, &more);
    if (!code && own->slots) cu.release(own->address, (Stream)launch->stream);
    if (!code) *own = more;
  }
  if (own && !code) code = start_with(function, launch, work, own, is_new);
  pthread_mutex_unlock(&workspaces_mutex);
  *kept = own != NULL;
  return code;
}

/* With one of its own: a graph may run beside its stream, and more streams than are kept may come. */
static int32_t start_with_new(Function function, const CutegenLaunch* launch, Work* work) {
  Workspace own = {0};
  int32_t wrong = make_workspace(launch, work->slots, &own);
  if (wrong) return wrong;
  wrong = start_with(function, launch, work, &own, 1);
  Result freed = cu.release(own.address, (Stream)launch->stream);
  if (wrong) return wrong;
  return freed ? failed(freed, "cuMemFreeAsync") : CUTEGEN_OK;
}

static int32_t start(Function function, const CutegenLaunch* launch, const Slot* slot, Work* work) {
  (void)slot;
  if (work->slots == 0) return start_with(function, launch, work, NULL, 0);
  Stream stream = (Stream)launch->stream;
  int captures = 0, kept = 0;
  uint64_t id = 0;
  Result code = cu.stream_capturing(stream, &captures);
  if (code) return failed(code, "cuStreamIsCapturing");
  if (!captures) {
    if ((code = cu.stream_id(stream, &id))) return failed(code, "cuStreamGetId");
    int32_t wrong = start_with_kept(function, launch, work, id, &kept);
    if (kept) return wrong;
  }
  return start_with_new(function, launch, work);
}
