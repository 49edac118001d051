// The program that runs emulated kernels. It reads a job, one "key value..." a line, from standard input:
//
//   library PATH         the compiled kernel
//   entry NAME           its entry; a parameter block follows in `parameters`, or it takes argument pointers
//   prepare NAME         host code of the entry's source, which makes its parameters of the block, and the grid
//   main                 run its main() with the words of `argument` lines instead
//   data FD BYTES        buffers' contents, a file both processes map; its first page is struct Control
//   report FD            where findings and counts go
//   buffer NAME OFFSET BYTES SHIFT ELEMENT WRITABLE ROW_BYTES PITCH
//   parameters HEX       bytes of the parameter block
//   pointer AT BUFFER DELTA   a buffer's address goes to parameter byte AT
//   map AT TYPE BUFFER DELTA EXTENTS STRIDE BOX SWIZZLE   a tensor map of two modes goes to parameter byte AT
//   grid, block, cluster X Y Z; shared BYTES; cooperative 0/1; limit BYTES; seed N; processes N
//   arch N SPECIFIC      SPECIFIC is 1 for sm_90a and the like
//   dump DIRECTORY       where what is left in allocations is written
//   multiprocessors N    SMs of the GPU; 0: those of a large one of the architecture
#include <cuda.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "launch.hpp"
#include "memory.hpp"
#include "report.hpp"

namespace cge {

namespace {

struct Job {
  std::string library, entry, prepare;
  bool has_main = false;
  std::vector<std::string> arguments;
  std::vector<uint8_t> parameters;
  Launch launch;
};

[[noreturn]] void give_up(std::string const& why) {
  std::fprintf(stderr, "cutegen emulator: %s\n", why.c_str());
  std::exit(64);
}

int data_fd = -1;
uintptr_t next_address = kGlobalWindow;

// Buffers lie far apart, and what lies between them is never mapped.
void map_buffer(std::istringstream& in) {
  Buffer b;
  size_t offset = 0, shift = 0;
  in >> b.name >> offset >> b.bytes >> shift >> b.element >> b.writable >> b.dependent >> b.row_bytes >> b.pitch;
  size_t const size = (b.bytes + shift + 4095) / 4096 * 4096;
  if (size) {
    void* at = reinterpret_cast<void*>(next_address);
    void* p = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, data_fd, off_t(offset));
    if (p == MAP_FAILED) { give_up("a buffer cannot be mapped"); }
  }
  b.begin = reinterpret_cast<char*>(next_address) + shift;
  next_address += (size + (size_t(64) << 20)) / (size_t(1) << 20) * (size_t(1) << 20);
  add_buffer(std::move(b));
}

void read_hex(std::string const& text, std::vector<uint8_t>& bytes) {
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(uint8_t(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16)));
  }
}

// A tensor map of two modes for a buffer, at a byte of the parameters.
void encode_map(std::istringstream& in, std::vector<uint8_t>& parameters) {
  size_t at = 0, index = 0;
  int64_t delta = 0;
  unsigned type = 0, swizzle = 0;
  cuuint64_t dims[2], stride[1];
  cuuint32_t box[2];
  cuuint32_t const ones[2] = {1, 1};
  in >> at >> type >> index >> delta >> dims[0] >> dims[1] >> stride[0] >> box[0] >> box[1] >> swizzle;
  CUtensorMap map;
  CUresult const code = cuTensorMapEncodeTiled(&map, CUtensorMapDataType(type), 2, buffers.at(index).begin + delta, dims,
                                               stride, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                               CUtensorMapSwizzle(swizzle), CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS) { give_up("a tensor map that the driver would refuse"); }
  if (at + sizeof map > parameters.size()) { give_up("a tensor map lies outside the parameters"); }
  std::memcpy(&parameters[at], &map, sizeof map);
}

void read_line(std::string const& key, std::istringstream& in, Job& job) {
  auto triple = [&](dim3& d) { in >> d.x >> d.y >> d.z; };
  auto rest = [&] {
    std::string s;
    std::getline(in >> std::ws, s);
    return s;
  };
  if (key == "library") {
    job.library = rest();
  } else if (key == "entry") {
    in >> job.entry;
  } else if (key == "prepare") {
    in >> job.prepare;
  } else if (key == "main") {
    job.has_main = true;
  } else if (key == "argument") {
    job.arguments.push_back(rest());
  } else if (key == "data") {
    in >> data_fd;
    void* p = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, data_fd, 0);
    if (p == MAP_FAILED) { give_up("the data file cannot be mapped"); }
    control = static_cast<Control*>(p);
  } else if (key == "report") {
    in >> report_fd;
  } else if (key == "buffer") {
    map_buffer(in);
  } else if (key == "parameters") {
    read_hex(rest(), job.parameters);
  } else if (key == "pointer") {
    size_t at = 0, index = 0;
    int64_t delta = 0;
    in >> at >> index >> delta;
    char* p = buffers.at(index).begin + delta;
    if (at + 8 > job.parameters.size()) { give_up("a pointer lies outside the parameters"); }
    std::memcpy(&job.parameters[at], &p, 8);
  } else if (key == "map") {
    encode_map(in, job.parameters);
  } else if (key == "grid") {
    triple(job.launch.grid);
  } else if (key == "block") {
    triple(job.launch.block);
  } else if (key == "cluster") {
    triple(job.launch.cluster);
  } else if (key == "shared") {
    in >> job.launch.dynamic_shared;
  } else if (key == "arch") {
    in >> device_level >> device_specific;
  } else if (key == "dump") {
    dump_directory = rest();
  } else if (key == "multiprocessors") {
    in >> options.multiprocessors;
  } else if (key == "cooperative") {
    in >> job.launch.cooperative;
  } else if (key == "limit") {
    in >> options.shared_limit;
  } else if (key == "seed") {
    in >> options.seed;
  } else if (key == "processes") {
    in >> options.processes;
  } else {
    give_up("unknown job line: " + key);
  }
}

// The parameter structure of cutegen's kernels, which the calling convention passes by value on the stack: that
// of a kernel is the beginning of this one.
struct Block {
  uint64_t words[16];
};

// The tensor maps that follow it.
template <int N>
struct Maps {
  alignas(alignof(CUtensorMap)) uint8_t bytes[N][128];
};

template <int N>
void call_with_maps(void* function, Block const& block, uint8_t const* bytes) {
  Maps<N> maps;
  std::memcpy(&maps, bytes, sizeof maps);
  reinterpret_cast<void (*)(Block, Maps<N>)>(function)(block, maps);
}

constexpr size_t kMapsOffset = sizeof(Block);  // of the maps in the parameters
using Caller = void (*)(void*, Block const&, uint8_t const*);
constexpr Caller kCallers[] = {call_with_maps<2>, call_with_maps<3>, call_with_maps<4>, call_with_maps<5>, call_with_maps<6>};

struct Entry {
  void* function;
  Block block;
  std::vector<uint8_t> maps;
  std::vector<void*> arguments;
};

void write_module(void* symbol) {
  Dl_info info{};
  dladdr(symbol, &info);
  char line[256];
  int const n = std::snprintf(line, sizeof line, "{\"type\":\"module\",\"base\":%zu}\n",
                              reinterpret_cast<size_t>(info.dli_fbase));
  ssize_t const written = write(report_fd, line, size_t(n));
  (void)written;
}

int run(Job& job) {
  void* library = dlopen(job.library.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (!library) { give_up(dlerror()); }
  std::string const name = job.has_main ? "main" : job.entry;
  void* symbol = dlsym(library, name.c_str());
  if (!symbol) { give_up(job.library + " has no " + name); }
  write_module(symbol);
  prepare_reports();
  if (job.has_main) {
    std::vector<char*> argv{const_cast<char*>("kernel")};
    for (std::string& a : job.arguments) { argv.push_back(a.data()); }
    int const argc = int(argv.size());
    argv.push_back(nullptr);
    int const status = reinterpret_cast<int (*)(int, char**)>(symbol)(argc, argv.data());
    std::fflush(nullptr);
    dump_allocations();
    return control->failed ? 65 : status ? 66 : 0;
  }
  if (!job.prepare.empty()) {
    void* prepare = dlsym(library, job.prepare.c_str());
    if (!prepare) { give_up(job.library + " has no " + job.prepare); }
    char const* why = run_prepared(prepare, symbol, job.parameters.data(), job.launch);
    if (why) { give_up(why); }
    return control->failed ? 65 : 0;
  }
  Entry entry{symbol, {}, {}, {}};
  job.launch.context = &entry;
  if (job.entry == "cge_entry") {  // a wrapper that takes the addresses of 16-byte slots with the arguments
    for (size_t at = 0; at + 16 <= job.parameters.size(); at += 16) { entry.arguments.push_back(&job.parameters[at]); }
    job.launch.body = [](void* p) {
      auto* e = static_cast<Entry*>(p);
      reinterpret_cast<void (*)(void**)>(e->function)(e->arguments.data());
    };
  } else {
    size_t const size = job.parameters.size();
    size_t const maps = size > kMapsOffset ? (size - kMapsOffset) / sizeof(CUtensorMap) : 0;
    if (maps == 1 || maps > 6 || size != kMapsOffset + maps * sizeof(CUtensorMap)) {
      give_up("the parameter block must have 128 bytes, and then none or 2 to 6 tensor maps");
    }
    std::memcpy(&entry.block, job.parameters.data(), sizeof(Block));
    if (maps) { entry.maps.assign(job.parameters.begin() + kMapsOffset, job.parameters.end()); }
    job.launch.body = [](void* p) {
      auto* e = static_cast<Entry*>(p);
      if (size_t const maps = e->maps.size() / sizeof(CUtensorMap)) {
        kCallers[maps - 2](e->function, e->block, e->maps.data());
      } else {
        reinterpret_cast<void (*)(Block)>(e->function)(e->block);
      }
    };
  }
  return run_launch(job.launch) ? 65 : 0;
}

}  // namespace

}  // namespace cge

int main() {
  cge::Job job;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string key;
    if (in >> key) { cge::read_line(key, in, job); }
  }
  if (!cge::control || cge::report_fd < 0) { cge::give_up("a job needs data and report"); }
  return cge::run(job);
}
