#pragma once

#include "machine.hpp"

namespace cge {

// Shared with the process that started this one, which shows progress.
struct Control {
  volatile uint32_t next, done, total, stop, failed;
};
extern Control* control;
extern int report_fd;  // a file opened for appending

void prepare_reports();
int run_launch(Launch const& launch);  // 0 if every CTA ran to its end

}  // namespace cge
