// How an element of D comes of its sum and its element of C, if that is read.
using Combination = cutlass::epilogue::thread::LinearCombination<
    Config::Scale, 1, Config::Accumulator, Config::Scale, cutlass::epilogue::thread::ScaleType::Default,
    cutlass::FloatRoundStyle::round_to_nearest, Config::ElementC>;

// Half to even, and within the range of D: CUTLASS converts double to integers by cutting off.
struct Rounded : Combination {
  using ElementOutput = Config::ElementD;
  using ElementD      = Config::ElementD;

  using Combination::Combination;

  template <class... Inputs>
  CUTLASS_DEVICE ElementD operator()(Inputs const... inputs) const {
    return __double2int_rn(Combination::operator()(inputs...));
  }
};
