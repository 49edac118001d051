//{% if combination %}
// What the builder makes of this schedule, but for the combination.
using Epilogue = cutlass::epilogue::collective::detail::Sm90TmaWarpSpecializedAdapter<
    cutlass::epilogue::collective::DefaultEpilogue<
        Config::ElementC, cutlass::detail::TagToStrideC_t<Config::LayoutC>,
        cutlass::detail::TagToStrideC_t<Config::LayoutD>, Rounded, cutlass::gemm::EpilogueDefault>>;
//{% else %}
using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    Config::ArchTag, cutlass::arch::OpClassTensorOp, Config::TileShape, Config::ClusterShape,
    cutlass::epilogue::collective::EpilogueTileAuto, Config::Accumulator, Config::Scale,
    Config::ElementC, Config::LayoutC, Config::ALIGN_C,
    Config::ElementD, Config::LayoutD, Config::ALIGN_D, Config::EpilogueSchedule{{ ", Fusion" if tree }}>::CollectiveOp;
//{% endif %}

using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    Config::ArchTag, cutlass::arch::OpClassTensorOp,
    Config::ElementA, Config::LayoutA, Config::ALIGN_A,
    Config::ElementB, Config::LayoutB, Config::ALIGN_B, Config::Accumulator,
    Config::TileShape, Config::ClusterShape,
    Config::Stages<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>, Config::KernelSchedule>::CollectiveOp;

using Gemm = cutlass::gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue, Config::TileScheduler>;

static_assert(Gemm::SharedStorageSize <= Config::SMEM_BYTES, "the launcher asks for too little shared memory");
static_assert(Gemm::MaxThreadsPerBlock == Config::THREADS, "the launcher launches another number of threads");
static_assert(sizeof(typename Gemm::Params) <= sizeof(CutegenPrepared::parameters), "the parameters are too many");
