enum { /* values of cuda.h */
  ALLOCATION_PINNED = 1,
  LOCATION_DEVICE = 1,
  POOL_RELEASE_THRESHOLD = 4
};

/* Memory of workspaces, one pool for each loaded device; freed memory stays in it for the next launch. */
static Pool pools[MAX_DEVICES];

static int32_t make_pool(int32_t ordinal) {
  const PoolProperties properties = {.allocation = ALLOCATION_PINNED, .location = LOCATION_DEVICE, .ordinal = ordinal};
  uint64_t all = UINT64_MAX;
  Pool made = NULL;
  Result code = cu.pool_create(&made, &properties);
  if (code) return failed(code, "cuMemPoolCreate");
  if ((code = cu.pool_set(made, POOL_RELEASE_THRESHOLD, &all))) return failed(code, "cuMemPoolSetAttribute");
  pools[ordinal] = made;
  return CUTEGEN_OK;
}
