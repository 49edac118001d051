// Runs a grid: its clusters one after another, spread over worker processes.
#include "launch.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "counts.hpp"
#include "memory.hpp"
#include "order.hpp"
#include "report.hpp"
#include "scheduler.hpp"
#include "shadow.hpp"

extern dim3 cge_block_dim asm("blockDim");
extern dim3 cge_grid_dim asm("gridDim");

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

bool take_cluster(uint32_t& index) {
  if (control->stop) { return false; }
  index = __atomic_fetch_add(&control->next, 1, __ATOMIC_RELAXED);
  return index < control->total;
}

bool worker = false;  // this process is one of several that share a launch

// What is in writable buffers, for a launch that has to start again.
class Snapshot {
 public:
  Snapshot() {
    for (Buffer const& b : buffers) {
      if (b.writable) { kept_.emplace_back(b.begin, std::string(b.begin, b.bytes)); }
    }
  }
  void restore() const {
    for (auto const& [begin, bytes] : kept_) { std::memcpy(begin, bytes.data(), bytes.size()); }
  }

 private:
  std::vector<std::pair<char*, std::string>> kept_;
};

bool check_launch(Launch const& l) {
  char text[200];
  uint32_t const threads = l.block.x * l.block.y * l.block.z;
  if (l.dynamic_shared > options.shared_limit) {
    Finding f{"shared-limit"};
    std::snprintf(text, sizeof text, "the launch asks for %u bytes of dynamic shared memory; sm_%u allows %u",
                  l.dynamic_shared, device_level, options.shared_limit);
    f.message = text;
    report(std::move(f));
    return false;
  }
  uint32_t const resident = device_multiprocessors() * ctas_per_multiprocessor(threads, l.dynamic_shared);
  if (l.cooperative && uint64_t(l.grid.x) * l.grid.y * l.grid.z > resident) {
    Finding f{"residency"};
    std::snprintf(text, sizeof text, "a cooperative launch of %u CTAs; %u SMs hold %u of them at a time",
                  l.grid.x * l.grid.y * l.grid.z, device_multiprocessors(), resident);
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

namespace {

void restart() {
  control->next = 0;
  control->done = 0;
}

int run_workers(uint32_t workers) {
  int failed = 0;
  std::vector<pid_t> children;
  for (uint32_t i = 0; i < workers; ++i) {
    pid_t const child = fork();
    if (child == 0) {
      worker = true;
      run_clusters(take_cluster);
      if (!control->serial) { flush_reports(); }
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
  return failed || control->stop;
}

}  // namespace

int run_launch(Launch const& launch) {
  launch_now = launch;
  uint32_t const per_cluster = launch.cluster.x * launch.cluster.y * launch.cluster.z;
  uint32_t const clusters = launch.grid.x * launch.grid.y * launch.grid.z / per_cluster;
  if (!check_launch(launch)) {
    flush_reports();
    return 1;
  }
  threads_per_cta = launch.block.x * launch.block.y * launch.block.z;
  cge_block_dim = launch.block;
  cge_grid_dim = launch.grid;
  forget_accesses();
  forget_releases();
  control->total = clusters;
  uint32_t const workers = launch.cooperative ? 1 : std::min(options.processes, clusters);
  if (workers > 1) {
    Snapshot const before;
    flush_reports();
    off_t const reported = lseek(report_fd, 0, SEEK_END);
    restart();
    int const failed = run_workers(workers);
    if (!control->serial) { return failed; }
    control->serial = 0;
    control->stop = 0;
    before.restore();
    if (ftruncate(report_fd, reported) != 0) { return 1; }
    forget_accesses();
  }
  restart();
  run_clusters(take_cluster);
  flush_reports();
  return has_fatal() || control->stop ? 1 : 0;
}

void cluster_done() {
  __atomic_fetch_add(&control->done, 1, __ATOMIC_RELAXED);
  if (has_fatal()) { control->stop = 1; }
}

uint32_t clusters_left() { return control->next < control->total ? control->total - control->next : 0; }

void fail_launch() { control->stop = 1; }

void need_one_process() {
  if (!worker) { return; }
  control->serial = 1;
  control->stop = 1;
  std::_Exit(0);
}

uint32_t resident_clusters() {
  uint32_t const each = ctas_per_multiprocessor(threads_per_cta, launch_now.dynamic_shared);
  return std::max(1u, device_multiprocessors() * each / cluster_size());
}

bool run_host_launch(Launch const& launch) {
  std::fflush(nullptr);
  bool const good = run_launch(launch) == 0;
  if (!good) { control->failed = 1; }
  return good;
}

void launch_raw(dim3 grid, dim3 block, size_t shared, dim3 cluster, void (*body)(void*), void* context) {
  Launch l;
  l.grid = grid;
  l.block = block;
  l.cluster = cluster;
  l.dynamic_shared = uint32_t(shared);
  l.body = body;
  l.context = context;
  run_host_launch(l);
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
                std::to_string(device_level) + " allows " + std::to_string(options.shared_limit);
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
