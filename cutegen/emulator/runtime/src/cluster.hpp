// What runs beside the threads (bulk copies, warpgroup products), and barriers that count more than threads.
#pragma once

#include <string>

#include "machine.hpp"

namespace cge {

void begin_cluster_barrier(Cluster& cluster);
void begin_barriers(Cta& cta);
void begin_products(Cta const& cta);
void forget_loads(Cluster const& cluster);
void forget_remotes(Cluster const& cluster);
void forget_stores(Fiber& f);
void forget_products(Fiber& f);

// Lets one bulk load, or one store to another CTA, that has been issued take place. False if there is none.
bool run_engines();
bool run_remotes();
// A thread returns: its stores have to take place.
void finish_bulk(Fiber& f);

// leaving.cpp: what CTAs of a cluster do in each other's shared memory must be over before its owner returns.
void begin_visits(Cta& cta);
void end_visits(Cta& cta);
void visit(uint32_t address, char const* what);           // the current thread's
bool reaches(Cta const& cta, char const* what);          // an asynchronous one of the current thread takes place
void leave_cta(Fiber& f);
// Whoever uses an mbarrier must come behind its initialisation; `proxy`: the asynchronous proxy uses it, too.
void check_initialised(uint32_t at, char const* what, bool proxy);

// Bytes of an asynchronous copy have arrived; `clock` is the proxy's of that CTA.
void mbarrier_complete(uint32_t at, uint32_t bytes, Cta const& cta, uint32_t clock);
// What a deadlock's report says of the mbarrier that a thread waits for; empty if it waits for none.
std::string describe_mbarrier(Fiber const& f);

}  // namespace cge
