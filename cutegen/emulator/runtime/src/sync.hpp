// Accesses whose order other threads may rely on.
#pragma once

#include "machine.hpp"

namespace cge {

// The compiler's hook for an access of a volatile object, which follows.
void volatile_access(void* p, uint32_t bytes, bool write, void* pc);

}  // namespace cge
