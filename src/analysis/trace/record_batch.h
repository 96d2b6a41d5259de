// Decoded records of one stream, some hundreds or thousands at a time.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "trace_format.h"

namespace rlscope {

struct Progress {
  bool is_baseline;
  uint64_t timesteps;
  uint64_t total_timesteps;
};

// The time between a record and the one before it, for a part of which the thread was off the CPU.
struct AbsentGap {
  uint64_t start_ticks;
  uint64_t ticks;
  uint64_t blocked_ticks;  // of these
  uint64_t queued_ticks;   // of these, others: in line for a core
  uint64_t helped_ticks;   // of both, the blocked ones first: for so many a thread without a stream ran
};

// An operation of a coroutine or generator has ended.
struct TaskEnd {
  uint32_t operation;      // its name's id
  uint64_t elapsed_ticks;  // since it was opened
  uint64_t running_ticks;  // of these, while it was not suspended
};

// A sample is complete.
struct SampleEnd {
  uint32_t name;  // an operation's id
  bool is_discarded;
  bool is_of_task;         // else of the thread
  uint64_t version;        // of the policy that made it
  uint64_t tokens;
  uint64_t elapsed_ticks;  // since it was begun; 0: not known
  uint64_t working_ticks;  // of these, in an operation that encloses no other
};

// A call of a communicator is over.
struct CollectiveEnd {
  uint32_t name;  // a wait's id
  bool is_unwaited;  // nobody waited for it: when it ended is not known
  uint64_t sequence;  // among the communicator's
  uint64_t bytes;
  uint64_t elapsed_ticks;  // since it was called
  uint64_t waited_ticks;   // of these, while its thread waited for it
};

// Memory in use.
struct MemorySample {
  MemoryOwner owner;
  uint32_t device;      // CUDA's number in the process; 0 of the host
  uint64_t used_bytes;
  uint64_t peak_bytes;  // the most that were in use so far
};

// A record of which nothing needs to be checked: what it says is told by a struct of tagged_records.h.
class TaggedRecord {
 public:
  TaggedRecord(uint64_t tag, const uint64_t* stored) : tag_(tag) {
    std::copy_n(stored, kNumbersOfTag[tag], stored_.begin());
  }

  // None where it has another tag.
  template <class Numbers>
  std::optional<Numbers> as() const {
    if (tag_ != Numbers::kTag) return std::nullopt;
    return Numbers::from(stored_.data());
  }

 private:
  uint64_t tag_;
  std::array<uint64_t, kMostNumbersOfTag> stored_{};
};

// A chunk begins: the frames that are open there, and what changing to it cost the thread.
struct ChunkStart {
  uint64_t offset;  // of its payload, in the file
  uint64_t switch_ticks;
  std::vector<uint32_t> open_frames;
};

// Is no record: what was found between two, to be reported by whoever takes them.
struct FoundDamage {
  uint64_t offset;
  std::string what;
  bool is_in_chunk;  // else of a chunk that was left out
};

struct BatchEnd {};
struct StreamEnd {};

using OtherRecord = std::variant<BatchEnd, StreamEnd, FoundDamage, ChunkStart, Progress, AbsentGap, TaskEnd, SampleEnd,
                                 CollectiveEnd, MemorySample, TaggedRecord>;

struct Record {
  uint64_t ticks;
  uint32_t name;    // of a begin, or one of the two numbers below
  uint32_t offset;  // behind the start of its chunk's payload
};
constexpr uint32_t kNoName = 0xFFFFFFFE;     // an end
constexpr uint32_t kOtherName = 0xFFFFFFFF;  // the next one of others()
constexpr uint32_t kLargestName = kNoName - 1;  // stands for all above it, which no catalog has

class RecordBatch {
 public:
  explicit RecordBatch(size_t capacity) : records_(capacity + 2) {}

  void clear() {
    size_ = 0;
    others_.clear();
  }
  size_t space() const { return records_.size() - kSpare - size_; }
  Record* end() { return &records_[size_ + 1]; }
  void grow(size_t count) { size_ += count; }
  void add(uint64_t ticks, uint32_t name, uint32_t offset) { records_[++size_] = {ticks, name, offset}; }
  void add(OtherRecord other, uint64_t ticks = 0, uint32_t offset = 0) {
    add(ticks, kOtherName, offset);
    others_.push_back(std::move(other));
  }

  // The place before the first record; the last record is a BatchEnd or StreamEnd.
  const Record* before_first() const { return records_.data(); }
  const std::vector<OtherRecord>& others() const { return others_; }
  bool ends_stream() const { return std::holds_alternative<StreamEnd>(others_.back()); }

 private:
  static constexpr size_t kSpare = 2;  // the place before the first, and what stands for the end

  std::vector<Record> records_;
  std::vector<OtherRecord> others_;
  size_t size_ = 0;
};

}  // namespace rlscope
