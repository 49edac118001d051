struct Config {
  using ElementC    = {{ element_c }};
  using ElementD    = {{ element_d }};
  using Accumulator = {{ accumulator }};
  using Scale       = {{ scale }};  // in which alpha * acc + beta * c is computed

  static constexpr int BLK_M     = {{ blk_m }};
  static constexpr int BLK_N     = {{ blk_n }};
  static constexpr int BLK_K     = {{ blk_k }};
  static constexpr int STAGES    = {{ stages }};
  static constexpr int CLUSTER_M = {{ cluster_m }};
  static constexpr int CLUSTER_N = {{ cluster_n }};
  static constexpr int SPLIT_K   = {{ split_k }};  // CTAs of a cluster that share a tile's k-tiles
//{% if shares > 1 %}
  static constexpr int SHARES    = {{ shares }};  // of a tile's k-tiles, whose sums meet in global memory
//{% endif %}

  static constexpr int  CONSUMERS = {{ consumers }};  // warpgroups that multiply; one more loads
  static constexpr bool PINGPONG  = {{ pingpong }};  // each consumer has a tile of its own
  static constexpr int  WARPGROUPS_M = {{ warpgroups_m }};  // of a tile's consumers, side by side along M
  static constexpr int  PRODUCERS = {{ producers }};  // threads that load: one for both operands, or one for each
  static constexpr int  THREADS = {{ threads }};
  static constexpr int  PRODUCER_REGISTERS = {{ producer_registers }};
  static constexpr int  CONSUMER_REGISTERS = {{ consumer_registers }};

  static constexpr int STAGE_BYTES    = {{ stage_bytes }};
  static constexpr int STAGING_OFFSET = {{ staging_offset }};  // bytes from the start of shared memory
//{% if split_k > 1 %}
  static constexpr int PARTIAL_OFFSET = {{ partial_offset }};
//{% endif %}
  static constexpr int BARRIER_OFFSET = {{ barrier_offset }};
  static constexpr int SMEM_BYTES     = {{ smem_bytes }};

  static constexpr bool RASTER_ALONG_M = {{ raster_along_m }};
  static constexpr int  RASTER_GROUP   = {{ raster_group }};

  using Mma = {{ mma_op }};
  using FragmentC = {{ fragment_c }};  // (MMA,MMA_M)
//{% if a_in_registers %}
  using FragmentA = {{ fragment_a }};  // (MMA,MMA_M,SET)
//{% endif %}
  static constexpr int ATOMS_M = {{ atoms_m }};  // of one warpgroup
  static constexpr int K_STEPS = {{ k_steps }};  // wgmma along one k-tile
//{% if sum_sets %}
  static constexpr int SUM_SETS = {{ sum_sets }};  // of the tensor cores' sums of a stage, beside the accumulators
//{% endif %}
};

//{% for op in operands %}
// {{ op.comment }} A stage is a row of panels: one swizzle row of the contiguous mode, by all of the other.
struct Operand{{ op.name }} {
  using Element = {{ op.element }};
  static constexpr bool K_MAJOR = {{ op.k_major }};

  static constexpr int PANELS      = {{ op.panels }};
  static constexpr int PANEL_INNER = {{ op.panel_inner }};
  static constexpr int ROW_BYTES   = {{ op.row_bytes }};  // of PANEL_INNER elements: the swizzle's width
  static constexpr int PANEL_BYTES = {{ op.panel_bytes }};
  static constexpr int STAGE_BYTES = {{ op.stage_bytes }};
  static constexpr int SMEM_OFFSET = {{ op.smem_offset }};  // bytes from the start of shared memory
  static constexpr int SHARERS     = {{ op.sharers }};  // CTAs of the cluster that use the same tile
  static constexpr int BOXES       = {{ op.boxes }};  // that one of them loads for each panel
  static constexpr int BOX_OUTER   = {{ op.box_outer }};
  static constexpr auto CACHE      = TMA::CacheHintSm90::{{ op.cache }};  // what L2 gives up
  static constexpr bool CONSTANT   = {{ op.constant }};  // loaded without waiting for the kernel before this one

//{% if op.registers %}
  // A thread's four registers of an operation, 2 rows by 2 columns: bytes before the swizzle; and bytes between
  // warpgroups, atoms and k-steps.
  static constexpr int SETS = {{ op.registers.sets }};  // of registers, for as many k-steps
  using ReadSwizzle = {{ op.registers.swizzle }};
  using ThreadBytes = {{ op.registers.thread }};
  using ValueBytes  = {{ op.registers.value }};
//{% else %}
  // The matrix descriptor without its address, and bytes between warpgroups, atoms and k-steps.
  static constexpr int SWIZZLE_MODE  = {{ op.swizzle_mode }};
  static constexpr int LEADING_BYTES = {{ op.leading_bytes }};
  static constexpr int STRIDE_BYTES  = {{ op.stride_bytes }};
//{% endif %}
  static constexpr int WARPGROUP_BYTES = {{ op.warpgroup_bytes }};
  using AtomBytes = {{ op.atom_bytes }};
  using StepBytes = {{ op.step_bytes }};
};

//{% endfor %}
// The output tile: thread and accumulator (value, atom along M) to (M,N).
struct Output {
  using ThrM = {{ out.thr_m }};
  using ThrN = {{ out.thr_n }};
  using RegM = {{ out.reg_m }};
  using RegN = {{ out.reg_n }};
  static constexpr int  REGISTERS = {{ out.registers }};
  static constexpr int  VEC       = {{ out.vec }};  // accumulators side by side along D's major mode
  static constexpr bool C_N_MAJOR = {{ out.c_n_major }};
  static constexpr bool D_N_MAJOR = {{ out.d_n_major }};
  static constexpr int  C_VEC     = {{ out.c_vec }};  // elements of one load of C
  static constexpr int  D_VEC     = {{ out.d_vec }};  // elements of one store of D
  static constexpr int  COLUMNS   = {{ out.columns }};  // of one warpgroup
  static constexpr int  CHUNK     = {{ out.chunk }};  // columns that are stored together, of an M-major D
  static constexpr int  SLOTS     = {{ out.slots }};  // staging buffers of one warp or, M-major, warpgroup
  static constexpr int  SLOT_BYTES = {{ out.slot_bytes }};
};
