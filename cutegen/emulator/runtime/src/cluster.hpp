// What runs beside the threads (bulk copies, warpgroup products), and barriers that count more than threads.
#pragma once

#include "machine.hpp"

namespace cge {

// Forgets the barriers, copies and products of the cluster that ran before.
void begin_cluster();
void begin_barriers();
void begin_bulk();
void begin_products();

// Lets one asynchronous operation that has been issued take place. False if there is none.
bool run_engines();
// A thread returns: its stores have to take place.
void finish_bulk(Fiber& f);

// Bytes of an asynchronous copy have arrived; `clock` is the proxy's of that CTA.
void mbarrier_complete(uint32_t at, uint32_t bytes, Cta const& cta, uint32_t clock);

}  // namespace cge
