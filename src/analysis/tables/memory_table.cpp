// Keeps the most by scope, and a series that grows thinner as it grows longer.
#include "memory_table.h"

#include <algorithm>
#include <tuple>

namespace rlscope {
namespace {

template <typename Value>
void drop_every_second(std::vector<Value>& values) {
  for (size_t i = 0; 2 * i < values.size(); i++) values[i] = values[2 * i];
  values.resize((values.size() + 1) / 2);
}

}  // namespace

void MemoryTable::add(const MemorySample& sample, Scope scope, uint64_t ticks_in_scope, uint64_t now) {
  Place place{sample.owner, sample.device};
  Highest& highest = highest_[{place, scope}];
  highest.samples++;
  highest.bytes = std::max(highest.bytes, sample.used_bytes);

  Use& use = uses_[place];
  SweptMemorySeries& series = use.series;
  // A peak that is new since the last look belongs to the scope in which nearly all of that time was: it may be gone by now.
  bool is_new = use.samples > 0 && sample.peak_bytes > series.peak_bytes;
  if (is_new && 10 * ticks_in_scope >= 9 * (now - use.looked_at)) highest.bytes = std::max(highest.bytes, sample.peak_bytes);
  use.looked_at = now;
  // The system counts roughly, and a program may have an allocator's peak forgotten.
  series.peak_bytes = std::max({series.peak_bytes, sample.peak_bytes, sample.used_bytes});
  if (use.samples++ % use.stride) return;
  series.ticks.push_back(now);
  series.used_bytes.push_back(sample.used_bytes);
  series.reports.push_back(reports_);
  if (series.ticks.size() <= kMostOfSeries) return;
  for (std::vector<uint64_t>* column : {&series.ticks, &series.used_bytes, &series.reports}) drop_every_second(*column);
  use.stride *= 2;
}

std::vector<SweptMemory> MemoryTable::rows(const SweepTables& tables) const {
  using Key = std::tuple<Place, std::string_view, std::string_view>;
  std::map<Key, Highest> merged;  // scopes that differ in ids alone are one row
  for (const auto& [key, found] : highest_) {
    Highest& highest = merged[{key.first, tables.stage_of(key.second), tables.operation_of(key.second)}];
    highest.samples += found.samples;
    highest.bytes = std::max(highest.bytes, found.bytes);
  }
  std::vector<SweptMemory> rows;
  for (const auto& [key, highest] : merged) {
    const auto& [place, stage, operation] = key;
    rows.push_back({.owner = place.first,
                    .device = place.second,
                    .stage = stage,
                    .operation = operation,
                    .samples = highest.samples,
                    .highest_bytes = highest.bytes});
  }
  return rows;
}

std::vector<SweptMemorySeries> MemoryTable::series() const {
  std::vector<SweptMemorySeries> found;
  for (const auto& [place, use] : uses_) {
    found.push_back(use.series);
    std::tie(found.back().owner, found.back().device) = place;
  }
  return found;
}

}  // namespace rlscope
