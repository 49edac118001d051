// Round to the output type. Integers saturate; floating-point types follow IEEE (f16 overflows to inf),
// but for the 8-bit ones, which saturate to their largest finite value as CUTLASS does.
template <class To, class From>
CUTE_DEVICE To convert(From x) {
  if constexpr (is_same_v<To, int32_t> && !is_same_v<From, int32_t>) {
    return is_same_v<From, double> ? __double2int_rn(double(x)) : __float2int_rn(float(x));
  } else if constexpr (sizeof(To) == 1 && is_integral<To>::value) {
    int low = is_same_v<To, int8_t> ? -128 : 0, high = is_same_v<To, int8_t> ? 127 : 255;
    return To(max(low, min(high, convert<int32_t>(x))));
//{% if element_d == "tfloat32_t" %}
  } else if constexpr (is_same_v<To, tfloat32_t> && !is_same_v<To, From>) {
    To y = To(float(x));  // half a unit of the last place is added
    y.storage &= 0xffffe000u;
    return y;
//{% endif %}
  } else if constexpr (is_same_v<To, double> || is_same_v<To, From>) {
    return To(x);
  } else {
    return To(float(x));
  }
}
