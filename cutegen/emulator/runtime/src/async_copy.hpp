// cp.async: copies that run behind the back of the thread that issued them.
#pragma once

#include "machine.hpp"

namespace cge {

// A thread returns with copies that nobody has waited for: they still land.
void drop_async_copies(Fiber& f);
// The thread never ends.
void forget_async(Fiber& f);

}  // namespace cge
