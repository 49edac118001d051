// mma.sync: the 32 lanes' registers become small matrices, which are multiplied and taken apart again.
// Lane layouts are those of the PTX ISA, "Matrix Fragments for mma.mXnYkZ", and not CuTe's traits, so that a
// wrong trait shows.
#include <cstring>
#include <string>
#include <type_traits>

#include "counts.hpp"
#include "mma.hpp"
#include "numeric.hpp"
#include "report.hpp"

namespace cge {

namespace {

constexpr int kMaxK = 64;

constexpr int bits_of(Type t) {
  switch (t) {
    case Type::f16: case Type::bf16: return 16;
    case Type::tf32: case Type::f32: case Type::s32: return 32;
    case Type::f64: return 64;
    case Type::s8: case Type::u8: case Type::e4m3: case Type::e5m2: return 8;
    case Type::s4: case Type::u4: return 4;
    default: return 0;
  }
}

char const* name_of(Type t) {
  static char const* const names[] = {"?", "f16", "bf16", "tf32", "f32", "f64", "s8",
                                      "u8", "s4", "u4", "b1", "e4m3", "e5m2", "s32"};
  return names[int(t)];
}

std::string mma_name(uint64_t code) {
  auto type = [&](int shift) { return std::string(name_of(Type(code >> shift & 15))); };
  return "mma.sync m" + std::to_string(code >> 40 & 255) + "n" + std::to_string(code >> 32 & 255) + "k" +
         std::to_string(code >> 16 & 0xffff) + " " + type(12) + "." + type(8) + "." + type(4) + "." + type(0);
}

uint64_t packed(MmaCode const& c) {
  return uint64_t(c.saturate) << 48 | uint64_t(c.m) << 40 | uint64_t(c.n) << 32 | uint64_t(c.k) << 16 | uint64_t(c.d) << 12 | uint64_t(c.a) << 8 |
         uint64_t(c.b) << 4 | c.c;
}

// The elements of one 32-bit register.
template <Type t>
inline void decode_word(uint32_t w, float* to) {
  if constexpr (t == Type::f16) {
    to[0] = from_f16(uint16_t(w));
    to[1] = from_f16(uint16_t(w >> 16));
  } else if constexpr (t == Type::bf16) {
    to[0] = from_bf16(uint16_t(w));
    to[1] = from_bf16(uint16_t(w >> 16));
  } else if constexpr (t == Type::tf32) {  // the tensor core ignores the low 13 bits
    to[0] = float_of_bits(w & 0xffffe000u);
  } else {
    float const* table = t == Type::e4m3 ? fp8_table().e4m3 : fp8_table().e5m2;
    for (int e = 0; e < 4; ++e) { to[e] = table[w >> 8 * e & 255]; }
  }
}

template <Type t>
inline void decode_word(uint32_t w, int32_t* to) {
  if constexpr (t == Type::s8 || t == Type::u8) {
    for (int e = 0; e < 4; ++e) { to[e] = t == Type::s8 ? int8_t(w >> 8 * e) : uint8_t(w >> 8 * e); }
  } else {
    for (int e = 0; e < 8; ++e) {
      int const v = int(w >> 4 * e & 15);
      to[e] = t == Type::s4 && v >= 8 ? v - 16 : v;
    }
  }
}

// A and B of one warp: register r of lane (4 * g + i) holds `per` elements along K from chunk * 4 * per + i * per;
// A's registers alternate between rows g and g + 8, B's column is g.
template <class T>
struct Operands {
  alignas(64) T a[16][kMaxK];
  alignas(64) T b[kMaxK][8];
  alignas(64) T c[16][8];
};

template <Type t, class T>
void load_a(MmaCode const& code, void const* const* lanes, int at, int count, Operands<T>& o) {
  int const per = 32 / bits_of(t), row_registers = code.m / 8;
  for (int l = 0; l < 32; ++l) {
    auto* registers = static_cast<void const* const*>(lanes[l]) + at;
    for (int r = 0; r < count; ++r) {
      uint32_t w;
      std::memcpy(&w, registers[r], 4);
      decode_word<t>(w, &o.a[l / 4 + 8 * (r % row_registers)][(r / row_registers * 4 + l % 4) * per]);
    }
  }
}

template <Type t, class T>
void load_b(MmaCode const&, void const* const* lanes, int at, int count, Operands<T>& o) {
  int const per = 32 / bits_of(t);
  for (int l = 0; l < 32; ++l) {
    auto* registers = static_cast<void const* const*>(lanes[l]) + at;
    for (int r = 0; r < count; ++r) {
      uint32_t w;
      std::memcpy(&w, registers[r], 4);
      T column[8];
      decode_word<t>(w, column);
      for (int e = 0; e < per; ++e) { o.b[(r * 4 + l % 4) * per + e][l / 4] = column[e]; }
    }
  }
}

template <Type... types, class T, class Load>
void with_type(Type t, Operands<T>&, Load load) {
  ((t == types ? load(std::integral_constant<Type, types>{}) : void()), ...);
}

template <Type... types, class T>
void load_ab(MmaCode const& code, void const* const* lanes, int a_at, int a_count, int b_at, int b_count,
             Operands<T>& o) {
  with_type<types...>(Type(code.a), o, [&](auto t) { load_a<t.value>(code, lanes, a_at, a_count, o); });
  with_type<types...>(Type(code.b), o, [&](auto t) { load_b<t.value>(code, lanes, b_at, b_count, o); });
}

// C += A * B, four rows of eight columns at a time.
template <class T>
void multiply(int m, int k, Operands<T>& o) {
  typedef T Row __attribute__((vector_size(8 * sizeof(T))));
  for (int row = 0; row < m; row += 4) {
    Row sum[4];
    std::memcpy(sum, o.c[row], sizeof sum);
    for (int i = 0; i < k; ++i) {
      Row b;
      std::memcpy(&b, o.b[i], sizeof b);
      for (int r = 0; r < 4; ++r) { sum[r] += o.a[row + r][i] * b; }
    }
    std::memcpy(o.c[row], sum, sizeof sum);
  }
}

// Accumulators: register r of lane (4 * g + i) is row g + 8 * (r / 2), column 2 * i + r % 2; f16 packs two.
template <class T, class Visit>
void for_accumulators(MmaCode const& code, int l, Operands<T>& o, Visit visit) {
  int const g = l / 4, i = l % 4;
  for (int r = 0; r < code.m / 4; ++r) { visit(r, o.c[g + 8 * (r / 2)][2 * i + r % 2]); }
}

void load_c(MmaCode const& code, void const* const* lanes, int at, Operands<float>& o) {
  for (int l = 0; l < 32; ++l) {
    auto* registers = static_cast<void const* const*>(lanes[l]) + at;
    for_accumulators(code, l, o, [&](int r, float& x) {
      if (Type(code.c) == Type::f16) {
        uint16_t h[2];
        std::memcpy(h, registers[r / 2], 4);
        x = from_f16(h[r % 2]);
      } else {
        std::memcpy(&x, registers[r], 4);
      }
    });
  }
}

void store_d(MmaCode const& code, void const* const* lanes, Operands<float>& o) {
  for (int l = 0; l < 32; ++l) {
    auto* registers = static_cast<void const* const*>(lanes[l]);
    for_accumulators(code, l, o, [&](int r, float& x) {
      if (Type(code.d) == Type::f16) {
        uint16_t const h = to_f16(x);
        std::memcpy(static_cast<char*>(const_cast<void*>(registers[r / 2])) + 2 * (r % 2), &h, 2);
      } else {
        std::memcpy(const_cast<void*>(registers[r]), &x, 4);
      }
    });
  }
}

template <class T>
void move_plain(MmaCode const& code, void const* const* lanes, int at, bool store, Operands<T>& o) {
  for (int l = 0; l < 32; ++l) {
    auto* registers = static_cast<void const* const*>(lanes[l]) + at;
    for_accumulators(code, l, o, [&](int r, T& x) {
      if (store) {
        std::memcpy(const_cast<void*>(registers[r]), &x, sizeof(T));
      } else {
        std::memcpy(&x, registers[r], sizeof(T));
      }
    });
  }
}

struct Shape {
  int d, a, b, c;  // registers of a lane
};

Shape shape_of(MmaCode const& code) {
  auto words = [](int elements, Type t) { return elements * bits_of(t) / (t == Type::f64 ? 64 : 32) / 32; };
  return {words(code.m * code.n, Type(code.d)), words(code.m * code.k, Type(code.a)),
          words(code.n * code.k, Type(code.b)), words(code.m * code.n, Type(code.c))};
}

void execute_float(MmaCode const& code, Shape const& s, void const* const* lanes) {
  Operands<float> o;
  load_ab<Type::f16, Type::bf16, Type::tf32, Type::e4m3, Type::e5m2>(code, lanes, s.d, s.a, s.d + s.a, s.b, o);
  load_c(code, lanes, s.d + s.a + s.b, o);
  multiply(code.m, code.k, o);
  store_d(code, lanes, o);
}

void execute_integer(MmaCode const& code, Shape const& s, void const* const* lanes) {
  Operands<int32_t> o;
  load_ab<Type::s8, Type::u8, Type::s4, Type::u4>(code, lanes, s.d, s.a, s.d + s.a, s.b, o);
  move_plain(code, lanes, s.d + s.a + s.b, false, o);
  if (code.saturate) {
    for (int row = 0; row < code.m; ++row) {
      for (int n = 0; n < 8; ++n) {
        int64_t sum = o.c[row][n];
        for (int i = 0; i < code.k; ++i) { sum += int64_t(o.a[row][i]) * o.b[i][n]; }
        o.c[row][n] = int32_t(std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX));
      }
    }
  } else {
    multiply(code.m, code.k, o);
  }
  move_plain(code, lanes, 0, true, o);
}

void execute_double(MmaCode const& code, Shape const& s, void const* const* lanes) {
  Operands<double> o;
  int const row_registers = code.m / 8;
  for (int l = 0; l < 32; ++l) {
    auto* registers = static_cast<void const* const*>(lanes[l]);
    for (int r = 0; r < s.a; ++r) {
      std::memcpy(&o.a[l / 4 + 8 * (r % row_registers)][r / row_registers * 4 + l % 4], registers[s.d + r], 8);
    }
    for (int r = 0; r < s.b; ++r) { std::memcpy(&o.b[r * 4 + l % 4][l / 4], registers[s.d + s.a + r], 8); }
  }
  move_plain(code, lanes, s.d + s.a + s.b, false, o);
  multiply(code.m, code.k, o);
  move_plain(code, lanes, 0, true, o);
}

// A lane passes registers that it has never written. One word may hold the poison by chance, several do not.
void check_initialised(Warp& warp, MmaCode const& code, Shape const& s, void const* const* lanes) {
  static char const* const names[] = {"A", "B", "C"};
  int const ends[] = {s.d + s.a, s.d + s.a + s.b, s.d + s.a + s.b + s.c};
  int at = s.d;
  for (int which = 0; which < 3; ++which) {
    int poisoned = 0, lane = 0;
    for (int l = 0; l < 32; ++l) {
      auto* registers = static_cast<void const* const*>(lanes[l]);
      for (int r = at; r < ends[which]; ++r) {
        uint32_t w;
        std::memcpy(&w, registers[r], 4);
        if (w == kPoison && poisoned++ == 0) { lane = l; }
      }
    }
    at = ends[which];
    if (poisoned < 2) { continue; }
    Fiber* const last = current;
    current = warp.lanes[lane];
    Finding f{"uninitialised-fragment"};
    f.pc = last->pc;
    f.tensor = std::string("fragment of ") + names[which];
    f.message = mma_name(packed(code)) + " reads registers of " + names[which] + " that were never written (" +
                std::to_string(poisoned) + " of the warp's)";
    report(std::move(f));
    current = last;
  }
}

struct Call {
  MmaCode code;
  void const* const* registers;
};

void execute(Warp& warp, uint32_t, void const* const* calls) {
  MmaCode const& code = static_cast<Call const*>(calls[0])->code;
  void const* lanes[32];
  for (int l = 0; l < 32; ++l) { lanes[l] = static_cast<Call const*>(calls[l])->registers; }
  Shape const s = shape_of(code);
  if (kSanitize) {
    check_initialised(warp, code, s, lanes);
    count_instruction(site_index(current->pc), packed(code), mma_name);
  }
  if (Type(code.a) == Type::f64) {
    execute_double(code, s, lanes);
  } else if (Type(code.c) == Type::s32) {
    execute_integer(code, s, lanes);
  } else {
    execute_float(code, s, lanes);
  }
}

}  // namespace

Fp8Table const& fp8_table() {
  static Fp8Table const table = [] {
    Fp8Table t;
    for (int v = 0; v < 256; ++v) {
      t.e4m3[v] = from_e4m3(uint8_t(v));
      t.e5m2[v] = from_e5m2(uint8_t(v));
    }
    return t;
  }();
  return table;
}

void mma(MmaCode code, Registers operands) {
  CGE_HERE();
  if (code.n != 8 || (code.m != 8 && code.m != 16) || code.k > kMaxK || !bits_of(Type(code.a))) {
    unsupported(("mma.sync " + mma_name(packed(code))).c_str());
  }
  Call mine{code, operands.begin()};
  collective("mma.sync", (uint64_t(0x80) << 56) | packed(code), ~0u, &mine, execute);
}

}  // namespace cge
