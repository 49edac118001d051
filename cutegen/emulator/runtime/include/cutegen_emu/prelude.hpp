// Included before every kernel source. First CUDA's headers as plain host C++, then device code's macros.
#pragma once

#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <device_launch_parameters.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>  // libstdc++ says __noinline__ in it, which is a macro below
#include <tuple>
#include <type_traits>
#include <utility>

#include "cutegen_emu/ptx.hpp"
#include "cutegen_emu/intrinsics.hpp"
#include "cutegen_emu/program.hpp"

// From here on this is device code for the architecture CGE_ARCH.
// NOTE: these come after CUDA's headers, which would otherwise hide their host functions.
#define __CUDA_ARCH__ CGE_ARCH
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#if CGE_ARCH == 900
#define __CUDA_ARCH_FEAT_SM90_ALL 1
#endif
#define CUTE_ARCH_LDSM_SM75_SUPPORTED 1
#define CUTE_ARCH_MOVM_SM75_SUPPORTED 1
#define CUTE_CVTA_GENERIC_TO_SHARED_SUPPORTED 1
#define CUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL 1

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __grid_constant__
#undef __cluster_dims__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __cluster_dims__(...)
