// Chunks of one queue, or of stacks.
#include "beside_writer.h"

#include <algorithm>
#include <atomic>

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
  ChunkHeader* header = chunk_.header;
  header->stream = stream_;
  header->sequence = sequence_++;
  header->base_ticks = last_ticks_ = ticks;
  cursor_ = reinterpret_cast<uint8_t*>(header) + header->payload_offset;
  limit_ = reinterpret_cast<uint8_t*>(header) + chunk_.bytes;
  std::atomic_thread_fence(std::memory_order_release);
  header->kind = kind_;
  return true;
}

bool BesideWriter::reach(uint64_t ticks) {
  bool has_room = cursor_ && cursor_ + CodedRecord::kRoom <= limit_ && ticks >= last_ticks_;
  return !has_failed_ && (has_room || next_chunk(ticks));
}

void BesideWriter::close() {
  if (!chunk_.header) return;
  auto* payload = reinterpret_cast<uint8_t*>(chunk_.header) + chunk_.header->payload_offset;
  file_->close_chunk(chunk_, static_cast<uint32_t>(cursor_ - payload), true);
  cursor_ = limit_ = nullptr;
}

}  // namespace rlscope
