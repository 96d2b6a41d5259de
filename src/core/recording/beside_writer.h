// Chunks of what is recorded beside the threads' own records: by one thread, nearly in order of time, about others.
#pragma once
#include <cstdint>

#include "coded_record.h"
#include "process_file.h"
#include "trace_format.h"

namespace rlscope {

class BesideWriter {
 public:
  // By one thread at a time.
  void close();
  // In a forked child: the chunk is its parent's.
  void abandon() { chunk_.unmap(); }

 protected:
  BesideWriter(ProcessFile* file, uint32_t stream, ChunkKind kind) : file_(file), stream_(stream), kind_(kind) {}

  // Makes room for a record at this time, in another chunk where it is earlier than the one before. False where it cannot be
  // written.
  bool reach(uint64_t ticks);
  // Ticks since the record before, or the start of the chunk.
  uint64_t since_last(uint64_t ticks) const { return ticks - last_ticks_; }
  void store(uint64_t ticks, const CodedRecord& record) {
    last_ticks_ = ticks;
    cursor_ += record.store(cursor_);
  }

  ProcessFile* file_;

 private:
  bool next_chunk(uint64_t ticks);

  uint32_t stream_;
  ChunkKind kind_;
  uint32_t sequence_ = 0;
  uint32_t chunk_bytes_;
  MappedChunk chunk_;
  uint8_t* cursor_ = nullptr;
  uint8_t* limit_ = nullptr;
  uint64_t last_ticks_ = 0;
  bool has_failed_ = false;
};

}  // namespace rlscope
