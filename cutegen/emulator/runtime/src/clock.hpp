// Vector clocks: what a thread knows to have happened in other threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace cge {

// An immutable, shared part of many threads' clocks. After a barrier all its threads hold the same one, so a
// barrier costs as much as it has threads, not their square.
class Knowledge {
 public:
  std::vector<uint32_t> own;                            // by thread of the CTA, then its asynchronous proxy
  std::map<uint32_t, std::vector<uint32_t>> foreign;    // by linear index of another CTA

  explicit Knowledge(size_t threads) : own(threads) {}

  void join(Knowledge const& other) {
    for (size_t i = 0; i < own.size(); ++i) { own[i] = std::max(own[i], other.own[i]); }
    for (auto const& [cta, clocks] : other.foreign) { join_foreign(cta, clocks); }
  }
  void join_foreign(uint32_t cta, std::vector<uint32_t> const& clocks) {
    auto& mine = foreign[cta];
    mine.resize(std::max(mine.size(), clocks.size()));
    for (size_t i = 0; i < clocks.size(); ++i) { mine[i] = std::max(mine[i], clocks[i]); }
  }

 private:
  friend class KnowledgePtr;
  uint32_t references_ = 0;
};

// A reference-counted pointer; a worker is one thread, so the count is a plain integer.
class KnowledgePtr {
 public:
  KnowledgePtr() = default;
  explicit KnowledgePtr(Knowledge* p) : p_(p) { retain(); }
  KnowledgePtr(KnowledgePtr const& o) : p_(o.p_) { retain(); }
  KnowledgePtr(KnowledgePtr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  KnowledgePtr& operator=(KnowledgePtr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~KnowledgePtr() {
    if (p_ && --p_->references_ == 0) { delete p_; }
  }
  Knowledge* operator->() const { return p_; }
  Knowledge& operator*() const { return *p_; }
  Knowledge* get() const { return p_; }

 private:
  void retain() {
    if (p_) { ++p_->references_; }
  }
  Knowledge* p_ = nullptr;
};

// The clock of one thread. Accesses carry the thread's `self`; it grows whenever the thread releases.
struct Clock {
  KnowledgePtr base;
  uint32_t self = 1;

  // Whether an access of thread `who` of the same CTA at time `when` happened before.
  bool knows(uint32_t who, uint32_t when) const { return base->own[who] >= when; }
  bool knows_foreign(uint32_t cta, uint32_t who, uint32_t when) const {
    auto it = base->foreign.find(cta);
    return it != base->foreign.end() && who < it->second.size() && it->second[who] >= when;
  }
};

}  // namespace cge
