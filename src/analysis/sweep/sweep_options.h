// What the sweep is told besides the file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "breakdown_cells.h"
#include "event_costs.h"

namespace rlscope {

// To whom time belongs in which a device works and the process waits.
enum class GpuAttribution : uint8_t {
  kLaunch,      // to the operation that launched the work
  kCoincident,  // to the operation that is open
};

// Is told whose the process's time is, stretch by stretch, in order and end to end.
class OwnerWatch {
 public:
  virtual ~OwnerWatch() = default;
  // `wait` is the number of the wait in which the owner is; 0: in none.
  virtual void own(const BreakdownPlace& place, uint32_t wait, uint64_t ticks) = 0;
};

struct SweepOptions {
  uint64_t limit_ticks = 0;  // when a process that did not stop in an orderly way ended; 0: not known
  bool by_thread = false;
  GpuAttribution gpu_attribution = GpuAttribution::kLaunch;
  const CostTable* costs = nullptr;  // null: times are not corrected
  const std::vector<uint64_t>* borders = nullptr;  // where bins of the detail end, in ticks; null: no detail
  OwnerWatch* watch = nullptr;
  size_t window_bytes = 32 << 20;  // of all threads together; each gets a share of it within bounds
  bool decodes_ahead = false;  // on a thread of its own, unless there are many streams
  // From when on time and events count, up to the limit if there is one; without costs, borders and watch. 0: from the
  // start on, and all that there are.
  uint64_t since_ticks = 0;
};

}  // namespace rlscope
