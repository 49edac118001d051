// Runs clusters of CTAs, and what the scheduler asks of the rest when no thread can run.
#pragma once

#include "machine.hpp"

namespace cge {

// Takes clusters from `take` (false: there are no more) and runs them, one after another where it can; when all that
// run wait, the next one joins them. Returns when all have ended, or after a fatal finding.
void run_clusters(bool (*take)(uint32_t& index));
// Clusters that may be resident at a time on the GPU that is emulated.
uint32_t resident_clusters();
uint64_t next_random();

// clusters.cpp: what a cluster needs to run, and its end.
extern std::vector<Cluster*> alive;
void start_cluster(uint32_t index, void (*entry)());
void end_cluster(Cluster& cluster);
bool room_for_cluster();

// stall.cpp: every living thread waits.
bool release_after_exit();
void report_stall(bool more_to_start);

}  // namespace cge
