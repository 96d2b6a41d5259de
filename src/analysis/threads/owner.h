// Which thread owns an instant, or has a part of it: rule 3 of docs/analysis.md and, where threads are blocked, rule 10.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "breakdown_cells.h"
#include "sweep_thread.h"

namespace rlscope {

// The lower the sooner. By whether the thread is outside any operation, and by its category.
struct OwnerRanks {
  uint64_t of[2][kCategories];
};
constexpr OwnerRanks kOwnerRanks = [] {
  OwnerRanks ranks{};
  for (size_t category = 0; category < kCategories; category++) {
    const CategoryColumns& columns = kCategoryColumns[category];
    for (size_t is_outside : {0, 1}) {
      ranks.of[is_outside][category] = (2 * static_cast<size_t>(columns.turn) + is_outside) * kCategories + columns.owner_place;
    }
  }
  return ranks;
}();

class Owner {
 public:
  explicit Owner(Thread& main) : main_(main), owner_(&main), threads_{&main}, keys_{kNever} {}

  Thread& thread() const { return *owner_; }
  Scope scope() const { return scope_of(*owner_); }
  // Threads without an operation of their own have the main thread's.
  Scope scope_of(const Thread& thread) const { return thread.scope ? thread.scope : main_.scope; }
  const std::vector<Thread*>& threads() const { return threads_; }
  bool has_several() const { return keys_.size() > 1; }

  // By slot. Those that come and go take no part.
  void set_threads(std::vector<Thread*> threads);
  // To be called whenever a thread, of several, changes; while there is only one its key is not needed, so not kept.
  void thread_changed(Thread& thread);
  // The same where the main thread enters its first operation or leaves its last one.
  void scope_of_main_changed();
  // Whether the owner is the same while the thread is in this category.
  bool remains(const Thread& thread, uint8_t category) const;

  // Threads that run, or have no core, for a part of a gap each take that part of the time.
  void begin_gap(Thread& thread);
  void end_gap(Thread& thread);
  size_t sharing() const { return sharing_.size(); }
  // Calls with each thread that has a part of this time, in the order in which they own while there is time left, with the
  // category and the ticks; last with the owner, which has the rest.
  template <typename OnShare>
  void share(uint64_t from, uint64_t until, OnShare on_share) const;
  // Whether the time now is the thread's for what it runs: as the owner, or in a gap for the part that it ran.
  bool has_part(const Thread& thread) const;

 private:
  static constexpr size_t kFewThreads = 8;

  uint64_t key_of(const Thread& thread, uint8_t category) const {
    return kOwnerRanks.of[scope_of(thread) == 0][category] << 32 | thread.slot;
  }
  uint64_t key_of(const Thread& thread) const {
    uint64_t key = key_of(thread, thread.category());
    return thread.takes_part() ? key : kNever;
  }
  // Of a thread that does this for a part of a gap.
  bool comes_before_owner(const Thread& thread, uint8_t category) const { return key_of(thread, category) <= key_of(*owner_); }
  void choose();
  void sort_sharing();

  const Thread& main_;
  Thread* owner_;                 // of what those leave that run for a part of a gap
  std::vector<Thread*> threads_;  // by slot
  std::vector<uint64_t> keys_;    // of these; the smallest is the owner's; kNever: takes no part
  std::vector<Thread*> sharing_;  // those that have a part of a gap, in the order in which they own
};

inline void Owner::choose() {
  uint64_t best = keys_[0];
  for (size_t slot = 1; slot < keys_.size(); slot++) best = std::min(best, keys_[slot]);
  owner_ = threads_[static_cast<uint32_t>(best)];
}

inline void Owner::thread_changed(Thread& thread) {
  uint64_t before = keys_[thread.slot];
  uint64_t key = key_of(thread);
  keys_[thread.slot] = key;
  // Among few, looking at all is cheaper than branches that depend on how the threads interleave.
  if (keys_.size() <= kFewThreads || (&thread == owner_ && key > before)) {
    choose();
  } else if (key < keys_[owner_->slot]) {
    owner_ = &thread;
  }
}

inline bool Owner::remains(const Thread& thread, uint8_t category) const {
  if (!has_several()) return true;
  uint64_t key = key_of(thread, category);
  if (&thread != owner_) return key > keys_[owner_->slot];
  for (size_t slot = 0; slot < keys_.size(); slot++) {
    if (keys_[slot] < key && slot != thread.slot) return false;
  }
  return true;
}

template <typename OnShare>
void Owner::share(uint64_t from, uint64_t until, OnShare on_share) const {
  uint64_t left = until - from;
  auto give = [&](Thread& thread, uint8_t category, uint64_t ticks) {
    uint64_t taken = comes_before_owner(thread, category) ? std::min(left, ticks) : 0;
    on_share(thread, category, taken);
    left -= taken;
  };
  for (Thread* thread : sharing_) give(*thread, thread->gap->category(), thread->gap->ran_between(from, until));
  for (Thread* thread : sharing_) {
    give(*thread, thread->gap->queued_category(), thread->gap->queued_between(from, until));
  }
  on_share(*owner_, owner_->category(), left);
}

}  // namespace rlscope
