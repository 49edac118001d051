#pragma once

#include "machine.hpp"

namespace cge {

// Ends a barrier that all living threads have reached, though it was meant for more.
void complete_after_exit(Cta& cta, NamedBarrier& b);

}  // namespace cge
