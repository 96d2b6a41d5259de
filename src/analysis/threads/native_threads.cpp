// Finds native threads by the first frame that they open.
#include "native_threads.h"

#include <algorithm>

namespace rlscope {
namespace {

constexpr size_t kWindowOfFirstFrame = 8 << 10;

}  // namespace

// The first frame that a thread opens shows whether native code has called it; the chunks that are left out begin with it.
void NativeThreads::meet(TraceFile& file, const StreamIndex& stream, const SweepTables& tables) {
  StreamReader reader(file, stream, kWindowOfFirstFrame);
  while (reader.next() && reader.ticks() <= stream.first_ticks) {
    uint64_t id = 0;
    if (reader.is_begin()) id = reader.id();
    if (reader.type() == RecordType::kChunkStart && !reader.chunk_start().open_frames.empty()) id = reader.chunk_start().open_frames[0];
    if (id == 0) continue;
    if (!tables.knows_name(id)) return;
    if (is_called_by_native_code(tables.name(static_cast<uint32_t>(id)))) {
      first_call_ = std::min(first_call_, std::pair(reader.ticks(), stream.stream));
    } else {
      python_streams_.insert(stream.stream);
    }
    return;
  }
}

// A backend, a simulator or other native code may compute in other threads while the one that called it is blocked. What threads did that have
// no stream is known; what those did between their records that have one and run no Python is not.
AbsentParts NativeThreads::parts_of(const Thread& thread, const AbsentGap& gap) const {
  uint8_t category = thread.category();
  if (category == kPython) return {gap.blocked_ticks, gap.queued_ticks};
  if (category == kCuda) return {0, gap.queued_ticks};
  if (category == kWait && gap.queued_ticks > 0) return {gap.ticks - gap.queued_ticks, gap.queued_ticks};
  bool may_be_helped = category == kSimulator || category == kBackend || category == kNative;
  bool have_called = have_called_ || std::pair(gap.start_ticks, thread.stream) > first_call_;
  if (!may_be_helped || have_called) return {};
  uint64_t helped_ticks = std::min(gap.helped_ticks, gap.blocked_ticks);
  return {gap.blocked_ticks - helped_ticks, gap.queued_ticks - (gap.helped_ticks - helped_ticks)};
}

}  // namespace rlscope
