namespace {{ name }} {

// A multiply-add of the CUDA cores that widens its operands first: CuTe's UniversalFMA multiplies them
// in their own type, which would round every product.
template <class Accumulator, class Element>
struct WideningFMA : cute::UniversalFMA<Accumulator, Element, Element, Accumulator> {
  CUTE_HOST_DEVICE static void fma(Accumulator& d, Element const& a, Element const& b, Accumulator const& c) {
    d = Accumulator(a) * Accumulator(b) + c;
  }
};

}  // namespace {{ name }}

template <class Accumulator, class Element>
struct cute::MMA_Traits<{{ name }}::WideningFMA<Accumulator, Element>>
    : cute::MMA_Traits<cute::UniversalFMA<Accumulator, Element, Element, Accumulator>> {};
