/* ----------------------------------------------------------------------------------------- workspaces */

enum { /* values of cuda.h */
  ALLOCATION_PINNED = 1,
  LOCATION_DEVICE = 1,
  POOL_RELEASE_THRESHOLD = 4
};

/* Memory of workspaces, one pool for each device; freed memory stays in it for the next launch. */
static Pool pools[MAX_DEVICES];
static pthread_mutex_t pools_mutex = PTHREAD_MUTEX_INITIALIZER;

static int32_t find_pool(int32_t ordinal, Pool* pool) {
  pthread_mutex_lock(&pools_mutex);
  int32_t code = CUTEGEN_OK;
  if (!pools[ordinal]) {
    const PoolProperties properties = {
        .allocation = ALLOCATION_PINNED, .location = LOCATION_DEVICE, .ordinal = ordinal};
    uint64_t all = UINT64_MAX;
    Pool made = NULL;
    if ((code = cu.pool_create(&made, &properties))) failed(code, "cuMemPoolCreate");
    else if ((code = cu.pool_set(made, POOL_RELEASE_THRESHOLD, &all))) failed(code, "cuMemPoolSetAttribute");
    else pools[ordinal] = made;
  }
  *pool = pools[ordinal];
  pthread_mutex_unlock(&pools_mutex);
  return code;
}
