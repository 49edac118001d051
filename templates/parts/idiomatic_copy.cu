// Start the copy of one thread's part of a k-tile to shared memory; what tXpX masks becomes zero. cp.async
// does all of it by itself. Any other copy passes through the registers tXrX until finish_copy.
template <bool ASYNC, class G2SCopy, class TensorP, class TensorG, class TensorR, class TensorS>
CUTE_DEVICE void start_copy(G2SCopy const& g2s_copy, TensorP const& tXpX, TensorG const& tXgX, TensorR& tXrX,
                            TensorS&& tXsX) {
  if constexpr (ASYNC) {
    copy_if(g2s_copy, tXpX, tXgX, tXsX);
  } else {
    clear(tXrX);
    copy_if(g2s_copy, tXpX, tXgX, tXrX);
  }
}

template <bool ASYNC, class G2SCopy, class TensorR, class TensorS>
CUTE_DEVICE void finish_copy(G2SCopy const& g2s_copy, TensorR const& tXrX, TensorS&& tXsX) {
  if constexpr (!ASYNC) {
    copy(g2s_copy, tXrX, tXsX);
  }
}
