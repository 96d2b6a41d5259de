// Adds up what stacks got: by the line of their innermost frame, as a tree of functions, and by whole stacks.
#include "line_table.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <tuple>

#include "stack_places.h"

namespace rlscope {

namespace {

constexpr bool is_of_lines(uint8_t category) { return category == kPython || category == kNoCore; }

}  // namespace

void LineTable::see(uint32_t phase, Scope scope, const Row& row, uint32_t stack, const SweepTables& tables) {
  Given& given = given_[{phase, scope}];
  Given now{python_ticks(row) - row.ticks[kNoCore], row.ticks[kNoCore]};
  add({scope, stack, phase, kPython, 0}, now.python - given.python, tables);
  if (now.no_core > given.no_core) add({scope, stack, phase, kNoCore, 0}, now.no_core - given.no_core, tables);
  given = now;
}

void LineTable::see_call(uint32_t phase, Scope scope, uint32_t function, uint64_t ticks, uint32_t stack,
                         const SweepTables& tables) {
  add({scope, stack, phase, tables.name(function).category, function}, ticks, tables);
}

void LineTable::add(const Place& place, uint64_t ticks, const SweepTables& tables) {
  Sum& sum = sums_[place];
  sum.stacks++;
  sum.ticks += ticks;
  tables.add_in_loop(sum.stacks_in_loop, 1);
  tables.add_in_loop(sum.ticks_in_loop, ticks);
}

std::vector<SweptLine> LineTable::rows(const TraceFile& file, const SweepTables& tables) const {
  if (file.stack_chunks().empty()) return {};
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, uint32_t>;
  std::map<Key, Sum> merged;  // stacks that differ in callers alone are one row
  for (const auto& [place, found] : sums_) {
    if (!is_of_lines(place.category)) continue;
    Key key{tables.stage_of(place.scope), tables.operation_of(place.scope), "", "", 0};
    if (uint32_t shown = place_from(file, place.stack)) {
      const StackEntry& stack = file.stacks()[shown];
      const Code& code = file.codes()[stack.code];
      std::get<2>(key) = code.name, std::get<3>(key) = code.file, std::get<4>(key) = stack.line;
    }
    Sum& sum = merged[key];
    sum.stacks += place.category == kPython ? found.stacks : 0;
    sum.ticks += found.ticks;
  }
  tables.for_each_row([&](uint32_t phase, Scope scope, const Row& row) {
    auto given = given_.find({phase, scope});
    uint64_t rest = python_ticks(row) - (given == given_.end() ? 0 : given->second.python + given->second.no_core);
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
    if (!is_of_lines(place.category)) continue;
    std::string_view stage = tables.stage_of(place.scope);
    inner.clear();
    uint32_t stack = place_from(file, place.stack);
    if (!stack) continue;
    for (; stack && !known.count({stage, stack}); stack = place_from(file, file.stacks()[stack].caller)) inner.push_back(stack);
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

// Scopes and phases that read the same are one row.
void LineTable::write_stacks(const TraceFile& file, const SweepTables& tables, SweepResult& result) const {
  const std::vector<StackEntry>& stacks = file.stacks();
  std::map<uint32_t, std::optional<size_t>> places;  // ids of callers are below those of what they called
  for (const auto& [place, sum] : sums_) {
    for (uint32_t stack = place.stack; stack && places.try_emplace(stack).second; stack = stacks[stack].caller) {}
  }
  std::map<std::tuple<std::optional<size_t>, uint32_t, uint32_t>, size_t> known;  // by caller, code and line
  for (auto& [stack, place] : places) {
    const StackEntry& entry = stacks[stack];
    if (entry.caller) place = places.at(entry.caller);
    const Code& code = file.codes()[entry.code];
    if (!is_place(code.file)) continue;
    auto [found, is_new] = known.try_emplace({place, entry.code, entry.line}, result.stacks.size());
    if (is_new) result.stacks.push_back({place, code.name, code.file, code.first_line, entry.line});
    place = found->second;
  }
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, std::string_view, Category,
                         std::string_view, std::optional<size_t>>;
  std::map<Key, std::pair<uint64_t, uint64_t>> merged;  // how often it was seen, and ticks
  for (const auto& [place, sum] : sums_) {
    auto add = [&, &place = place](std::string_view part, uint64_t seen, uint64_t ticks) {
      if (!seen && !ticks) return;
      auto category = place.category >= kNoCore ? static_cast<Category>(place.category) : folded_category(place.category);
      auto& [stacks_of_row, ticks_of_row] =
          merged[{tables.phase_of(place.phase), tables.purpose_of(place.scope), part, tables.stage_of(place.scope),
                  tables.operation_of(place.scope), category,
                  place.function ? function_of(file.names()[place.function]) : std::string_view(), places.at(place.stack)}];
      stacks_of_row += seen;
      ticks_of_row += ticks;
    };
    if (place.phase != 0 || !tables.is_outside(place.scope)) {
      add("", sum.stacks, sum.ticks);
      continue;
    }
    std::array<uint64_t, 3> seen = tables.parts(sum.stacks_in_loop, sum.stacks), ticks = tables.parts(sum.ticks_in_loop, sum.ticks);
    for (size_t part = 0; part < seen.size(); part++) add(kLoopPartLabels[part], seen[part], ticks[part]);
  }
  for (const auto& [key, sum] : merged) {
    const auto& [phase, purpose, part, stage, operation, category, function, stack] = key;
    result.stack_times.push_back({.phase = phase,
                                  .purpose = purpose,
                                  .part = part,
                                  .stage = stage,
                                  .operation = operation,
                                  .category = category,
                                  .function = function,
                                  .stack = stack,
                                  .stacks = sum.first,
                                  .ticks = sum.second});
  }
}

}  // namespace rlscope
