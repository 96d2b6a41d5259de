// Adds up the operations of tasks, in memory that does not grow with their number.
#include "task_table.h"

namespace rlscope {

void TaskTable::add(const TaskEnd& task) {
  Sums& sums = sums_[task.operation];
  sums.running_ticks += task.running_ticks;
  sums.elapsed.add(task.elapsed_ticks);
}

std::vector<SweptTask> TaskTable::rows(const std::vector<Name>& names) const {
  std::map<std::string_view, Sums> merged;  // two ids can have one name
  for (const auto& [id, found] : sums_) {
    Sums& sums = merged[names[id].text];
    sums.running_ticks += found.running_ticks;
    sums.elapsed.add(found.elapsed);
  }
  std::vector<SweptTask> rows;
  for (const auto& [operation, sums] : merged) {
    const Lengths& elapsed = sums.elapsed;
    rows.push_back({.operation = operation,
                    .ended = elapsed.count(),
                    .running_ticks = sums.running_ticks,
                    .elapsed_ticks = elapsed.ticks(),
                    .median_ticks = elapsed.percentile(50),
                    .p99_ticks = elapsed.percentile(99),
                    .longest_ticks = elapsed.longest()});
  }
  return rows;
}

}  // namespace rlscope
