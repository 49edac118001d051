/* ------------------------------------------------------------------------------------------- tensor maps */

typedef struct {
  _Alignas(128) unsigned char bytes[{{ launch.maps|length }}][128]; /* CUtensorMap */
} Maps;

enum { /* values of cuda.h */
  INTERLEAVE_NONE = 0,
  L2_PROMOTION_128 = 2,
  FILL_ZERO = 0
};

static const struct {
  char matrix; /* a, b or d */
  int type;    /* CUtensorMapDataType */
  int size;    /* bytes of an element */
  int mn_inner;
  uint32_t box_inner, box_outer;
  int swizzle; /* CUtensorMapSwizzle */
} map_specs[] = {
//{% for map in launch.maps %}
    {'{{ map.matrix }}', {{ map.type_code }}, {{ map.bytes }}, {{ map.mn_inner|int }}, {{ map.box_inner }}, {{ map.box_outer }}, {{ map.swizzle_code }}},
//{% endfor %}
};

/* One map. A single row has no stride of its own; without K nothing is read, and any address will do. */
static int32_t encode_map(const CutegenParams* p, size_t i, Maps* maps) {
  char matrix = map_specs[i].matrix;
  uint64_t size = (uint64_t)map_specs[i].size;
  uint64_t mn = (uint64_t)(matrix == 'b' ? p->n : p->m), other = (uint64_t)(matrix == 'd' ? p->n : p->k);
  int64_t ld = matrix == 'a' ? p->lda : matrix == 'b' ? p->ldb : p->ldd;
  uintptr_t base = (uintptr_t)(matrix == 'a' ? p->a : matrix == 'b' ? p->b : p->d);
  uint64_t inner = map_specs[i].mn_inner ? mn : other, outer = map_specs[i].mn_inner ? other : mn;
  if (inner == 0 || outer == 0) base = (uintptr_t)p->d & ~(uintptr_t)15;
  uint64_t extents[2] = {inner ? inner : 1, outer ? outer : 1};
  uint64_t stride = outer > 1 && inner > 0 ? (uint64_t)ld * size : (extents[0] * size + 15) / 16 * 16;
  const uint32_t box[2] = {map_specs[i].box_inner, map_specs[i].box_outer}, ones[2] = {1, 1};
  Result code = cu.encode_tiled(maps->bytes[i], map_specs[i].type, 2, (void*)base, extents, &stride, box, ones,
                                INTERLEAVE_NONE, map_specs[i].swizzle, L2_PROMOTION_128, FILL_ZERO);
  return code ? failed(code, "cuTensorMapEncodeTiled") : CUTEGEN_OK;
}

/* What maps depend on. */
typedef struct {
  const void *a, *b, *d;
  int64_t lda, ldb, ldd;
  int32_t m, n, k, used;
} MapKey;

enum { KEPT = 256, WAYS = 4 };

static struct {
  MapKey key;
  Maps maps;
} kept[KEPT];
static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned kept_turn;

static size_t hash_key(const MapKey* key) {
  uint64_t words[sizeof *key / 8], hash = 0;
  memcpy(words, key, sizeof words);
  for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i) hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(hash >> 40) % (KEPT / WAYS) * WAYS;
}

/* The maps of a launch: encoded once for each combination of pointers, strides and extents that is kept. */
static int32_t find_maps(const CutegenParams* p, Maps* maps) {
  const MapKey key = {p->a, p->b, p->d, p->lda, p->ldb, p->ldd, p->m, p->n, p->k, 1};
  size_t first = hash_key(&key);
  pthread_mutex_lock(&kept_mutex);
  for (size_t way = first; way < first + WAYS; ++way) {
    if (!memcmp(&kept[way].key, &key, sizeof key)) {
      *maps = kept[way].maps;
      pthread_mutex_unlock(&kept_mutex);
      return CUTEGEN_OK;
    }
  }
  int32_t code = CUTEGEN_OK;
  for (size_t i = 0; !code && i < sizeof map_specs / sizeof map_specs[0]; ++i) code = encode_map(p, i, maps);
  if (!code) {
    size_t way = first + kept_turn++ % WAYS;
    kept[way].key = key;
    kept[way].maps = *maps;
  }
  pthread_mutex_unlock(&kept_mutex);
  return code;
}
