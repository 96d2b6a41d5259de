// Writes which Python stacks threads had, as the one thread that looks at them saw them.
#pragma once
#include <cstdint>

#include "api.h"
#include "beside_writer.h"

namespace rlscope {

class RLSCOPE_API StackWriter : public BesideWriter {
 public:
  StackWriter(ProcessFile* file, uint32_t stream) : BesideWriter(file, stream, ChunkKind::kStacks) {}

  // `stack`: an id of Session::write_stack, or kTornStack. What cannot be written is counted as dropped.
  void write(uint64_t ticks, uint64_t thread_id, uint32_t stack);
};

}  // namespace rlscope
