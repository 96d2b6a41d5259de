// The device work of one process, piece by piece: for those who join it with something else that is known of the device.
#pragma once
#include <cstdint>
#include <vector>

#include "trace_file.h"

namespace rlscope {

// One entry of each per piece of work, in order of its start.
struct DeviceIntervals {
  std::vector<uint64_t> starts;  // in ticks
  std::vector<uint64_t> ends;
  std::vector<uint32_t> devices;  // CUDA's numbers in the process
  std::vector<uint32_t> launch_sites;
  std::vector<uint8_t> work;  // DeviceWork: kernel, copy or memset
};

// Clipped to the process's life, from `start_ticks` to `end_ticks`; what takes no time there is left out.
DeviceIntervals device_intervals(TraceFile& file, uint64_t start_ticks, uint64_t end_ticks);

}  // namespace rlscope
