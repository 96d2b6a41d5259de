// Goes through the work of a process in order of its start, and keeps for each device what communicates.
#include "communication_intervals.h"

#include <algorithm>
#include <deque>
#include <map>

#include "device_reader.h"

namespace rlscope {
namespace {

struct Device {
  uint64_t now = 0;
  uint64_t computes_until = 0;
  std::deque<uint32_t> communicating;  // places of pieces, the earliest first
};

// Work comes in order of its start, so what computes before `now` is known.
void go_to(uint64_t now, Device& device, CommunicationIntervals& found) {
  uint64_t exposed_since = std::max(device.now, device.computes_until);
  while (!device.communicating.empty()) {
    uint32_t piece = device.communicating.front();
    uint64_t end = std::min(found.ends[piece], now);
    if (exposed_since < end) {
      found.exposed_starts.push_back(exposed_since);
      found.exposed_ends.push_back(end);
      found.exposed_pieces.push_back(piece);
      exposed_since = end;
    }
    if (found.ends[piece] > now) break;
    device.communicating.pop_front();
  }
  device.now = now;
}

}  // namespace

CommunicationIntervals communication_intervals(TraceFile& file, uint64_t start_ticks, uint64_t end_ticks) {
  CommunicationIntervals found;
  std::map<uint32_t, Device> devices;
  for (DeviceMerge records(file); records.has_next();) {
    WorkRecord record = records.take();
    uint64_t start = std::max(record.start_ticks, start_ticks);
    uint64_t end = std::min(record.end_ticks, end_ticks);
    if (!is_device_work(record.work) || start >= end) continue;
    Device& device = devices[record.device];
    go_to(start, device, found);
    if (!record.communicates) {
      device.computes_until = std::max(device.computes_until, end);
      continue;
    }
    device.communicating.push_back(static_cast<uint32_t>(found.starts.size()));
    found.starts.push_back(start);
    found.ends.push_back(end);
    found.devices.push_back(record.device);
    found.queues.push_back(record.queue);
    found.names.push_back(record.name);
  }
  for (auto& [number, device] : devices) go_to(end_ticks, device, found);
  return found;
}

}  // namespace rlscope
