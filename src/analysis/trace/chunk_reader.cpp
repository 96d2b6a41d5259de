// Payloads of chunks that may be damaged, cut short, hostile or still growing.
#include "chunk_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "crc32c.h"
#include "record_lengths.h"

namespace rlscope {
namespace {

// decode_varint reads a whole word, and RecordLengths a block.
constexpr size_t kSlack = RecordLengths::kBytes + RecordLengths::kReadBeyond;

std::atomic<uint64_t> read_so_far{0};

}  // namespace

uint64_t bytes_read() { return read_so_far.load(std::memory_order_relaxed); }

void ChunkReader::reject(const std::string& what) {
  file_.report_damage(position(record_), what);
  leave_chunk();
}

void ChunkReader::leave_chunk() {
  payload_end_ = 0;
  cursor_ = safe_end_ = window_end_ = window_.data();
}

void ChunkReader::seek(uint64_t offset) {
  if (window_.empty()) window_.resize(window_bytes_ + kSlack);
  window_offset_ = offset;
  cursor_ = safe_end_ = window_end_ = window_.data();
}

// Moves what is left to the front of the window and reads on, at most to the payload's end.
void ChunkReader::fill() {
  auto kept = static_cast<size_t>(window_end_ - cursor_);
  window_offset_ = position(cursor_);
  std::memmove(window_.data(), cursor_, kept);
  uint64_t wanted = std::min<uint64_t>(window_bytes_ - kept, payload_end_ - window_offset_ - kept);
  size_t got = file_.read(window_offset_ + kept, window_.data() + kept, wanted);
  if (got < wanted) payload_end_ = window_offset_ + kept + got;  // the file was cut while it was read
  cursor_ = window_.data();
  window_end_ = cursor_ + kept + got;
  std::memset(window_.data() + kept + got, 0, kSlack);
  safe_end_ = kept + got >= kLongestFastRecord ? window_end_ - (kLongestFastRecord - 1) : cursor_;
}

// Before any record is used, so that a damaged chunk contributes nothing.
bool ChunkReader::checksum_holds(uint32_t crc, uint32_t expected) {
  uint64_t start = window_offset_;
  do {
    cursor_ = window_end_;
    fill();
    crc = crc32c(crc, cursor_, static_cast<size_t>(window_end_ - cursor_));
  } while (position(window_end_) < payload_end_);
  if (crc != expected) return false;
  if (window_offset_ != start) seek(start);
  return true;
}

bool ChunkReader::open_payload(const ChunkPlace& place, const ChunkHeader& chunk) {
  read_so_far.fetch_add(place.end - place.offset, std::memory_order_relaxed);
  uint64_t start = place.offset + chunk.payload_offset;
  uint64_t end = place.offset + chunk.chunk_bytes;
  if (chunk.flags & kChunkClosed) end = start + chunk.payload_bytes;
  // In a file that was cut short the checksum of the last chunk says nothing: its records are read up to the cut.
  chunk_is_closed_ = (chunk.flags & kChunkClosed) && end <= place.end;
  payload_end_ = std::min(end, place.end);
  seek(start);
  if (chunk_is_closed_ && !checksum_holds(file_.sum_before_payload(place, chunk), chunk.crc32c)) return false;
  record_ = cursor_;
  return true;
}

bool ChunkReader::reaches_record(size_t longest_record) {
  if (static_cast<size_t>(window_end_ - cursor_) < longest_record && position(window_end_) < payload_end_) fill();
  if (cursor_ == window_end_ || (*cursor_ == 0 && !chunk_is_closed_)) {
    payload_end_ = 0;
    safe_end_ = cursor_;
    return false;
  }
  record_ = cursor_;
  return true;
}

}  // namespace rlscope
