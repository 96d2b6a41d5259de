// Writes the device records of one queue. They come in batches, long after the work was launched, and nearly in order.
#pragma once
#include <cstdint>

#include "beside_writer.h"
#include "trace_format.h"

namespace rlscope {

struct DeviceRecord {
  DeviceWork work;
  uint64_t start_ticks;
  uint64_t end_ticks;
  uint32_t name;
  uint32_t launch_site;
  uint64_t bytes;  // of copies and memsets
};

class DeviceWriter : public BesideWriter {
 public:
  DeviceWriter(ProcessFile* file, uint32_t stream) : BesideWriter(file, stream, ChunkKind::kDevice) {}

  // By one thread at a time. False where the record could not be written; then it was counted.
  bool write(const DeviceRecord& record);
};

}  // namespace rlscope
