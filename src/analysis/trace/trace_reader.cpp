// Records from chunks that may be damaged, cut short, hostile or still growing.
#include "trace_reader.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstring>

#include "crc32c.h"
#include "formatted.h"

namespace rlscope {
namespace {

constexpr size_t kMostNumbers = 8;  // of a record
constexpr size_t kLongestRecord = kMostNumbers * kMaxVarintBytes;
constexpr size_t kLongestFastRecord = 2 * kMaxVarintBytes;
constexpr uint64_t kSmallestWindow = 4096;  // unless a smaller one is asked for
constexpr size_t kSlack = kMaxVarintBytes;  // decode_varint reads a whole word

std::atomic<uint64_t> read_so_far{0};

// How many numbers a record has, by the first ones; 0: there is no such record.
size_t numbers_in_record(const uint64_t* numbers, size_t known) {
  uint64_t kind = numbers[0] & 3;
  if (kind != kOther) return kind == kBegin ? 2 : 1;
  if (known < 2) return 2;
  switch (numbers[1]) {
    case kProgress:
    case kTask: return 5;
    case kBlocked: return 4;
    case kMemory: return 6;
    case kSample:
    case kCollective: return 8;
    default: return 0;
  }
}

}  // namespace

uint64_t bytes_read() { return read_so_far.load(std::memory_order_relaxed); }

void ChunkReader::reject(const std::string& what) {
  file_.report_damage(position(record_), what);
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
bool ChunkReader::checksum_holds(uint32_t expected) {
  uint64_t start = window_offset_;
  uint32_t crc = 0;
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
  if (chunk_is_closed_ && !checksum_holds(chunk.payload_crc32c)) return false;
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

StreamReader::StreamReader(TraceFile& file, const StreamIndex& index, size_t window_bytes, size_t first_chunk)
    : ChunkReader(file, window_bytes), index_(index), next_chunk_(first_chunk), ticks_(index.chunks[first_chunk].base_ticks) {
  uint64_t largest = kSmallestWindow;
  if (first_chunk > 0) next_sequence_ = index.chunks[first_chunk].sequence;
  for (const ChunkPlace& place : index.chunks) largest = std::max(largest, place.end - place.offset);
  window_bytes_ = std::min<uint64_t>(window_bytes, largest);
}

// Goes to the next chunk that can be read; false when there is none.
bool StreamReader::open_chunk() {
  while (next_chunk_ < index_.chunks.size()) {
    const ChunkPlace& place = index_.chunks[next_chunk_++];
    seek(place.offset);
    // The header again, not the one that was indexed: since then the chunk may have been closed.
    ChunkHeader chunk{};
    file_.read(place.offset, &chunk, sizeof chunk);
    std::string wrong = file_.check_chunk(chunk);
    if (wrong.empty() && chunk.payload_offset > place.end - place.offset) wrong = "the file ends inside the open frames";
    if (wrong.empty() && place.sequence != next_sequence_) {
      file_.report_damage(place.offset, formatted("chunk %u of thread %u was expected, chunk %u was found", next_sequence_,
                                             index_.stream, place.sequence));
      if (place.sequence < next_sequence_) continue;
    }
    next_sequence_ = place.sequence + 1;
    if (!wrong.empty()) {
      file_.report_damage(place.offset, wrong);
      continue;
    }
    open_frames_.resize(chunk.depth);
    size_t frame_bytes = chunk.depth * sizeof(uint32_t);
    if (frame_bytes && file_.read(place.offset + sizeof chunk, open_frames_.data(), frame_bytes) < frame_bytes) {
      file_.report_damage(place.offset, "the file ends inside the open frames");
      continue;
    }
    if (!open_payload(place, chunk)) {
      file_.report_damage(place.offset, formatted("the checksum of chunk %u of thread %u does not match", place.sequence,
                                             index_.stream));
      continue;
    }
    ticks_before_chunk_ = ticks_;
    ticks_ = chunk.base_ticks;
    switch_ticks_ = chunk.switch_ticks;
    last_begun_ = 0;
    expected_names_.fill(0);
    return true;
  }
  return false;
}

// A record of another kind than begin and end, from its numbers. An empty text, or what is wrong with it.
std::string StreamReader::read_other(const uint64_t* numbers) {
  uint64_t delta = numbers[0] >> 2;
  if (numbers[1] == kProgress) {
    if (numbers[2] > 2) return formatted("a progress record has the flags %" PRIu64, numbers[2] - 1);
    type_ = RecordType::kProgress;
    progress_ = {numbers[2] == 2, numbers[3] - 1, numbers[4] - 1};
    return {};
  }
  if (numbers[1] == kTask) {
    type_ = RecordType::kTask;
    task_ = {static_cast<uint32_t>(std::min(numbers[2] - 1, uint64_t{UINT32_MAX})), numbers[3] - 1, numbers[4] - 1};
    return {};
  }
  if (numbers[1] == kSample) {
    uint64_t flags = numbers[3] - 1;
    type_ = RecordType::kSample;
    sample_ = {static_cast<uint32_t>(std::min(numbers[2] - 1, uint64_t{UINT32_MAX})), (flags & kSampleDiscarded) != 0,
               (flags & kSampleOfTask) != 0, numbers[4] - 1, numbers[5] - 1, numbers[6] - 1, numbers[7] - 1};
    if (flags > (kSampleDiscarded | kSampleOfTask)) return formatted("a sample has the flags %" PRIu64, flags);
    if (sample_.working_ticks <= sample_.elapsed_ticks) return {};
    return formatted("a sample of %" PRIu64 " ticks cannot be worked on for %" PRIu64, sample_.elapsed_ticks,
                     sample_.working_ticks);
  }
  if (numbers[1] == kCollective) {
    uint64_t flags = numbers[3] - 1;
    type_ = RecordType::kCollective;
    collective_ = {static_cast<uint32_t>(std::min(numbers[2] - 1, uint64_t{UINT32_MAX})), flags == kCollectiveUnwaited,
                   numbers[4] - 1, numbers[5] - 1, numbers[6] - 1, numbers[7] - 1};
    if (flags > kCollectiveUnwaited) return formatted("a collective has the flags %" PRIu64, flags);
    if (collective_.waited_ticks <= collective_.elapsed_ticks) return {};
    return formatted("a collective of %" PRIu64 " ticks cannot be waited for for %" PRIu64, collective_.elapsed_ticks,
                     collective_.waited_ticks);
  }
  if (numbers[1] == kMemory) {
    uint64_t owner = numbers[2] - 1;
    type_ = RecordType::kMemory;
    memory_ = {static_cast<MemoryOwner>(std::min(owner, uint64_t{UINT32_MAX})),
               static_cast<uint32_t>(std::min(numbers[3] - 1, uint64_t{UINT32_MAX})), numbers[4] - 1, numbers[5] - 1};
    if (owner <= static_cast<uint64_t>(MemoryOwner::kJax)) return {};
    return formatted("memory has the owner %" PRIu64, owner);
  }
  type_ = RecordType::kBlocked;
  blocked_gap_ = {ticks_, delta, numbers[2] - 1, numbers[3] - 1};
  bool fits = blocked_gap_.helped_ticks <= blocked_gap_.blocked_ticks && blocked_gap_.blocked_ticks <= delta;
  if (fits) return {};
  return formatted("a thread cannot be blocked for %" PRIu64 " of %" PRIu64 " ticks and be helped for %" PRIu64,
              blocked_gap_.blocked_ticks, delta, blocked_gap_.helped_ticks);
}

bool StreamReader::next_slowly() {
  for (;;) {
    if (payload_end_ == 0) {
      bool has_chunk = open_chunk();
      type_ = has_chunk ? RecordType::kChunkStart : RecordType::kFinished;
      return has_chunk;
    }
    if (!reaches_record(kLongestRecord)) continue;
    const uint8_t* cursor = cursor_;
    const uint8_t* behind_head = cursor_;
    uint64_t numbers[kMostNumbers] = {};
    size_t wanted = 1;
    for (size_t i = 0; i < wanted; i++) {
      bool is_sound = cursor < window_end_ && (numbers[i] = decode_varint(cursor)) != 0 && cursor <= window_end_;
      if (i == 0) behind_head = cursor;
      wanted = is_sound ? numbers_in_record(numbers, i + 1) : 0;
    }
    if (wanted == 0) {
      reject(formatted("no record starts with byte 0x%02x here", *cursor_));
      continue;
    }
    if ((numbers[0] & 3) == kOther) {
      std::string wrong = read_other(numbers);
      if (!wrong.empty()) {
        reject(wrong);
        continue;
      }
      cursor_ = cursor;
    } else {
      type_ = static_cast<RecordType>(numbers[0] & 3);
      cursor_ = behind_head;  // take_id() goes on from here
    }
    ticks_ += numbers[0] >> 2;
    return true;
  }
}

}  // namespace rlscope
