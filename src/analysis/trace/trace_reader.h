// Reads the records of one process's trace file, each stream's in order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "decode_ahead.h"
#include "record_batch.h"
#include "record_decoder.h"
#include "trace_file.h"

namespace rlscope {

enum class RecordType : uint32_t {
  kBegin,
  kEnd,
  kChunkStart,
  kProgress,
  kAbsent,
  kTask,
  kSample,
  kCollective,
  kMemory,
  kTagged,
  kFinished,
};

// One stream's records.
class StreamReader {
 public:
  // From the chunk at this place on; decoded by another thread where there is one.
  StreamReader(TraceFile& file, const StreamIndex& index, size_t window_bytes, size_t first_chunk = 0,
               DecodeAhead* ahead = nullptr);
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  // Goes to the next record; false when there is none.
  bool next() { return next_quickly() || next_slowly(); }
  // Only to a begin or an end; false: the next record may be another, so ask next_slowly().
  bool next_quickly() {
    if (__builtin_expect(record_[1].name == kOtherName, 0)) return false;
    record_++;
    return true;
  }
  bool next_slowly();
  // The record just read is wrong: reports it, and steps over the rest of its chunk where the file recovers.
  void reject(const std::string& what);

  RecordType type() const {
    if (record_->name == kOtherName) return other_type();
    return is_begin() ? RecordType::kBegin : RecordType::kEnd;
  }
  bool is_begin() const { return record_->name <= kLargestName; }
  bool is_end() const { return record_->name == kNoName; }
  // A begin, and the next record is its end, before `limit`.
  bool is_followed_by_end(uint64_t limit) const {
    return is_begin() && record_[1].name == kNoName && record_[1].ticks < limit;
  }
  uint64_t ticks() const { return record_->ticks; }
  uint32_t id() const { return record_->name; }  // the name of a begin; 0 is none
  const Progress& progress() const { return std::get<Progress>(*other_); }
  const AbsentGap& absent_gap() const { return std::get<AbsentGap>(*other_); }  // which this record ends
  const TaskEnd& task() const { return std::get<TaskEnd>(*other_); }
  const SampleEnd& sample() const { return std::get<SampleEnd>(*other_); }
  const CollectiveEnd& collective() const { return std::get<CollectiveEnd>(*other_); }
  const MemorySample& memory() const { return std::get<MemorySample>(*other_); }
  const TaggedRecord& tagged() const { return std::get<TaggedRecord>(*other_); }
  const ChunkStart& chunk_start() const { return std::get<ChunkStart>(*other_); }
  uint64_t ticks_before_chunk() const { return ticks_before_chunk_; }  // of the record that was read before its start
  uint64_t record_offset() const { return payload_offset_ + record_->offset; }  // in the file

 private:
  RecordType other_type() const;
  const RecordBatch& next_batch();
  void stay_at(uint64_t ticks);

  TraceFile& file_;
  RecordDecoder decoder_;
  std::optional<RecordBatch> own_batch_;
  std::optional<DecodedAhead> ahead_;    // instead of it
  const RecordBatch* taken_ = nullptr;   // one of theirs
  const Record* record_ = standstill_;
  const OtherRecord* next_other_ = nullptr;
  const OtherRecord* other_ = nullptr;  // where the record is one
  uint64_t payload_offset_ = 0;         // of the chunk, in the file
  uint64_t ticks_before_chunk_ = 0;
  bool is_finished_ = false;
  // Stands for a record behind which there is nothing to be taken quickly.
  Record standstill_[2] = {{0, kOtherName, 0}, {0, kOtherName, 0}};
  const Record* skipped_ = nullptr;  // of a chunk that was rejected; the rest of it is behind this record
};

}  // namespace rlscope
