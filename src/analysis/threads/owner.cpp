// Orders the threads that may own an instant where they come, go, or wait.
#include "owner.h"

#include <utility>

namespace rlscope {

void Owner::set_threads(std::vector<Thread*> threads) {
  threads_ = std::move(threads);
  keys_.clear();
  for (const Thread* thread : threads_) keys_.push_back(key_of(*thread));
}

void Owner::scope_of_main_changed() {
  for (const Thread* thread : threads_) keys_[thread->slot] = key_of(*thread);
  choose();
  sort_sharing();
}

void Owner::begin_gap(Thread& thread) {
  sharing_.push_back(&thread);
  sort_sharing();
}

void Owner::end_gap(Thread& thread) { sharing_.erase(std::remove(sharing_.begin(), sharing_.end(), &thread), sharing_.end()); }

void Owner::sort_sharing() {
  std::sort(sharing_.begin(), sharing_.end(), [this](const Thread* a, const Thread* b) {
    return key_of(*a, a->gap->category()) < key_of(*b, b->gap->category());
  });
}

bool Owner::has_part(const Thread& thread) const {
  if (!thread.gap) return &thread == owner_;
  return thread.gap->runs() && comes_before_owner(thread, thread.gap->category());
}

}  // namespace rlscope
