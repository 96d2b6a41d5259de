// How long operations took in the order in which they ended, so that those that take longer each time can be told.
#include "duration_table.h"

namespace rlscope {

std::vector<SweptDuration> DurationTable::rows(const SweepTables& tables) const {
  std::vector<SweptDuration> rows;
  for (size_t scope = 0; scope < sums_.size(); scope++) {
    const Sums& sums = sums_[scope];
    if (sums.count < kLeastCount) continue;
    rows.push_back({.stage = tables.stage_of(static_cast<Scope>(scope)),
                    .operation = tables.operation_of(static_cast<Scope>(scope)),
                    .count = sums.count,
                    .ticks = sums.ticks,
                    .weighted_ticks = static_cast<double>(sums.weighted),
                    .squared_ticks = static_cast<double>(sums.squares)});
  }
  return rows;
}

}  // namespace rlscope
