// Reads the records of one process's trace file, each stream's in order.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "trace_file.h"
#include "varint.h"

namespace rlscope {

enum class RecordType : uint32_t {
  kExpectedBegin = 0,
  kBegin = 1,
  kEnd = 2,
  kProgress,
  kBlocked,
  kTask,
  kSample,
  kCollective,
  kMemory,
  kChunkStart,  // a chunk begins: open_frames() are the frames that are open at ticks()
  kFinished,
};

struct Progress {
  bool is_baseline;
  uint64_t timesteps;
  uint64_t total_timesteps;
};

// The time between a record and the one before it, of which the thread was blocked for a part.
struct BlockedGap {
  uint64_t start_ticks;
  uint64_t ticks;
  uint64_t blocked_ticks;  // of these
  uint64_t helped_ticks;   // of the blocked ones, for so many a thread without a stream ran
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

// How many bytes the chunks have that this program has begun to read, of all files and by all threads.
uint64_t bytes_read();

// Takes a chunk's payload through a buffer of bounded size.
class ChunkReader {
 public:
  // The record or chunk just read is wrong: reports it, and steps over the rest of its chunk where the file recovers.
  void reject(const std::string& what);

 protected:
  ChunkReader(TraceFile& file, size_t window_bytes) : file_(file), window_bytes_(window_bytes) {}

  // Goes to the chunk's first record; false if its checksum says that none can be used.
  bool open_payload(const ChunkPlace& place, const ChunkHeader& chunk);
  bool checksum_holds(uint32_t expected);
  void seek(uint64_t offset);
  void fill();
  uint64_t position(const uint8_t* place) const { return window_offset_ + static_cast<uint64_t>(place - window_.data()); }
  // Where the chunk goes on, with `longest_record` bytes in the window as far as the chunk has them; false at its end.
  bool reaches_record(size_t longest_record);

  TraceFile& file_;
  size_t window_bytes_;
  std::vector<uint8_t> window_;
  const uint8_t* cursor_ = nullptr;
  const uint8_t* safe_end_ = nullptr;  // before it, a begin or end record lies whole in the window
  const uint8_t* window_end_ = nullptr;
  const uint8_t* record_ = nullptr;  // the record that was read last
  uint64_t window_offset_ = 0;       // in the file
  uint64_t payload_end_ = 0;         // in the file; 0: no chunk is open
  bool chunk_is_closed_ = false;
};

// One stream's records. Its buffer exists from the first record to the last.
class StreamReader : public ChunkReader {
 public:
  // From the chunk at this place on.
  StreamReader(TraceFile& file, const StreamIndex& index, size_t window_bytes, size_t first_chunk = 0);

  // Goes to the next record; false when there is none. Of a begin only type and time are known until take_id(): which
  // kind comes next is a guess for the processor when threads interleave, so that branch is taken once, by the caller.
  bool next() { return next_quickly() || next_slowly(); }
  // Only to a begin or an end; false: the next record may be another, so ask next_slowly().
  bool next_quickly() {
    if (__builtin_expect(cursor_ < safe_end_, 1)) {
      const uint8_t* cursor = cursor_;
      uint64_t value = decode_varint(cursor);
      if (__builtin_expect((value & 3) != kOther && value != 0, 1)) {
        record_ = cursor_;
        cursor_ = cursor;
        type_ = static_cast<RecordType>(value & 3);
        ticks_ += value >> 2;
        return true;
      }
    }
    return false;
  }
  bool next_slowly();

  RecordType type() const { return type_; }
  bool is_begin() const { return type_ <= RecordType::kBegin; }
  uint64_t ticks() const { return ticks_; }
  // The name of a begin, to be called once; 0 is none.
  uint64_t take_id() {
    uint64_t& expected = expected_names_[last_begun_ % kExpectedNames];
    if (type_ == RecordType::kBegin) expected = decode_varint(cursor_);
    return last_begun_ = expected;
  }
  const Progress& progress() const { return progress_; }
  const BlockedGap& blocked_gap() const { return blocked_gap_; }  // which this record ends
  const TaskEnd& task() const { return task_; }
  const SampleEnd& sample() const { return sample_; }
  const CollectiveEnd& collective() const { return collective_; }
  const MemorySample& memory() const { return memory_; }
  // Of a chunk start: the frames open there, and the time of the record before it.
  const std::vector<uint32_t>& open_frames() const { return open_frames_; }
  uint64_t ticks_before_chunk() const { return ticks_before_chunk_; }
  uint64_t switch_ticks() const { return switch_ticks_; }  // what changing to the chunk cost the thread
  uint64_t record_offset() const { return position(record_); }  // in the file

 private:
  bool open_chunk();
  std::string read_other(const uint64_t* numbers);

  const StreamIndex& index_;
  size_t next_chunk_ = 0;
  uint32_t next_sequence_ = 0;
  RecordType type_ = RecordType::kFinished;
  uint64_t ticks_ = 0;
  uint64_t ticks_before_chunk_ = 0;
  uint64_t switch_ticks_ = 0;
  uint64_t last_begun_ = 0;  // in this chunk, of which the expected names are too
  std::array<uint64_t, kExpectedNames> expected_names_{};
  Progress progress_{};
  BlockedGap blocked_gap_{};
  TaskEnd task_{};
  SampleEnd sample_{};
  CollectiveEnd collective_{};
  MemorySample memory_{};
  std::vector<uint32_t> open_frames_;
};

}  // namespace rlscope
