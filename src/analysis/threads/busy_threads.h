// How many threads were in operations of their own, and how long two or more were busy at once: rule 12 of docs/analysis.md.
#pragma once
#include <cstdint>
#include <vector>

#include "sweep_tables.h"
#include "sweep_thread.h"

namespace rlscope {

class BusyThreads {
 public:
  void begin_operation(Thread& thread) {
    in_operations_ += !thread.was_in_operation;
    thread.was_in_operation = true;
  }
  // While there are several: to be called whenever a thread may have become busy or ceased to be.
  void note(Thread& thread, bool is_busy, uint64_t now) {
    if (is_busy == thread.is_busy) return;
    ticks_ = ticks(now);
    since_ = now;
    thread.is_busy = is_busy;
    if (is_busy) {
      busy_++;
    } else {
      busy_--;
    }
  }
  // Begins again with nothing at `now`; what is open stays so.
  void start_at(uint64_t now, const std::vector<Thread*>& threads, const SweepTables& tables) {
    ticks_ = in_operations_ = 0;
    since_ = now;
    for (Thread* thread : threads) {
      thread->was_in_operation = !tables.is_outside(thread->scope);
      in_operations_ += thread->was_in_operation;
    }
  }

  uint64_t ticks(uint64_t now) const { return ticks_ + (busy_ > 1 ? now - since_ : 0); }
  uint64_t in_operations() const { return in_operations_; }

 private:
  uint64_t ticks_ = 0;  // up to the last change
  uint64_t since_ = 0;
  uint64_t busy_ = 0;
  uint64_t in_operations_ = 0;
};

}  // namespace rlscope
