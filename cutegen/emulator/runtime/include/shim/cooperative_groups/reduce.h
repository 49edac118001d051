// Stands in for CUDA's reductions over tiles of a warp.
#pragma once

#include <cooperative_groups.h>

namespace cooperative_groups {

template <class T>
struct plus {
  T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct less {
  T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T>
struct greater {
  T operator()(T a, T b) const { return a < b ? b : a; }
};

template <unsigned Size, class Parent, class T, class Op>
T reduce(thread_block_tile<Size, Parent> const& tile, T v, Op op) {
  for (unsigned lanes = Size / 2; lanes; lanes /= 2) { v = op(v, tile.shfl_xor(v, lanes)); }
  return v;
}

}  // namespace cooperative_groups
