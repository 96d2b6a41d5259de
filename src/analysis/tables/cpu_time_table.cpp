// Shares out what a thread was on a CPU among the operations in which it was.
#include "cpu_time_table.h"

#include <string_view>
#include <tuple>

namespace rlscope {
namespace {

// A thread that runs is read 60 times a second or more. One that begins more operations than that has the rest with the last.
constexpr size_t kMostParts = 256;

}  // namespace

void UnreadTime::enter(uint32_t phase, Scope scope) {
  for (place_ = parts_.size(); place_-- > 0;) {
    if (parts_[place_].scope == scope && parts_[place_].phase == phase) return;
  }
  if (parts_.size() < kMostParts) parts_.push_back({phase, scope, 0, 0, 0});
  place_ = parts_.size() - 1;
}

void UnreadTime::clear() {
  parts_.assign(1, {parts_[place_].phase, parts_[place_].scope, 0, 0, 0});
  place_ = 0;
}

void CpuTimeTable::read(UnreadTime& time, uint64_t cpu_ns) {
  using Wide = unsigned __int128;
  uint64_t all = 0, left = cpu_ns;
  for (const UnreadTime::Part& part : time.parts()) all += part.ran_ticks;
  for (const UnreadTime::Part& part : time.parts()) {
    uint64_t own = all ? static_cast<uint64_t>(Wide{cpu_ns} * part.ran_ticks / all) : 0;
    left -= own;
    if (part.begins + part.ticks == 0) continue;
    Sums& sums = sums_[{part.phase, part.scope}];
    sums.begins += part.begins;
    sums.ticks += part.ticks;
    sums.cpu_ns += own;
  }
  if (left > 0) sums_[{time.present().phase, time.present().scope}].cpu_ns += left;
  time.clear();
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
