// Runs a grid: its clusters one after another, spread over worker processes.
#include "launch.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "counts.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace cge {

Control* control = nullptr;
int report_fd = -1;

namespace {

void flush_reports() {
  std::string out;
  write_findings(out);
  if (kSanitize) { write_counts(out); }
  if (report_fd >= 0 && !out.empty()) {
    // One write to a file opened for appending: workers do not mix.
    ssize_t const n = write(report_fd, out.data(), out.size());
    (void)n;
  }
}

void work(uint32_t clusters) {
  while (!control->stop) {
    uint32_t const next = __atomic_fetch_add(&control->next, 1, __ATOMIC_RELAXED);
    if (next >= clusters) { break; }
    run_cta_range(next);
    __atomic_fetch_add(&control->done, 1, __ATOMIC_RELAXED);
    if (has_fatal()) { control->stop = 1; }
  }
}

bool check_launch(Launch const& l) {
  char text[200];
  uint32_t const threads = l.block.x * l.block.y * l.block.z;
  if (l.dynamic_shared > options.shared_limit) {
    Finding f{"shared-limit"};
    std::snprintf(text, sizeof text, "the launch asks for %u bytes of dynamic shared memory; sm_%u allows %u",
                  l.dynamic_shared, options.arch, options.shared_limit);
    f.message = text;
    report(std::move(f));
    return false;
  }
  if (threads == 0 || threads > 1024 || l.grid.x % l.cluster.x || l.grid.y % l.cluster.y || l.grid.z % l.cluster.z) {
    Finding f{"bad-launch"};
    std::snprintf(text, sizeof text, "grid (%u,%u,%u), block (%u,%u,%u), cluster (%u,%u,%u) cannot be launched", l.grid.x,
                  l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z, l.cluster.x, l.cluster.y, l.cluster.z);
    f.message = text;
    report(std::move(f));
    return false;
  }
  return true;
}

}  // namespace

void prepare_reports() {
  install_crash_handler(flush_reports);
  std::atexit(flush_reports);  // a host program may leave by exit()
}

int run_launch(Launch const& launch) {
  launch_now = launch;
  uint32_t const per_cluster = launch.cluster.x * launch.cluster.y * launch.cluster.z;
  uint32_t const clusters = launch.grid.x * launch.grid.y * launch.grid.z / per_cluster;
  if (!check_launch(launch)) {
    flush_reports();
    return 1;
  }
  forget_accesses();
  map_shared(per_cluster);
  control->next = 0;
  control->done = 0;
  control->total = clusters;
  uint32_t const workers = std::min(options.processes, clusters);
  if (workers <= 1) {
    work(clusters);
    flush_reports();
    return has_fatal() ? 1 : 0;
  }
  flush_reports();
  int failed = 0;
  std::vector<pid_t> children;
  for (uint32_t i = 0; i < workers; ++i) {
    pid_t const child = fork();
    if (child == 0) {
      work(clusters);
      flush_reports();
      std::fflush(nullptr);
      _exit(has_fatal() ? 1 : 0);
    }
    if (child > 0) { children.push_back(child); }
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      failed = 1;
      control->stop = 1;
    }
  }
  return failed;
}

void launch_raw(dim3 grid, dim3 block, size_t shared, dim3 cluster, void (*body)(void*), void* context) {
  Launch l;
  l.grid = grid;
  l.block = block;
  l.cluster = cluster;
  l.dynamic_shared = uint32_t(shared);
  l.body = body;
  l.context = context;
  std::fflush(nullptr);
  if (run_launch(l) != 0) { control->failed = 1; }
}

void* dynamic_shared() { return self().cta->shared; }

void* static_shared(void const* tag, size_t bytes, size_t align) {
  Cta& cta = *self().cta;
  for (auto const& [known, offset] : cta.statics) {
    if (known == tag) { return cta.shared + offset; }
  }
  uint32_t const end = cta.dynamic_bytes + cta.static_bytes;
  uint32_t const begin = uint32_t((end + align - 1) / align * align);
  if (begin + bytes > options.shared_limit) {
    Finding f{"shared-limit"};
    f.message = "static shared arrays need " + std::to_string(begin + bytes) + " bytes; sm_" +
                std::to_string(options.arch) + " allows " + std::to_string(options.shared_limit);
    report_fatal(std::move(f));
  }
  cta.static_bytes = uint32_t(begin + bytes) - cta.dynamic_bytes;
  grow_shared(cta, end, uint32_t(begin + bytes));
  cta.statics.emplace_back(tag, begin);
  return cta.shared + begin;
}

}  // namespace cge

// The array that `extern __shared__` names in a source that is compiled as it stands.
extern "C" void* cge_dynamic_shared() { return cge::dynamic_shared(); }
