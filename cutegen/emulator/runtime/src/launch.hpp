// Launches of grids, and what the emulated GPU is.
#pragma once

#include <string>

#include "machine.hpp"

namespace cge {

// Shared with the process that started this one, which shows progress.
struct Control {
  volatile uint32_t next, done, total, stop, failed, serial;
};
extern Control* control;
extern int report_fd;  // a file opened for appending

void prepare_reports();
int run_launch(Launch const& launch);  // 0 if every CTA ran to its end
// The same from host code that runs along with its kernels; what it has printed comes first. Whether all went well.
bool run_host_launch(Launch const& launch);
// Runs a kernel whose parameters and grid its own host code makes; null, or why it was not launched.
char const* run_prepared(void* prepare, void* kernel, void const* problem, Launch const& launch);
void cluster_done();
uint32_t clusters_left();
void fail_launch();
// CTAs talk to each other through global memory: one process must run all of them, since what orders them is known
// in one process only. Called in a worker, it gives up; the launch starts again from its begin.
void need_one_process();

// cuda_host.cpp: where what is in each allocation is written when it is freed, or at the end; empty: nowhere.
extern std::string dump_directory;
void dump_allocations();

// device.cpp
uint32_t device_multiprocessors();
// CTAs of one SM, by shared memory, threads and slots; registers are not known.
uint32_t ctas_per_multiprocessor(uint32_t threads, size_t shared);

}  // namespace cge
