// Findings and sites: what the worker tells Python, one JSON object a line.
#pragma once

#include <cstdint>
#include <string>

#include "machine.hpp"

namespace cge {

// A place in the kernel's code: the return address of a call into the runtime.
struct Site {
  void* pc = nullptr;
  uint32_t segment = ~0u;    // of the fiber that came here last
  Fiber const* fiber = nullptr;
  uint32_t repeat = 0;       // how often that fiber came here in that segment
};

uint32_t site_index(void* pc);
Site& site_at(uint32_t index);

struct Finding {
  explicit Finding(char const* k) : kind(k) {}

  char const* kind;
  void* pc = nullptr;         // null: where the current thread is
  uint32_t other_site = ~0u;  // of the access that it conflicts with
  std::string tensor;
  int64_t offset = -1;        // bytes from the tensor's or dynamic shared memory's begin
  uint32_t bytes = 0;
  std::string message;
};

// Records a finding; those of one kind and site are counted, and only the first is kept whole.
void report(Finding finding);
// As report(), then gives up on the running cluster of CTAs.
[[noreturn]] void report_fatal(Finding finding);

bool has_fatal();
void write_findings(std::string& out);
void append_json(std::string& out, std::string const& text);
void install_crash_handler(void (*flush)());
bool in_kernel_now();

}  // namespace cge
