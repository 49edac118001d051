// A swizzle that is evaluated at each access. CuTe takes its own Swizzle apart when a tensor is sliced,
// which needs extents and strides that are powers of two below the swizzle's period; here some are not.
template <int B, int M, int S>
struct EvaluatedSwizzle {
  template <class Offset>
  CUTE_HOST_DEVICE constexpr auto operator()(Offset const& offset) const {
    return Swizzle<B,M,S>::apply(offset);
  }
};

template <int B, int M, int S, class Layout>
CUTE_HOST_DEVICE constexpr auto composition(EvaluatedSwizzle<B,M,S> const& swizzle, Layout const& layout) {
  return composition(swizzle, Int<0>{}, layout);
}

template <int N, int B, int M, int S, class Offset, class Layout>
CUTE_HOST_DEVICE constexpr auto
upcast(ComposedLayout<EvaluatedSwizzle<B,M,S>,Offset,Layout> const& layout) {
  using Upcast = EvaluatedSwizzle<B,M - int(log_2(unsigned(N))),S>;
  return composition(Upcast{}, layout.offset() / Int<N>{}, upcast<N>(layout.layout_b()));
}

template <int B, int M, int S, class Offset, class Layout>
CUTE_HOST_DEVICE constexpr auto
make_fragment_like(ComposedLayout<EvaluatedSwizzle<B,M,S>,Offset,Layout> const& layout) {
  return make_fragment_like(layout.layout_b());
}
