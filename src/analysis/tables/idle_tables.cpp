// What a process did in its training loop while not all of its devices worked: a part of the tables of the sweep.
#include <map>
#include <string_view>
#include <tuple>

#include "sweep_tables.h"

namespace rlscope {

void SweepTables::settle(IdleCells& cells, const Row& row) const {
  if (cells.mark == marks_) return;
  for (size_t i = 0; i < kCategories; i++) {
    cells.between[i] = cells.mark < first_mark_ ? 0 : cells.between[i] + row.ticks[i] - cells.at_mark[i];
    cells.at_mark[i] = row.ticks[i];
  }
  cells.mark = marks_;
}

void SweepTables::add_idle(const IdleDoing& doing, uint64_t ticks) {
  LoopTicks& sum = idle_[doing];
  settle(sum);
  sum.since += ticks;
}

// Of the training loop, or of all time where nothing shows where that is.
void SweepTables::write_idle(const std::vector<Name>& names, uint64_t devices, SweepResult& result) const {
  std::map<std::tuple<uint64_t, Scope, Category, bool, std::string_view>, uint64_t> sums;
  for (const auto& [key, found] : idle_cells_) {
    const Row& row = rows_.at(key);
    IdleCells cells = found;
    settle(cells, row);
    for (uint8_t category = 0; category < kCategories; category++) {
      uint64_t ticks = marks_ ? cells.between[category] : row.ticks[category];
      if (!ticks || static_cast<Category>(category) == Category::kWait) continue;
      sums[{0, key.second, folded_category(category), is_evaluation(key.first), ""}] += ticks;
    }
  }
  for (const auto& [doing, found] : idle_) {
    LoopTicks sum = found;
    settle(sum);
    uint64_t ticks = marks_ ? sum.between : sum.since;
    if (!ticks || doing.working == devices) continue;
    std::string_view wait = doing.wait ? wait_label(names, doing.wait) : "";
    sums[{doing.working, doing.scope, folded_category(doing.category), doing.is_evaluation, wait}] += ticks;
  }
  for (const auto& [key, ticks] : sums) {
    const auto& [working, scope, category, is_evaluation, wait] = key;
    // In no tail: those that are, are in device_idle's.
    result.idle.push_back({working, {stage_of(scope), operation_of(scope), category, is_evaluation, wait, false, ticks}});
  }
}

}  // namespace rlscope
