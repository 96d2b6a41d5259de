// Chunks of one queue, or of stacks.
#include "beside_writer.h"

#include <algorithm>

namespace rlscope {
namespace {

constexpr uint32_t kFirstChunkBytes = 16 << 10;
constexpr uint32_t kLargestChunkBytes = 256 << 10;
constexpr uint32_t kChunkGrowth = 4;

}  // namespace

bool BesideWriter::next_chunk(uint64_t ticks) {
  close();
  chunk_bytes_ = sequence_ == 0 ? kFirstChunkBytes : std::min(chunk_bytes_ * kChunkGrowth, kLargestChunkBytes);
  if (int error = file_->take_chunk(chunk_bytes_, chunk_)) {
    has_failed_ = true;
    file_->fail(error);
    return false;
  }
  chunk_.header().stream = stream_;
  chunk_.header().sequence = sequence_++;
  chunk_.header().base_ticks = last_ticks_ = ticks;
  cursor_ = chunk_.payload();
  limit_ = chunk_.end();
  chunk_.begin(kind_);
  return true;
}

bool BesideWriter::reach(uint64_t ticks) {
  bool has_room = cursor_ && cursor_ + CodedRecord::kRoom <= limit_ && ticks >= last_ticks_;
  return !has_failed_ && (has_room || next_chunk(ticks));
}

void BesideWriter::close() {
  if (!chunk_.is_mapped()) return;
  file_->close_chunk(chunk_, static_cast<uint32_t>(cursor_ - chunk_.payload()), true);
  cursor_ = limit_ = nullptr;
}

}  // namespace rlscope
