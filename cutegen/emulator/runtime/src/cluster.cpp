#include "cluster.hpp"

namespace cge {

bool run_engines() { return false; }

}  // namespace cge
