// Writes the device records of one queue. They come in batches, long after the work was launched, and nearly in order.
#pragma once
#include <cstdint>

#include "process_file.h"
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

class DeviceWriter {
 public:
  DeviceWriter(ProcessFile* file, uint32_t stream) : file_(file), stream_(stream) {}

  // By one thread at a time. False where the record could not be written; then it was counted.
  bool write(const DeviceRecord& record);
  void close();

 private:
  bool next_chunk(uint64_t start_ticks);

  ProcessFile* file_;
  uint32_t stream_;
  uint32_t sequence_ = 0;
  uint32_t chunk_bytes_;
  MappedChunk chunk_;
  uint8_t* cursor_ = nullptr;
  uint8_t* limit_ = nullptr;
  uint64_t last_start_ = 0;
  bool has_failed_ = false;
};

}  // namespace rlscope
