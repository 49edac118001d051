// What the scheduler asks of the rest when no thread can run.
#pragma once

#include "machine.hpp"

namespace cge {

// Every living thread waits. Lets asynchronous engines make progress, or reports why nothing can.
// Returns whether some thread may run now.
bool resolve_stall();

}  // namespace cge
