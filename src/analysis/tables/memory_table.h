// How much memory was in use: the most by scope, and how it went over time.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "breakdown_cells.h"
#include "sweep_result.h"
#include "sweep_tables.h"
#include "record_batch.h"

namespace rlscope {

class MemoryTable {
 public:
  static constexpr size_t kMostOfSeries = 1 << 12;

  // `ticks_in_scope`: for how long the thread that looked has been in it.
  void add(const MemorySample& sample, Scope scope, uint64_t ticks_in_scope, uint64_t now);
  // What follows belongs to another iteration.
  void report_progress() { reports_++; }
  // To be asked for while the tables have their rows.
  std::vector<SweptMemory> rows(const SweepTables& tables) const;
  std::vector<SweptMemorySeries> series() const;

 private:
  struct Use {
    SweptMemorySeries series;
    uint64_t samples = 0;
    uint64_t looked_at = 0;  // last
    uint64_t stride = 1;  // of samples that are in the series
  };
  struct Highest {
    uint64_t samples = 0;
    uint64_t bytes = 0;
  };
  using Place = std::pair<MemoryOwner, uint32_t>;

  std::map<Place, Use> uses_;
  std::map<std::pair<Place, Scope>, Highest> highest_;
  uint64_t reports_ = 0;
};

}  // namespace rlscope
