// The precompiled part: what the kernels of one family of architectures include.
#include "cutegen_emu/prelude.hpp"

#include <cute/swizzle.hpp>
#include <cute/tensor_impl.hpp>
#include <cute/arch/copy_sm80.hpp>
#include <cute/atom/copy_traits_sm75.hpp>
#include <cute/atom/copy_traits_sm80.hpp>
#include <cute/atom/mma_traits_sm75.hpp>
#include <cute/atom/mma_traits_sm80.hpp>
#include <cute/atom/mma_traits_sm89.hpp>
