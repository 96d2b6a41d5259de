// How long operations took in the order in which they ended, so that those that take longer each time can be told.
#pragma once
#include <cstdint>
#include <vector>

#include "sweep_result.h"
#include "sweep_tables.h"

namespace rlscope {

// Sums of durations of so many operations after each other, of a bin.
class DurationBins {
 public:
  void add(uint64_t ticks) {
    if (in_last_ == width_) open_bin();
    sums_.back() += ticks;
    in_last_++;
    count_++;
  }
  uint64_t count() const { return count_; }
  uint64_t width() const { return width_; }
  const std::vector<uint64_t>& sums() const { return sums_; }

 private:
  static constexpr size_t kMostBins = 32;

  void open_bin();

  uint64_t count_ = 0;
  uint64_t width_ = 1;
  uint64_t in_last_ = 1;
  std::vector<uint64_t> sums_;
};

class DurationTable {
 public:
  void add(Scope scope, uint64_t ticks) {
    if (scope >= bins_.size()) bins_.resize(scope + 1);
    bins_[scope].add(ticks);
  }
  // While the tables have their rows; nothing of operations that ended fewer times than `kLeastCount`.
  std::vector<SweptDuration> rows(const SweepTables& tables) const;

 private:
  // Of fewer no growth can be told.
  static constexpr uint64_t kLeastCount = 16;

  std::vector<DurationBins> bins_;  // by scope
};

}  // namespace rlscope
