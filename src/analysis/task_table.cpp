// Adds up the operations of tasks, in memory that does not grow with their number.
#include "task_table.h"

#include <algorithm>

namespace rlscope {
namespace {

constexpr unsigned kDigits = 8;

uint64_t rounded_down(uint64_t value) {
  unsigned digits = 64 - static_cast<unsigned>(__builtin_clzll(value | 1));
  unsigned dropped = digits > kDigits ? digits - kDigits : 0;
  return value >> dropped << dropped;
}

}  // namespace

void TaskTable::add(const TaskEnd& task) {
  Sums& sums = sums_[task.operation];
  sums.running_ticks += task.running_ticks;
  sums.elapsed_ticks += task.elapsed_ticks;
  sums.longest_ticks = std::max(sums.longest_ticks, task.elapsed_ticks);
  sums.count++;
  sums.counts[rounded_down(task.elapsed_ticks)]++;
}

// The smallest value that `percent` of all do not exceed.
uint64_t TaskTable::percentile(const Sums& sums, uint64_t percent) {
  uint64_t seen = 0;
  for (const auto& [ticks, count] : sums.counts) {
    seen += count;
    if (seen * 100 >= sums.count * percent) return ticks;
  }
  return 0;
}

std::vector<TaskRow> TaskTable::rows(const std::vector<Name>& names) const {
  std::map<std::string_view, Sums> merged;  // two ids can have one name
  for (const auto& [id, found] : sums_) {
    Sums& sums = merged[names[id].text];
    sums.running_ticks += found.running_ticks;
    sums.elapsed_ticks += found.elapsed_ticks;
    sums.longest_ticks = std::max(sums.longest_ticks, found.longest_ticks);
    sums.count += found.count;
    for (const auto& [ticks, count] : found.counts) sums.counts[ticks] += count;
  }
  std::vector<TaskRow> rows;
  for (const auto& [operation, sums] : merged) {
    rows.push_back({operation, sums.count, sums.running_ticks, sums.elapsed_ticks, percentile(sums, 50), percentile(sums, 99),
                    sums.longest_ticks});
  }
  return rows;
}

}  // namespace rlscope
