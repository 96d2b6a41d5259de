// The time in which a device works for any of several processes. What runs for two processes at once counts once, so
// this is true busy time, where the processes' own sums also count what waited while another process had the device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "work_union.h"

namespace rlscope {

enum class WorkKind { kAny, kComputing, kCommunicating };

// Busy time of each place with work of this kind, in the time that the clocks map to.
std::vector<uint64_t> busy_union(const std::vector<UnionInput>& inputs, size_t places, WorkKind kind, bool recovers);

// `count` intervals of that time, end to end.
struct Bins {
  uint64_t start;
  uint64_t width;  // not 0
  size_t count;
};

// Busy time of each place within each bin. What lies outside the bins is left out.
std::vector<std::vector<uint64_t>> busy_union_in_bins(const std::vector<UnionInput>& inputs, size_t places,
                                                      const Bins& bins, WorkKind kind, bool recovers);

}  // namespace rlscope
