// CUTLASS 2.x device::Gemm for sm_80, bf16 in and out, f32 accumulation, A and B K-major: the peer that
// speed_sm80.py builds once for each tile. TB_*, WARP_* and STAGES come from the command line.
#include <cutlass/gemm/device/gemm.h>

using Element = cutlass::bfloat16_t;
using Gemm = cutlass::gemm::device::Gemm<
    Element, cutlass::layout::RowMajor, Element, cutlass::layout::ColumnMajor, Element, cutlass::layout::RowMajor,
    float, cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<TB_M, TB_N, TB_K>, cutlass::gemm::GemmShape<WARP_M, WARP_N, TB_K>,
    cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombination<Element, 8, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, STAGES>;

extern "C" int launch(void* d, void const* a, void const* b, int m, int n, int k, void* stream) {
  Gemm gemm;
  auto* out = static_cast<Element*>(d);
  cutlass::Status status = gemm(
      {{m, n, k}, {static_cast<Element const*>(a), k}, {static_cast<Element const*>(b), k}, {out, n}, {out, n}, {1.f, 0.f}},
      nullptr, static_cast<cudaStream_t>(stream));
  return static_cast<int>(status);
}
