// CUTLASS's own GEMMs of sm_90, built by its collective builders and launched by its device adapter. Macros choose
// ELEMENT, SCHEDULE (of the mainloop), EPILOGUE (its schedule), SCHEDULER (of tiles), TILE and CLUSTER; STREAMED says
// that the scheduler is the one of stream-K, whose splits are the fourth argument.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cute/tensor.hpp>
#include <cutlass/cutlass.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/device_memory.h>
#include <cutlass/util/packed_stride.hpp>

#ifndef SCHEDULER
#define SCHEDULER PersistentScheduler
#endif
#ifndef TILE
#define TILE 64, 128, 64
#endif
#ifndef CLUSTER
#define CLUSTER 1, 1, 1
#endif
#ifndef OUTPUT
#define OUTPUT cutlass::bfloat16_t
#endif
#ifndef ACCUMULATOR
#define ACCUMULATOR float
#endif

template <int... N>
using Extents = cute::Shape<cute::Int<N>...>;

using Element = ELEMENT;
using Output = OUTPUT;
constexpr int kAlign = 128 / cutlass::sizeof_bits<Element>::value, kAlignD = 128 / cutlass::sizeof_bits<Output>::value;

using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Extents<TILE>, Extents<CLUSTER>,
    cutlass::epilogue::collective::EpilogueTileAuto, ACCUMULATOR, float, Output, cutlass::layout::RowMajor, kAlignD, Output,
    cutlass::layout::RowMajor, kAlignD, cutlass::epilogue::EPILOGUE>::CollectiveOp;
using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
    cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, cutlass::layout::RowMajor, kAlign, Element,
    cutlass::layout::ColumnMajor, kAlign, ACCUMULATOR, Extents<TILE>, Extents<CLUSTER>,
    cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
    cutlass::gemm::SCHEDULE>::CollectiveOp;
using Kernel =
    cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue, cutlass::gemm::SCHEDULER>;
using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

template <class T>
std::vector<T> random_values(size_t n, unsigned s) {
  std::vector<T> v(n);
  for (T& x : v) {
    s = s * 1664525u + 1013904223u;
    x = T(float(int(s >> 24) % 3 - 1));
  }
  return v;
}

int main(int argc, char** argv) {
  int const m = argc > 1 ? atoi(argv[1]) : 256, n = argc > 2 ? atoi(argv[2]) : 256, k = argc > 3 ? atoi(argv[3]) : 128;
  float const alpha = 2.0f, beta = 1.0f;
  auto a = random_values<Element>(size_t(m) * k, 1), b = random_values<Element>(size_t(n) * k, 2);
  auto c = random_values<Output>(size_t(m) * n, 3);
  cutlass::DeviceAllocation<Element> da(a.size()), db(b.size());
  cutlass::DeviceAllocation<Output> dc(c.size()), dd(c.size());
  da.copy_from_host(a.data());
  db.copy_from_host(b.data());
  dc.copy_from_host(c.data());
  auto stride_a = cutlass::make_cute_packed_stride(typename Kernel::StrideA{}, {m, k, 1});
  auto stride_b = cutlass::make_cute_packed_stride(typename Kernel::StrideB{}, {n, k, 1});
  auto stride_c = cutlass::make_cute_packed_stride(typename Kernel::StrideC{}, {m, n, 1});
  auto stride_d = cutlass::make_cute_packed_stride(typename Kernel::StrideD{}, {m, n, 1});
  typename Gemm::Arguments arguments{cutlass::gemm::GemmUniversalMode::kGemm,
                                     {m, n, k, 1},
                                     {da.get(), stride_a, db.get(), stride_b},
                                     {{alpha, beta}, dc.get(), stride_c, dd.get(), stride_d}};
  arguments.hw_info.sm_count = cutlass::KernelHardwareInfo::query_device_multiprocessor_count(0);
#ifdef STREAMED
  int const splits = argc > 4 ? atoi(argv[4]) : 1;
  arguments.scheduler.splits = splits;
  using Mode = decltype(arguments.scheduler.decomposition_mode);
  arguments.scheduler.decomposition_mode = splits > 1 ? Mode::SplitK : Mode::StreamK;
#endif
  Gemm gemm;
  cutlass::DeviceAllocation<uint8_t> workspace(Gemm::get_workspace_size(arguments));
  auto check = [](cutlass::Status s, char const* what) {
    if (s == cutlass::Status::kSuccess) { return; }
    std::printf("%s: %s\n", what, cutlass::cutlassGetStatusString(s));
    exit(2);
  };
  check(gemm.can_implement(arguments), "can_implement");
  check(gemm.initialize(arguments, workspace.get()), "initialize");
  check(gemm.run(), "run");
  if (cudaDeviceSynchronize() != cudaSuccess) { return 3; }
  std::vector<Output> d(c.size());
  dd.copy_to_host(d.data());
  int bad = 0;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int x = 0; x < k; ++x) { sum += float(a[size_t(i) * k + x]) * float(b[size_t(j) * k + x]); }
      float const want = float(Output(alpha * sum + beta * float(c[size_t(i) * n + j])));
      if (float(d[size_t(i) * n + j]) != want && bad++ < 4) {
        std::printf("(%d,%d) is %g, not %g\n", i, j, float(d[size_t(i) * n + j]), want);
      }
    }
  }
  std::printf("%d wrong, %d CTAs\n", bad, int(Gemm::get_grid_shape(gemm.params()).x));
  return bad != 0;
}
