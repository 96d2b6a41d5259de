// How long operations took in the order in which they ended, so that those that take longer each time can be told.
#include "duration_table.h"

namespace rlscope {

// Where all are full, each holds two from now on.
void DurationBins::open_bin() {
  if (sums_.size() == kMostBins) {
    for (size_t i = 0; i < kMostBins / 2; i++) sums_[i] = sums_[2 * i] + sums_[2 * i + 1];
    sums_.resize(kMostBins / 2);
    width_ *= 2;
  }
  sums_.push_back(0);
  in_last_ = 0;
}

std::vector<SweptDuration> DurationTable::rows(const SweepTables& tables) const {
  std::vector<SweptDuration> rows;
  for (size_t scope = 0; scope < bins_.size(); scope++) {
    const DurationBins& bins = bins_[scope];
    if (bins.count() < kLeastCount) continue;
    rows.push_back({.stage = tables.stage_of(static_cast<Scope>(scope)),
                    .operation = tables.operation_of(static_cast<Scope>(scope)),
                    .ends = bins.count(),
                    .width = bins.width(),
                    .sums = bins.sums()});
  }
  return rows;
}

}  // namespace rlscope
