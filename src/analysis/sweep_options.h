// What the sweep is told besides the file.
#pragma once
#include <cstdint>
#include <vector>

#include "event_costs.h"

namespace rlscope {

// To whom time belongs in which a device works and the process waits.
enum class GpuAttribution : uint8_t {
  kLaunch,      // to the operation that launched the work
  kCoincident,  // to the operation that is open
};

struct SweepOptions {
  uint64_t limit_ticks = 0;  // when a process that did not stop in an orderly way ended; 0: not known
  bool by_thread = false;
  GpuAttribution gpu_attribution = GpuAttribution::kLaunch;
  const CostTable* costs = nullptr;  // null: times are not corrected
  const std::vector<uint64_t>* borders = nullptr;  // where bins of the detail end, in ticks; null: no detail
};

}  // namespace rlscope
