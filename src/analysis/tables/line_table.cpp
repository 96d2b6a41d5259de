// Adds up what stacks got, by the line of their innermost frame.
#include "line_table.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace rlscope {

void LineTable::see(uint32_t phase, Scope scope, uint64_t python_ticks, uint32_t stack) {
  uint64_t& given = given_[{phase, scope}];
  Sum& sum = sums_[{scope, stack}];
  sum.stacks++;
  sum.ticks += python_ticks - given;
  given = python_ticks;
}

std::vector<LineRow> LineTable::rows(const TraceFile& file, const SweepTables& tables) const {
  if (file.stack_chunks().empty()) return {};
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, uint32_t>;
  std::map<Key, Sum> merged;  // stacks that differ in callers alone are one row
  for (const auto& [place, found] : sums_) {
    const auto& [scope, stack] = place;
    const Code& code = file.codes()[file.stacks()[stack].code];
    Sum& sum = merged[{tables.stage_of(scope), tables.operation_of(scope), code.name, code.file, file.stacks()[stack].line}];
    sum.stacks += found.stacks;
    sum.ticks += found.ticks;
  }
  tables.for_each_row([&](uint32_t phase, Scope scope, const Row& row) {
    auto given = given_.find({phase, scope});
    uint64_t rest = python_ticks(row) - (given == given_.end() ? 0 : given->second);
    if (rest) merged[{tables.stage_of(scope), tables.operation_of(scope), "", "", 0}].ticks += rest;
  });
  std::vector<LineRow> rows;
  for (const auto& [key, sum] : merged) {
    const auto& [stage, operation, function, path, line] = key;
    rows.push_back({stage, operation, function, path, line, sum.stacks, sum.ticks});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const LineRow& a, const LineRow& b) { return a.ticks > b.ticks; });
  return rows;
}

}  // namespace rlscope
