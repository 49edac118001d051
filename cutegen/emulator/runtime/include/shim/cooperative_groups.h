// Stands in for CUDA's cooperative groups: the CTA, tiles of a warp, the cluster and the grid.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "cutegen_emu/ptx.hpp"

namespace cooperative_groups {

class thread_block {
 public:
  static void sync() { cge::bar_sync(0, 0); }
  static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
  static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  static unsigned num_threads() { return size(); }
  static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  static dim3 group_dim() { return blockDim; }
  static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// Size lanes of a warp that are neighbours.
template <unsigned Size, class Parent = thread_block>
class thread_block_tile {
 public:
  static_assert(Size <= 32 && (Size & (Size - 1)) == 0, "a tile is a part of a warp");
  static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
  static void sync() { cge::warp_sync(mask()); }
  template <class T>
  static T shfl(T v, int lane) { return __shfl_sync(mask(), v, lane, Size); }
  template <class T>
  static T shfl_up(T v, unsigned delta) { return __shfl_up_sync(mask(), v, delta, Size); }
  template <class T>
  static T shfl_down(T v, unsigned delta) { return __shfl_down_sync(mask(), v, delta, Size); }
  template <class T>
  static T shfl_xor(T v, unsigned lanes) { return __shfl_xor_sync(mask(), v, lanes, Size); }
  static unsigned ballot(int p) { return (__ballot_sync(mask(), p) & mask()) >> first(); }
  static int any(int p) { return ballot(p) != 0; }
  static int all(int p) { return ballot(!p) == 0; }
  template <class T>
  static unsigned match_any(T v) { return (__match_any_sync(mask(), v) & mask()) >> first(); }

 private:
  static unsigned first() { return thread_block::thread_rank() % 32 / Size * Size; }
  static unsigned mask() { return (Size == 32 ? ~0u : (1u << Size % 32) - 1u) << first(); }
};
template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(Parent const&) { return {}; }

class grid_group {
 public:
  static void sync() { cge::grid_sync(); }
  static bool is_valid() { return cge::grid_can_sync(); }
  static unsigned long long block_rank() {
    return blockIdx.x + static_cast<unsigned long long>(gridDim.x) * (blockIdx.y + gridDim.y * blockIdx.z);
  }
  static unsigned long long num_blocks() { return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z; }
  static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned long long size() { return num_blocks() * thread_block::size(); }
  static unsigned long long num_threads() { return size(); }
  static dim3 dim_blocks() { return gridDim; }
  static dim3 group_dim() { return gridDim; }
};
inline grid_group this_grid() { return {}; }

class cluster_group {
 public:
  struct arrival_token {};
  static void sync() {
    cge::cluster_arrive();
    cge::cluster_wait();
  }
  static arrival_token barrier_arrive() {
    cge::cluster_arrive();
    return {};
  }
  static void barrier_wait(arrival_token = {}) { cge::cluster_wait(); }
  static unsigned block_rank() { return cge::special_cluster_ctarank(); }
  static unsigned num_blocks() { return cge::special_cluster_nctarank(); }
  static unsigned thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  static unsigned num_threads() { return num_blocks() * thread_block::size(); }
  static unsigned size() { return num_threads(); }
  template <class T>
  static T* map_shared_rank(T* p, int rank) {
    return static_cast<T*>(
        cge::shared_pointer(cge::mapa(cge::to_shared(reinterpret_cast<uintptr_t>(p)), unsigned(rank))));
  }
};
inline cluster_group this_cluster() { return {}; }

template <class Group>
void sync(Group const& g) { g.sync(); }

}  // namespace cooperative_groups
