// Chunks and records of one queue.
#include "device_writer.h"

#include <algorithm>
#include <atomic>

#include "coded_record.h"

namespace rlscope {
namespace {

constexpr uint32_t kFirstChunkBytes = 16 << 10;
constexpr uint32_t kLargestChunkBytes = 256 << 10;
constexpr uint32_t kChunkGrowth = 4;

}  // namespace

bool DeviceWriter::next_chunk(uint64_t start_ticks) {
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
  header->base_ticks = last_start_ = start_ticks;
  cursor_ = reinterpret_cast<uint8_t*>(header) + header->payload_offset;
  limit_ = reinterpret_cast<uint8_t*>(header) + chunk_.bytes;
  std::atomic_thread_fence(std::memory_order_release);
  header->kind = ChunkKind::kDevice;
  return true;
}

bool DeviceWriter::write(const DeviceRecord& record) {
  bool has_room = cursor_ && cursor_ + CodedRecord::kRoom <= limit_ && record.start_ticks >= last_start_;
  if (has_failed_ || (!has_room && !next_chunk(record.start_ticks))) {
    file_->losses().count_dropped_device_records(1);
    return false;
  }
  CodedRecord coded;
  coded.append((record.start_ticks - last_start_) << 3 | record.work);
  coded.append((record.end_ticks > record.start_ticks ? record.end_ticks - record.start_ticks : 0) + 1);
  coded.append(record.name);
  coded.append(record.launch_site);
  if (record.work == kCopy || record.work == kMemset) coded.append(record.bytes + 1);
  last_start_ = record.start_ticks;
  cursor_ += coded.store(cursor_);
  return true;
}

void DeviceWriter::close() {
  if (!chunk_.header) return;
  auto* payload = reinterpret_cast<uint8_t*>(chunk_.header) + chunk_.header->payload_offset;
  file_->close_chunk(chunk_, static_cast<uint32_t>(cursor_ - payload), true);
  cursor_ = limit_ = nullptr;
}

}  // namespace rlscope
