// A leading stride in the place of a CuTe stride's one that is not static; batches are not used.
template <class Stride>
Stride stride_of(int64_t leading) {
  Stride stride{};
  if constexpr (is_static<decltype(get<0>(stride))>::value) {
    get<1>(stride) = leading;
  } else {
    get<0>(stride) = leading;
  }
  return stride;
}

// A single run of a matrix has no leading stride of its own; a tensor map wants one all the same.
inline int64_t leading_of(int64_t leading, int runs, int run, int align) {
  return runs > 1 ? leading : int64_t(run + align - 1) / align * align;
}

template <class Layout>
inline constexpr bool is_row_major = is_same_v<Layout, cutlass::layout::RowMajor>;

template <class Layout>
int64_t leading_of(Layout, int64_t leading, int rows, int columns, int align) {
  return is_row_major<Layout> ? leading_of(leading, rows, columns, align) : leading_of(leading, columns, rows, align);
}

template <class Scheduler>
void order_tiles(Scheduler& scheduler, int group) {
  if constexpr (Config::ORDERED) {
    using Order = decltype(scheduler.raster_order);
    scheduler.raster_order = Config::RASTER_ALONG_M ? Order::AlongM : Order::AlongN;
    scheduler.max_swizzle_size = group > 0 ? group : Config::MAX_SWIZZLE;
  }
  if constexpr (Config::STREAM_K) {
    scheduler.decomposition_mode = decltype(scheduler.decomposition_mode)::StreamK;
  }
}

inline typename Gemm::Arguments arguments_of(CutegenParams const& p, CutegenMachine const& machine) {
  using C = Config;
  int64_t const lda = leading_of(C::LayoutA{}, p.lda, p.m, p.k, C::ALIGN_A);
  int64_t const ldb = leading_of(C::LayoutB{}, p.ldb, p.k, p.n, C::ALIGN_B);
  int64_t const ldd = leading_of(C::LayoutD{}, p.ldd, p.m, p.n, C::ALIGN_D);
  // Without beta C may be null, which a tensor map may not be: D stands in for it, and nothing is read.
  bool const reads_c = p.beta != 0;
  int const run_c = is_row_major<C::LayoutC> ? p.n : p.m;
  int64_t const ldc = reads_c ? leading_of(C::LayoutC{}, p.ldc, p.m, p.n, C::ALIGN_C)
                              : leading_of(0, 1, run_c, C::ALIGN_C);
  typename Gemm::Arguments arguments{};
  arguments.mode = cutlass::gemm::GemmUniversalMode::kGemm;
  arguments.problem_shape = {p.m, p.n, p.k, 1};
  arguments.mainloop = {static_cast<C::ElementA const*>(p.a), stride_of<typename Gemm::StrideA>(lda),
                        static_cast<C::ElementB const*>(p.b), stride_of<typename Gemm::StrideB>(ldb)};
//{% if tree %}
  arguments.epilogue.thread = fusion_arguments(p);
//{% else %}
  arguments.epilogue.thread.alpha = C::Scale(p.alpha);
  arguments.epilogue.thread.beta = C::Scale(p.beta);
//{% endif %}
  arguments.epilogue.ptr_C = static_cast<C::ElementC const*>(reads_c ? p.c : p.d);
  arguments.epilogue.dC = stride_of<typename Gemm::StrideC>(ldc);
  arguments.epilogue.ptr_D = static_cast<C::ElementD*>(p.d);
  arguments.epilogue.dD = stride_of<typename Gemm::StrideD>(ldd);
  arguments.hw_info.sm_count = machine.multiprocessors;
  arguments.hw_info.max_active_clusters = machine.clusters;
  order_tiles(arguments.scheduler, p.group);
  return arguments;
}

// False: the collectives do not take the problem, because its rows are not aligned as Config says.
inline bool prepare(CutegenParams const& p, CutegenMachine const& machine, void* workspace, cudaStream_t stream,
                    CutegenPrepared& out) {
  auto const arguments = arguments_of(p, machine);
  if (!Gemm::can_implement(arguments)) { return false; }
  out.workspace_bytes = Gemm::get_workspace_size(arguments);
  if (workspace != nullptr && Gemm::initialize_workspace(arguments, workspace, stream) != cutlass::Status::kSuccess) {
    return false;
  }
  using Params = typename Gemm::Params;
  auto* params = ::new (static_cast<void*>(out.parameters)) Params(Gemm::to_underlying_arguments(arguments, workspace));
  dim3 const grid = Gemm::get_grid_shape(*params);
  out.grid[0] = grid.x;
  out.grid[1] = grid.y;
  out.grid[2] = grid.z;
  return true;
}
