// What runs beside the threads: bulk copies and warpgroup products.
#pragma once

#include "machine.hpp"

namespace cge {

// Lets one asynchronous operation that has been issued take place. False if there is none.
bool run_engines();

}  // namespace cge
