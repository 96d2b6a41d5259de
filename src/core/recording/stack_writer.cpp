// The records of a stacks chunk.
#include "stack_writer.h"

namespace rlscope {

void StackWriter::write(uint64_t ticks, uint64_t thread_id, uint32_t stack) {
  if (!reach(ticks)) {
    file_->losses().count_dropped_records(1);
    return;
  }
  CodedRecord record;
  record.append(since_last(ticks) + 1);
  record.append(thread_id + 1);
  record.append(uint64_t{stack} + 1);
  store(ticks, record);
}

}  // namespace rlscope
