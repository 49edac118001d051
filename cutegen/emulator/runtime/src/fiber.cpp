// Fibers: a context switch saves the registers that a call must keep, and nothing else.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "machine.hpp"

namespace cge {

#if defined(__x86_64__)
asm(R"(
.text
.globl cge_switch
.type cge_switch,@function
cge_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cge_switch,.-cge_switch
)");
constexpr int kSavedWords = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.globl cge_switch
.type cge_switch,%function
cge_switch:
  sub sp, sp, #176
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #176
  ret
.size cge_switch,.-cge_switch
)");
#else
#error "the emulator's fibers are written for x86-64 and aarch64"
#endif

namespace {

std::vector<char*> unused_stacks;
constexpr size_t kStacksAtOnce = 128;

}  // namespace

char* take_stack() {
  if (unused_stacks.empty()) {
    size_t const step = kStackBytes + 4096;  // one page between two stacks is never accessible
    void* p = mmap(nullptr, kStacksAtOnce * step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) { std::abort(); }
    for (size_t i = kStacksAtOnce; i-- > 0;) {
      char* const begin = static_cast<char*>(p) + i * step;
      mprotect(begin, 4096, PROT_NONE);
      unused_stacks.push_back(begin + 4096);
    }
  }
  char* const stack = unused_stacks.back();
  unused_stacks.pop_back();
  return stack;
}

void return_stack(char* stack) { unused_stacks.push_back(stack); }

void start_fiber(Fiber& f, void (*entry)()) {
  char* top = f.stack + kStackBytes;
  if (kSanitize) {  // what a thread reads without having written it shows as poison
    auto* words = reinterpret_cast<uint32_t*>(top - kPoisonedBytes);
    for (size_t i = 0; i < kPoisonedBytes / 4; ++i) { words[i] = kPoison; }
  }
  // NOTE: at its entry a function expects a stack aligned to 16 bytes before the return address was pushed.
#if defined(__x86_64__)
  auto** sp = reinterpret_cast<void**>(top) - 3;
  *sp = nullptr;  // the entry never returns
  *--sp = reinterpret_cast<void*>(entry);
  sp -= kSavedWords;
  std::memset(sp, 0, kSavedWords * sizeof(void*));
#else
  auto** sp = reinterpret_cast<void**>(top - 176);
  std::memset(sp, 0, 176);
  sp[11] = reinterpret_cast<void*>(entry);
#endif
  f.stack_pointer = sp;
}

}  // namespace cge
