// Shares out what a thread was on a CPU among the operations in which it was.
#include "cpu_time_table.h"

#include <string_view>
#include <tuple>

namespace rlscope {
namespace {

// A thread that runs is read 60 times a second or more. One that begins more operations than that has the rest with the last.
constexpr size_t kMostParts = 256;

}  // namespace

UnreadTime::Part& CpuTimeTable::part_of(UnreadTime& time, uint32_t phase, Scope scope) {
  for (size_t place = time.parts.size(); place-- > 0;) {
    if (time.parts[place].scope == scope && time.parts[place].phase == phase) return time.parts[place];
  }
  if (time.parts.size() < kMostParts) time.parts.push_back({phase, scope, 0, 0, 0});
  return time.parts.back();
}

void CpuTimeTable::pass(UnreadTime& time, uint32_t phase, Scope scope, uint64_t now, uint64_t ran_ticks) {
  if (now == time.since) return;
  UnreadTime::Part& part = part_of(time, phase, scope);
  part.ticks += now - time.since;
  part.ran_ticks += ran_ticks;
  time.since = now;
}

void CpuTimeTable::read(UnreadTime& time, uint32_t phase, Scope scope, uint64_t cpu_ns) {
  using Wide = unsigned __int128;
  if (time.parts.empty()) part_of(time, phase, scope);
  uint64_t all = 0, passed = 0, given = 0;
  for (const UnreadTime::Part& part : time.parts) all += part.ran_ticks;
  for (const UnreadTime::Part& part : time.parts) {
    Sums& sums = sums_[{part.phase, part.scope}];
    passed += part.ran_ticks;
    uint64_t until = all ? static_cast<uint64_t>(Wide{cpu_ns} * passed / all) : cpu_ns;
    sums.begins += part.begins;
    sums.ticks += part.ticks;
    sums.cpu_ns += until - given;
    given = until;
  }
  time.parts.clear();
}

std::vector<SweptCpuTime> CpuTimeTable::rows(const SweepTables& tables) const {
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Key, Sums> merged;  // scopes and phases that differ in ids alone are one row
  for (const auto& [key, found] : sums_) {
    Sums& sums = merged[{tables.phase_of(key.first), tables.stage_of(key.second), tables.operation_of(key.second)}];
    sums.begins += found.begins;
    sums.ticks += found.ticks;
    sums.cpu_ns += found.cpu_ns;
  }
  std::vector<SweptCpuTime> rows;
  for (const auto& [key, sums] : merged) {
    const auto& [phase, stage, operation] = key;
    rows.push_back({.phase = phase,
                    .stage = stage,
                    .operation = operation,
                    .begins = sums.begins,
                    .ticks = sums.ticks,
                    .cpu_ns = sums.cpu_ns});
  }
  return rows;
}

}  // namespace rlscope
