// The records of one queue.
#include "device_writer.h"

namespace rlscope {

bool DeviceWriter::write(const DeviceRecord& record) {
  if (!reach(record.start_ticks)) {
    file_->losses().count_dropped_device_records(1);
    return false;
  }
  CodedRecord coded;
  coded.append(since_last(record.start_ticks) << 3 | record.work);
  coded.append((record.end_ticks > record.start_ticks ? record.end_ticks - record.start_ticks : 0) + 1);
  coded.append(record.name);
  coded.append(record.launch_site);
  if (record.work == kCopy || record.work == kMemset) coded.append(record.bytes + 1);
  store(record.start_ticks, coded);
  return true;
}

}  // namespace rlscope
