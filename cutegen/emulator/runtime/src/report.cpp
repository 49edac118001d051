#include "report.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <utility>

namespace cge {

namespace {

struct Kept {
  explicit Kept(Finding f) : finding(std::move(f)) {}

  Finding finding;
  uint3 block{};
  uint32_t thread = 0;
  uint64_t count = 0;
};

std::deque<Site> sites;
std::unordered_map<void*, uint32_t> site_of;
struct CacheLine {
  void* pc = nullptr;
  uint32_t index = 0;
};
CacheLine cache[1024];

std::map<std::pair<std::string, void*>, size_t> known;
std::vector<Kept> findings;
bool fatal_seen = false;
void (*flush_before_death)() = nullptr;

}  // namespace

uint32_t site_index(void* pc) {
  CacheLine& line = cache[(reinterpret_cast<uintptr_t>(pc) * 0x9e3779b97f4a7c15ull) >> 54];
  if (line.pc != pc) {
    auto [it, added] = site_of.emplace(pc, uint32_t(sites.size()));
    if (added) { sites.emplace_back().pc = pc; }
    line = {pc, it->second};
  }
  return line.index;
}

Site& site_at(uint32_t index) { return sites[index]; }

void report(Finding finding) {
  if (!finding.pc && current) { finding.pc = current->pc; }
  auto [it, added] = known.emplace(std::make_pair(std::string(finding.kind), finding.pc), findings.size());
  if (added) {
    Kept kept(std::move(finding));
    if (current) {
      kept.block = current->cta->block;
      kept.thread = current->index;
    }
    findings.push_back(std::move(kept));
  }
  ++findings[it->second].count;
}

void report_fatal(Finding finding) {
  fatal_seen = true;
  bool const host = current == nullptr;
  report(std::move(finding));
  if (host) {
    if (flush_before_death) { flush_before_death(); }
    _exit(70);
  }
  abandon();
  __builtin_trap();  // an abandoned fiber is never resumed
}

bool has_fatal() { return fatal_seen; }

void append_json(std::string& out, std::string const& text) {
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 32) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
      out += buffer;
    } else {
      out += c;
    }
  }
  out += '"';
}

void write_findings(std::string& out) {
  for (Kept const& k : findings) {
    Finding const& f = k.finding;
    void* other = f.other_site == ~0u ? nullptr : sites[f.other_site].pc;
    char head[320];
    std::snprintf(head, sizeof head,
                  "{\"type\":\"finding\",\"kind\":\"%s\",\"pc\":%zu,\"other_pc\":%zu,\"block\":[%u,%u,%u],"
                  "\"thread\":%u,\"offset\":%lld,\"bytes\":%u,\"count\":%llu,\"tensor\":",
                  f.kind, reinterpret_cast<size_t>(f.pc), reinterpret_cast<size_t>(other), k.block.x, k.block.y,
                  k.block.z, k.thread, static_cast<long long>(f.offset), f.bytes,
                  static_cast<unsigned long long>(k.count));
    out += head;
    append_json(out, f.tensor);
    out += ",\"message\":";
    append_json(out, f.message);
    out += "}\n";
  }
  findings.clear();
  known.clear();
}

bool in_kernel_now() { return current != nullptr; }

namespace {

// Where the program was, if that is code of the kernel and not of the runtime.
void* kernel_pc(void* context) {
  auto* machine = &static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  auto* pc = reinterpret_cast<char*>(machine->gregs[REG_RIP]);
#else
  auto* pc = reinterpret_cast<char*>(machine->pc);
#endif
  Dl_info here{}, runtime{};
  dladdr(pc, &here);
  dladdr(reinterpret_cast<void*>(&report), &runtime);
  return here.dli_fbase && here.dli_fbase != runtime.dli_fbase ? pc + 1 : current->pc;
}

void on_crash(int signal, siginfo_t* info, void* context) {
  static bool again = false;
  if (!again && current) {
    again = true;
    char text[160];
    auto const at = reinterpret_cast<uintptr_t>(info->si_addr);
    bool const overflow = at >= reinterpret_cast<uintptr_t>(current->stack) - 4096 &&
                          at < reinterpret_cast<uintptr_t>(current->stack);
    std::snprintf(text, sizeof text, overflow ? "a thread needs more than %zu bytes of stack" : "access to address 0x%zx, which is no memory of this kernel",
                  overflow ? kStackBytes : static_cast<size_t>(at));
    Finding f{signal == SIGFPE ? "division-by-zero" : overflow ? "stack-overflow" : "wild-access"};
    f.message = signal == SIGFPE ? "integer division by zero" : signal == SIGABRT ? "abort(), for example a failed assert" : text;
    f.pc = kernel_pc(context);
    report(std::move(f));
    if (flush_before_death) { flush_before_death(); }
    _exit(71);
  }
  ::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void install_crash_handler(void (*flush)()) {
  flush_before_death = flush;
  static char stack[64 << 10];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) { sigaction(s, &action, nullptr); }
}

}  // namespace cge
