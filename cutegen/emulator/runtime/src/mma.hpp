#pragma once

namespace cge {

struct Fp8Table {
  float e4m3[256], e5m2[256];
};
Fp8Table const& fp8_table();

}  // namespace cge
