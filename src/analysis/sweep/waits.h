// The wait in which a process is, and what it does while a device of its own does nothing: rule 9 of docs/analysis.md.
#pragma once
#include <cstdint>

#include "row_limit.h"
#include "sweep_tables.h"

namespace rlscope {

class Waits {
 public:
  Waits(SweepTables& tables, const RowLimit& limit) : tables_(tables), limit_(limit) {}

  bool is_any() const { return sum_; }
  bool adds_idle() const { return adds_idle_; }
  WaitSum& sum(uint32_t phase, uint32_t number) {
    WaitSum& sum = tables_.wait(phase, number);
    limit_.check(tables_.wait_rows(), "it waits in", "pairs of phase and function", "record the run again");
    return sum;
  }
  // Adds what has passed up to `now`, from when on the process does this; `adds_idle`: while not all of its devices work.
  void change(uint64_t now, uint32_t phase, const IdleDoing& doing, bool adds_idle) {
    if (sum_) tables_.add_wait(*sum_, now - since_, !tables_.is_outside(doing_.scope));
    if (adds_idle_) tables_.add_idle(doing_, now - since_);
    since_ = now;
    doing_ = doing;
    sum_ = doing.wait ? &sum(phase, doing.wait) : nullptr;
    adds_idle_ = adds_idle;
  }
  // So many of the ticks that pass are not for what the process does.
  void leave_out(uint64_t ticks) { since_ += ticks; }

 private:
  SweepTables& tables_;
  const RowLimit& limit_;
  WaitSum* sum_ = nullptr;  // to which the time since then belongs, while the process waits
  uint64_t since_ = 0;
  IdleDoing doing_{};
  bool adds_idle_ = false;  // the same: the time is to be added up by what the process does
};

}  // namespace rlscope
