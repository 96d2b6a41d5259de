// How long operations took in the order in which they ended, so that those that take longer each time can be told.
#pragma once
#include <cstdint>
#include <vector>

#include "sweep_result.h"
#include "sweep_tables.h"

namespace rlscope {

class DurationTable {
 public:
  void add(Scope scope, uint64_t ticks) {
    if (scope >= sums_.size()) sums_.resize(scope + 1);
    Sums& sums = sums_[scope];
    sums.ticks += ticks;
    sums.weighted += static_cast<unsigned __int128>(ticks) * sums.count++;
    sums.squares += static_cast<unsigned __int128>(ticks) * ticks;
  }
  // While the tables have their rows; nothing of operations that ended fewer times than `kLeastCount`.
  std::vector<SweptDuration> rows(const SweepTables& tables) const;

 private:
  // Of fewer no line can be told.
  static constexpr uint64_t kLeastCount = 8;

  struct Sums {
    uint64_t count = 0;
    uint64_t ticks = 0;
    unsigned __int128 weighted = 0;
    unsigned __int128 squares = 0;
  };

  std::vector<Sums> sums_;  // by scope
};

}  // namespace rlscope
