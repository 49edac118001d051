// A matrix descriptor; offsets in units of 16 bytes add to its low bits.
template <class Operand>
CUTE_DEVICE uint64_t descriptor(uint32_t address) {
  constexpr uint64_t FIELDS = uint64_t(Operand::SWIZZLE_MODE) << 62 | uint64_t(Operand::STRIDE_BYTES / 16) << 32 |
                              uint64_t(Operand::LEADING_BYTES / 16) << 16;
  return FIELDS | (address & 0x3ffff) >> 4;
}

// An operation's accumulators as it takes them: f16 in pairs, integers without a sign.
using Accumulator = remove_extent<Config::Mma::CRegisters>::type;
static constexpr int ACCUMULATORS = extent<Config::Mma::CRegisters>::value;
