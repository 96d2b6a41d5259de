// Adds up what stacks got, by the line of their innermost frame and as a tree of functions.
#include "line_table.h"

#include <algorithm>
#include <optional>
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

std::vector<SweptLine> LineTable::rows(const TraceFile& file, const SweepTables& tables) const {
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
  std::vector<SweptLine> rows;
  for (const auto& [key, sum] : merged) {
    const auto& [stage, operation, function, path, line] = key;
    rows.push_back({.stage = stage,
                    .operation = operation,
                    .function = function,
                    .file = path,
                    .line = line,
                    .stacks = sum.stacks,
                    .ticks = sum.ticks});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const SweptLine& a, const SweptLine& b) { return a.ticks > b.ticks; });
  return rows;
}

std::vector<SweptFrame> LineTable::frames(const TraceFile& file, const SweepTables& tables) const {
  using Key = std::tuple<std::string_view, std::optional<size_t>, std::string_view, std::string_view>;
  std::map<Key, size_t> places;  // of functions that have the same open functions around them, whatever their lines
  std::map<std::pair<std::string_view, uint32_t>, size_t> known;  // the frame of each stack
  std::vector<SweptFrame> rows;
  std::vector<uint32_t> inner;
  for (const auto& [place, sum] : sums_) {
    std::string_view stage = tables.stage_of(place.first);
    inner.clear();
    uint32_t stack = place.second;
    for (; stack && !known.count({stage, stack}); stack = file.stacks()[stack].caller) inner.push_back(stack);
    std::optional<size_t> frame;
    if (stack) frame = known.at({stage, stack});
    for (; !inner.empty(); inner.pop_back()) {
      const Code& code = file.codes()[file.stacks()[inner.back()].code];
      auto [found, is_new] = places.try_emplace(Key{stage, frame, code.name, code.file}, rows.size());
      if (is_new) rows.push_back({stage, frame, code.name, code.file, 0});
      frame = found->second;
      known[{stage, inner.back()}] = *frame;
    }
    rows[*frame].ticks += sum.ticks;
  }
  return rows;
}

}  // namespace rlscope
