struct Config {
//{% for matrix in matrices %}
  using Element{{ matrix.name }} = {{ matrix.element }};
  using Layout{{ matrix.name }}  = cutlass::layout::{{ matrix.layout }};  // {{ matrix.comment }}
  static constexpr int ALIGN_{{ matrix.name }} = {{ matrix.align }};  // elements

//{% endfor %}
  using Accumulator = {{ accumulator }};
  using Scale       = {{ scale }};  // in which alpha * acc + beta * c is computed

  using ArchTag      = cutlass::arch::{{ arch_tag }};
  using TileShape    = Shape<Int<{{ blk_m }}>, Int<{{ blk_n }}>, Int<{{ blk_k }}>>;  // (BLK_M,BLK_N,BLK_K)
  using ClusterShape = Shape<Int<{{ cluster_m }}>, Int<{{ cluster_n }}>, _1>;

  using KernelSchedule   = cutlass::gemm::{{ kernel_schedule }};
  using EpilogueSchedule = cutlass::epilogue::{{ epilogue_schedule }};
  using TileScheduler    = cutlass::gemm::{{ tile_scheduler }};
//{% if stages %}
  template <int EPILOGUE_BYTES>
  using Stages = cutlass::gemm::collective::StageCount<{{ stages }}>;
//{% else %}
  template <int EPILOGUE_BYTES>
  using Stages = cutlass::gemm::collective::StageCountAutoCarveout<EPILOGUE_BYTES>;  // as many as fit beside them
//{% endif %}

  static constexpr int  CLUSTER        = {{ cluster_m * cluster_n }};  // CTAs
  static constexpr bool ORDERED        = {{ ordered }};  // the tile scheduler, not the grid, orders tiles
  static constexpr bool STREAM_K       = {{ stream_k }};
  static constexpr bool RASTER_ALONG_M = {{ raster_along_m }};
  static constexpr int  MAX_SWIZZLE    = {{ raster_group }};  // tiles walked along the raster mode before the other advances
  static constexpr int  THREADS        = {{ threads }};
  static constexpr int  SMEM_BYTES     = {{ smem_bytes }};  // that the launcher asks for
};
