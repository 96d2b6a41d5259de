// Who has a device that several processes use: how long it works for one of them alone, how long for several at once, and
// how long it does nothing between the work of one and that of another.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "work_union.h"

namespace rlscope {

struct ProcessShare {
  uint64_t alone = 0;
  uint64_t shared = 0;  // while it worked for others too
};

// From the last work of one process to the first of another one, where the device did nothing between them.
struct SwitchSum {
  uint64_t count = 0;
  uint64_t time = 0;
  uint64_t longest = 0;
};

struct DeviceSharing {
  uint64_t shared = 0;  // time in which the device worked for two or more processes at once
  std::vector<ProcessShare> processes;  // by input
  std::map<std::pair<size_t, size_t>, SwitchSum> switches;  // by the input before and the input after
};

// Of each place, in the time that the clocks map to. The times alone and the shared time sum to the busy union.
std::vector<DeviceSharing> device_sharing(const std::vector<UnionInput>& inputs, bool recovers);

}  // namespace rlscope
