struct Config {
  using ElementA    = {{ operands[0].element }};
  using ElementB    = {{ operands[1].element }};
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
  using CtaTiler = Shape<Int<BLK_M>,Int<BLK_N>,Int<BLK_K>>;

  static constexpr bool RASTER_ALONG_M = {{ raster_along_m }};
  static constexpr int  RASTER_GROUP   = {{ raster_group }};

  // Global memory: the contiguous mode has a static stride of 1. The other stride has 64 bits: a matrix may
  // have more than 2^31 elements, and with a long stride even the offsets inside a tile may exceed 32 bits.
  using StrideA = {{ cute.stride_a }};  // (M,K)
  using StrideB = {{ cute.stride_b }};  // (N,K)
  using StrideC = {{ cute.stride_c }};  // (M,N)
  using StrideD = {{ cute.stride_d }};  // (M,N)

  // The MMA atom, repeated over threads and, up to the permutation's extents, over values
  using TiledMma = decltype(make_tiled_mma(
      MMA_Atom<{{ cute.mma_op }}>{},
      {{ cute.atom_layout }}{},
      {{ cute.permutation }}{}));
//{% if vectors %}

  // What D's elements meet, over (M,N): a vector along one of them, or one element for all
  static constexpr bool SCALE_A   = {{ vectors.scale_a is not none }};
  static constexpr bool SCALE_B   = {{ vectors.scale_b is not none }};
  static constexpr bool WITH_BIAS = {{ vectors.with_bias }};
  using ElementBias  = {{ vectors.bias }};
  using StrideScaleA = {{ "Stride<_1,_0>" if vectors.scale_a == "row" else "Stride<_0,_0>" }};
  using StrideScaleB = {{ "Stride<_0,_1>" if vectors.scale_b == "column" else "Stride<_0,_0>" }};
  using StrideBias   = Stride<_0,_1>;
//{% endif %}
//{% if mainloop != "direct" %}

  // Shared memory: the layout atom, repeated over the tile and the stages
//{% for op in cute.operands %}
//{% if op.smem.swizzle is none %}
  using SmemLayoutAtom{{ op.name }} = {{ op.smem.atom }};
//{% else %}
  using SmemLayoutAtom{{ op.name }} = decltype(composition(
      {{ op.smem.swizzle }}{}, {{ op.smem.atom }}{}));
//{% endif %}
//{% if op.smem.stage_stride is none %}
  using SmemLayout{{ op.name }} = decltype(tile_to_shape(
      SmemLayoutAtom{{ op.name }}{}, Shape<Int<BLK_{{ op.mn }}>,Int<BLK_K>,Int<STAGES>>{}));  // (BLK_{{ op.mn }},BLK_K,PIPE)
//{% else %}
  using SmemLayout{{ op.name }} = decltype(append<3>(  // stages are padded to what the swizzle reaches
      tile_to_shape(SmemLayoutAtom{{ op.name }}{}, Shape<Int<BLK_{{ op.mn }}>,Int<BLK_K>>{}),
      Layout<Int<STAGES>,Int<{{ op.smem.stage_stride }}>>{}));  // (BLK_{{ op.mn }},BLK_K,PIPE)
//{% endif %}
//{% endfor %}
  static constexpr int SMEM_BYTES_A = {{ cute.smem_bytes_a }};  // sB begins here

  // Global to shared memory, one vector of one thread at a time
//{% for op in cute.operands %}
  using G2SCopy{{ op.name }} = decltype(make_tiled_copy(
      Copy_Atom<{{ op.g2s }}, Element{{ op.name }}>{},
      {{ op.g2s_threads }}{},
      {{ op.g2s_values }}{}));
//{% endfor %}
  static constexpr bool G2S_ASYNC_A = {{ cute.operands[0].g2s_async }};
  static constexpr bool G2S_ASYNC_B = {{ cute.operands[1].g2s_async }};

  // Shared memory to registers, in the arrangement that the TiledMma wants
//{% for op in cute.operands %}
  using S2RCopy{{ op.name }} = decltype(make_tiled_copy_{{ op.name }}(
      Copy_Atom<{{ op.s2r }}, Element{{ op.name }}>{}, TiledMma{}));
//{% endfor %}
//{% endif %}
//{% if store == "smem" %}

  // The output tile on its way through shared memory, its rows padded against bank conflicts
  using SmemLayoutD = {{ cute.smem_d }};  // (BLK_M,BLK_N)
//{% if cute.r2s_retiled %}
  using R2SCopyD = decltype(make_tiled_copy_C(
      Copy_Atom<{{ cute.r2s }}, ElementD>{}, TiledMma{}));
//{% endif %}
  using S2GCopyD = decltype(make_tiled_copy(
      Copy_Atom<{{ cute.s2g }}, ElementD>{},
      {{ cute.s2g_threads }}{},
      {{ cute.s2g_values }}{}));
//{% endif %}
};
