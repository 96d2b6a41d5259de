// Clips what the merged chunks of a process hold to its life.
#include "device_intervals.h"

#include <algorithm>

#include "device_reader.h"

namespace rlscope {

DeviceIntervals device_intervals(TraceFile& file, uint64_t start_ticks, uint64_t end_ticks) {
  DeviceIntervals result;
  DeviceMerge records(file);
  while (records.has_next()) {
    WorkRecord record = records.take();
    uint64_t start = std::max(record.start_ticks, start_ticks);
    uint64_t end = std::min(record.end_ticks, end_ticks);
    if (!is_device_work(record.work) || start >= end) continue;
    result.starts.push_back(start);
    result.ends.push_back(end);
    result.devices.push_back(record.device);
    result.launch_sites.push_back(record.launch_site);
    result.work.push_back(static_cast<uint8_t>(record.work));
  }
  return result;
}

}  // namespace rlscope
