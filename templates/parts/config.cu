struct Config {
  using ElementC    = {{ element_c }};
  using ElementD    = {{ element_d }};
  using Accumulator = {{ accumulator }};
  using Scale       = {{ scale }};  // in which alpha * acc + beta * c is computed

  static constexpr int BLK_M      = {{ blk_m }};
  static constexpr int BLK_N      = {{ blk_n }};
  static constexpr int BLK_K      = {{ blk_k }};
  static constexpr int STAGES     = {{ stages }};
  static constexpr int THREADS    = {{ threads }};
  static constexpr int MIN_BLOCKS = {{ min_blocks }};  // CTAs per SM that the register budget allows

  static constexpr int  K_BLOCKS      = {{ k_blocks }};  // MMA steps along one k-tile
  static constexpr int  STAGE_BYTES   = {{ stage_bytes }};
  static constexpr int  SMEM_BYTES    = {{ smem_bytes }};
  static constexpr int  SMEM_ALIGN    = {{ smem_align }};
  static constexpr bool DOUBLE_BUFFER = {{ double_buffer }};  // two k-blocks of fragments

  static constexpr bool RASTER_ALONG_M = {{ raster_along_m }};
  static constexpr int  RASTER_GROUP   = {{ raster_group }};

  static constexpr bool SIMT = {{ simt }};
  using Mma = MMA_Traits<{{ mma_op }}>;
  using FragmentC = {{ fragment_c }};  // (MMA,MMA_M,MMA_N)
};

//{% for op in operands %}
// {{ op.comment }}
struct Operand{{ op.name }} {
  using Element = {{ op.element }};
  static constexpr bool K_MAJOR = {{ op.k_major }};

  using Fragment = {{ op.fragment }};  // (MMA,MMA_{{ op.mn }},MMA_K,BUFFER)
  static constexpr int ATOMS_MN = {{ op.atoms_mn }};
  static constexpr int ATOMS_K  = {{ op.atoms_k }};  // MMA atoms along one k-block
  static constexpr int BUFFER   = {{ op.buffer }};  // elements of one k-block

  // From global memory: thread and step to (MN,K) in the tile; a step is one vector.
  using G2S        = Copy_Traits<{{ op.g2s }}>;
  using G2SThrMN   = {{ op.g2s_thr_mn }};
  using G2SThrK    = {{ op.g2s_thr_k }};
  using G2SStepMN  = {{ op.g2s_step_mn }};
  using G2SStepK   = {{ op.g2s_step_k }};
  static constexpr bool G2S_ASYNC = {{ op.g2s_async }};
  static constexpr int  G2S_VEC   = {{ op.g2s_vec }};
  static constexpr int  G2S_STEPS = {{ op.g2s_steps }};
//{% if op.smem is not none %}

  // Shared memory: offsets in elements before the swizzle.
  using SmemSwizzle = {{ op.smem.swizzle }};
  static constexpr int SMEM_OFFSET = {{ op.smem.offset }};  // bytes from the start of a stage

  struct Write {
    using Swz  = SmemSwizzle;
    using Thr  = {{ op.smem.write_thr }};
    using Step = {{ op.smem.write_step }};
    static constexpr bool LINEAR = {{ op.smem.write_linear }};
    static constexpr int  MASK   = {{ op.smem.write_mask }};
  };

  struct Read {  // step = copy + COPIES * k_block
    using Swz  = SmemSwizzle;
    using Thr  = {{ op.smem.read_thr }};
    using Step = {{ op.smem.read_step }};
    static constexpr bool LINEAR = {{ op.smem.read_linear }};
    static constexpr int  MASK   = {{ op.smem.read_mask }};
  };

  using S2R = Copy_Traits<{{ op.smem.s2r }}>;
  static constexpr int S2R_COPIES = {{ op.smem.s2r_copies }};  // per k-block
  static constexpr int S2R_VEC    = {{ op.smem.s2r_vec }};  // elements that a thread receives
  static constexpr int S2R_WIDTH  = {{ op.smem.s2r_width }};  // elements at the address that a lane supplies
//{% endif %}
};

//{% endfor %}
// The output tile: accumulator (value, atom along M, atom along N) to (M,N).
struct Output {
  using ThrM = {{ out.thr_m }};
  using ThrN = {{ out.thr_n }};
  using RegM = {{ out.reg_m }};
  using RegN = {{ out.reg_n }};
  static constexpr int  REGISTERS = {{ out.registers }};
  static constexpr int  VEC       = {{ out.vec }};  // accumulators side by side along D's major mode
  static constexpr bool C_N_MAJOR = {{ out.c_n_major }};
  static constexpr bool D_N_MAJOR = {{ out.d_n_major }};
  static constexpr bool C_STAGED  = {{ out.c_staged }};  // C passes through the staging buffer
  static constexpr int  C_VEC     = {{ out.c_vec }};  // elements of one load of C
  static constexpr int  D_VEC     = {{ out.d_vec }};  // elements of one store of D
  static constexpr int  PITCH     = {{ out.pitch }};  // elements between rows of the staging buffer
};
