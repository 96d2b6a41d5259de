// Reads which Python stacks threads had, in order of time.
#pragma once
#include <cstddef>
#include <cstdint>

#include "chunk_reader.h"

namespace rlscope {

struct SeenStack {
  uint64_t ticks;
  uint64_t thread_id;  // the operating system's
  uint32_t stack;      // an id in the file's stacks; kTornStack
};

class StackReader : public ChunkReader {
 public:
  explicit StackReader(TraceFile& file);

  // Goes to the next record of a known stack; false when there is none.
  bool next();
  const SeenStack& seen() const { return seen_; }

 private:
  bool open_chunk();
  bool is_known(uint64_t stack) const;

  size_t next_chunk_ = 0;
  bool catalog_is_final_ = false;
  SeenStack seen_{};
};

}  // namespace rlscope
