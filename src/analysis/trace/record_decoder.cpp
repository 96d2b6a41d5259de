// Records from chunks that may be damaged, cut short, hostile or still growing.
#include "record_decoder.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <iterator>
#include <utility>

#include "formatted.h"

namespace rlscope {
namespace {

constexpr size_t kMostNumbers = 2 + kMostNumbersOfTag;  // of a record
constexpr size_t kLongestRecord = kMostNumbers * kMaxVarintBytes;
constexpr uint64_t kSmallestWindow = 4096;  // unless a smaller one is asked for

// How many numbers a record has, by the first ones; 0: there is no such record.
size_t numbers_in_record(const uint64_t* numbers, size_t known) {
  uint64_t kind = numbers[0] & 3;
  if (kind != kOther) return kind == kBegin ? 2 : 1;
  if (known < 2) return 2;
  uint8_t behind = numbers[1] < std::size(kNumbersOfTag) ? kNumbersOfTag[numbers[1]] : 0;
  return behind ? 2u + behind : 0;
}

uint32_t narrow(uint64_t number) { return static_cast<uint32_t>(std::min(number, uint64_t{UINT32_MAX})); }

// Of a number of at most three bytes, what decode_varint finds: it begins at the word's first byte.
inline unsigned short_bytes(uint64_t word) { return static_cast<unsigned>(__builtin_ctzll(~word)) + 1; }
inline uint64_t short_value(uint64_t word, unsigned bytes) {
  // Of 64 - 8 * bytes, a shift looks at the lower six bits only.
  return word << (-8 * bytes & 63) >> (-8 * bytes & 63) >> bytes;
}

FoundDamage wrong(std::string what) { return {0, std::move(what), true}; }

// A record of another kind than begin and end, from the numbers behind its tag, or what is wrong with it.
OtherRecord to_other(uint64_t tag, const uint64_t* stored, uint64_t ticks_before, uint64_t delta) {
  AbsentGap gap{ticks_before, delta, 0, 0, 0};
  switch (tag) {
    case kProgress: {
      auto found = ProgressNumbers::from(stored);
      if (found.flags > 1) return wrong(formatted("a progress record has the flags %" PRIu64, found.flags));
      return Progress{found.flags == 1, found.timesteps, found.total_timesteps};
    }
    case kTask: {
      auto found = TaskNumbers::from(stored);
      return TaskEnd{narrow(found.operation), found.elapsed_ticks, found.running_ticks};
    }
    case kSample: {
      auto found = SampleNumbers::from(stored);
      SampleEnd sample{narrow(found.operation), (found.flags & kSampleDiscarded) != 0, (found.flags & kSampleOfTask) != 0,
                       found.version, found.tokens, found.elapsed_ticks, found.working_ticks};
      if (found.flags > (kSampleDiscarded | kSampleOfTask)) {
        return wrong(formatted("a sample has the flags %" PRIu64, found.flags));
      }
      if (sample.working_ticks <= sample.elapsed_ticks) return sample;
      return wrong(formatted("a sample of %" PRIu64 " ticks cannot be worked on for %" PRIu64, sample.elapsed_ticks,
                             sample.working_ticks));
    }
    case kCollective: {
      auto found = CollectiveNumbers::from(stored);
      CollectiveEnd call{narrow(found.wait), found.flags == kCollectiveUnwaited, found.sequence, found.bytes,
                         found.elapsed_ticks, found.waited_ticks};
      if (found.flags > kCollectiveUnwaited) return wrong(formatted("a collective has the flags %" PRIu64, found.flags));
      if (call.waited_ticks <= call.elapsed_ticks) return call;
      return wrong(formatted("a collective of %" PRIu64 " ticks cannot be waited for for %" PRIu64, call.elapsed_ticks,
                             call.waited_ticks));
    }
    case kMemory: {
      auto found = MemoryNumbers::from(stored);
      if (found.owner > static_cast<uint64_t>(MemoryOwner::kJax)) {
        return wrong(formatted("memory has the owner %" PRIu64, found.owner));
      }
      return MemorySample{static_cast<MemoryOwner>(found.owner), narrow(found.device), found.used_bytes, found.peak_bytes};
    }
    case kAbsent: {
      auto found = AbsentNumbers::from(stored);
      gap = {ticks_before, delta, found.blocked_ticks, found.queued_ticks, found.helped_ticks};
      break;
    }
    case kBlocked: {
      auto found = BlockedNumbers::from(stored);
      gap = {ticks_before, delta, found.blocked_ticks, 0, found.helped_ticks};
      break;
    }
    default: return TaggedRecord(tag, stored);
  }
  bool is_sound = gap.blocked_ticks <= delta && gap.queued_ticks <= delta - gap.blocked_ticks &&
                  gap.helped_ticks <= gap.blocked_ticks + gap.queued_ticks;
  if (is_sound) return gap;
  return wrong(formatted("a thread cannot be blocked for %" PRIu64 " of %" PRIu64 " ticks, in line for %" PRIu64
                         " and be helped for %" PRIu64, gap.blocked_ticks, delta, gap.queued_ticks, gap.helped_ticks));
}

}  // namespace

RecordDecoder::RecordDecoder(TraceFile& file, const StreamIndex& index, size_t window_bytes, size_t first_chunk)
    : ChunkReader(file, window_bytes), index_(index), next_chunk_(first_chunk), ticks_(index.chunks[first_chunk].base_ticks) {
  uint64_t largest = kSmallestWindow;
  if (first_chunk > 0) next_sequence_ = index.chunks[first_chunk].sequence;
  for (const ChunkPlace& place : index.chunks) largest = std::max(largest, place.end - place.offset);
  window_bytes_ = std::min<uint64_t>(window_bytes, largest);
}

void RecordDecoder::fill(RecordBatch& batch) {
  batch.clear();
  while (batch.space() > 0) {
    decode_quickly(batch);
    if (batch.space() == 0) break;
    if (payload_end_ != 0) {
      decode_slowly(batch);
    } else if (next_chunk_ < index_.chunks.size()) {
      open_chunk(batch);
    } else {
      return batch.add(StreamEnd{});
    }
  }
  batch.add(BatchEnd{});
}

// Begins and ends, up to what is neither, is unusually long, or may be cut.
void RecordDecoder::decode_quickly(RecordBatch& batch) {
  Record* record = batch.end();
  const Record* const end = record + batch.space();
  while (cursor_ < safe_end_ && record < end) {
    RecordLengths lengths(cursor_);
    const uint8_t* const block = cursor_;
    const uint8_t* const block_end = std::min(block + RecordLengths::kBytes, safe_end_);
    record = decode_block(lengths, block_end, record, end);
    if (cursor_ < block_end) break;
  }
  batch.grow(static_cast<size_t>(record - batch.end()));
}

// Those that begin before the block's end, as far as there is room for them. Returns the place behind the last one.
Record* RecordDecoder::decode_block(const RecordLengths& lengths, const uint8_t* block_end, Record* record,
                                    const Record* end) {
  const uint8_t* const block = cursor_;
  const uint8_t* cursor = block;
  uint64_t ticks = ticks_;
  uint32_t last_begun = last_begun_;
  uint32_t offset_of_block = static_cast<uint32_t>(position(block) - payload_start_);
  while (cursor < block_end && record < end) {
    auto offset = static_cast<size_t>(cursor - block);
    size_t length = lengths.at(offset);
    if (__builtin_expect(length == 0, 0)) break;
    uint64_t word;
    std::memcpy(&word, cursor, sizeof word);
    unsigned bytes = short_bytes(word);
    uint64_t value = short_value(word, bytes);
    if (__builtin_expect(value == 0, 0)) break;
    uint32_t name = kNoName;
    uint64_t kind = value & 3;
    if (kind != kEnd) {
      // Without a branch, which nobody could predict: what would be the id is read in any case.
      word >>= 8 * bytes;
      uint64_t id = short_value(word, short_bytes(word));
      auto is_written = static_cast<uint32_t>(-kind);  // all ones of a kBegin, none of a kExpected
      if (__builtin_expect((id - 1) >> 32 & is_written, 0)) break;
      uint32_t& expected = expected_names_[last_begun % kExpectedNames];
      name = last_begun = expected ^= (expected ^ static_cast<uint32_t>(id)) & is_written;
    }
    ticks += value >> 2;
    *record++ = {ticks, name, offset_of_block + static_cast<uint32_t>(offset)};
    cursor += length;
  }
  cursor_ = cursor;
  ticks_ = ticks;
  last_begun_ = last_begun;
  return record;
}

// One record, unless the chunk is at its end.
void RecordDecoder::decode_slowly(RecordBatch& batch) {
  if (!reaches_record(kLongestRecord)) return;
  const uint8_t* cursor = cursor_;
  uint64_t numbers[kMostNumbers] = {};
  size_t wanted = 1;
  for (size_t i = 0; i < wanted; i++) {
    bool is_sound = cursor < window_end_ && (numbers[i] = decode_varint(cursor)) != 0 && cursor <= window_end_;
    wanted = is_sound ? numbers_in_record(numbers, i + 1) : 0;
  }
  if (wanted == 0) return leave(batch, formatted("no record starts with byte 0x%02x here", *cursor_));
  uint64_t kind = numbers[0] & 3;
  uint64_t ticks = ticks_ + (numbers[0] >> 2);
  if (kind == kOther) {
    OtherRecord other = to_other(numbers[1], numbers + 2, ticks_, numbers[0] >> 2);
    if (const auto* damage = std::get_if<FoundDamage>(&other)) return leave(batch, damage->what);
    batch.add(std::move(other), ticks, offset_in_chunk());
  } else {
    uint32_t name = kNoName;
    if (kind != kEnd) {
      uint32_t& expected = expected_names_[last_begun_ % kExpectedNames];
      if (kind == kBegin) expected = static_cast<uint32_t>(std::min(numbers[1], uint64_t{kLargestName}));
      name = last_begun_ = expected;
    }
    batch.add(ticks, name, offset_in_chunk());
  }
  ticks_ = ticks;
  cursor_ = cursor;
}

void RecordDecoder::leave(RecordBatch& batch, std::string what) {
  batch.add(FoundDamage{position(record_), std::move(what), true});
  leave_chunk();
}

// An empty text, or why the chunk cannot be read.
std::string RecordDecoder::open(const ChunkPlace& place, ChunkHeader& chunk, std::vector<uint32_t>& open_frames) {
  // The header again, not the one that was indexed: since then the chunk may have been closed.
  file_.read(place.offset, &chunk, sizeof chunk);
  std::string wrong = file_.check_chunk(chunk);
  if (!wrong.empty()) return wrong;
  if (chunk.payload_offset > place.end - place.offset) return "the file ends inside the open frames";
  open_frames.resize(chunk.depth);
  size_t frame_bytes = chunk.depth * sizeof(uint32_t);
  if (frame_bytes && file_.read(place.offset + sizeof chunk, open_frames.data(), frame_bytes) < frame_bytes) {
    return "the file ends inside the open frames";
  }
  if (open_payload(place, chunk)) return {};
  return formatted("the checksum of chunk %u of thread %u does not match", place.sequence, index_.stream);
}

// The next chunk, if it can be read.
void RecordDecoder::open_chunk(RecordBatch& batch) {
  const ChunkPlace& place = index_.chunks[next_chunk_++];
  auto report = [&](std::string what) { batch.add(FoundDamage{place.offset, std::move(what), false}); };
  if (place.sequence != next_sequence_) {
    report(formatted("chunk %u of thread %u was expected, chunk %u was found", next_sequence_, index_.stream, place.sequence));
    if (place.sequence < next_sequence_) return;
  }
  next_sequence_ = place.sequence + 1;
  ChunkHeader chunk{};
  ChunkStart start{};
  std::string wrong = open(place, chunk, start.open_frames);
  if (!wrong.empty()) {
    leave_chunk();
    return report(std::move(wrong));
  }
  payload_start_ = start.offset = position(record_);
  start.switch_ticks = chunk.switch_ticks;
  ticks_ = chunk.base_ticks;
  last_begun_ = 0;
  expected_names_.fill(0);
  batch.add(std::move(start), ticks_);
}

}  // namespace rlscope
