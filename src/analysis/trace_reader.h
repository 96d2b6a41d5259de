// Reads one process's trace file: its header and catalog, and the records of each stream in order.
#pragma once
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace_format.h"
#include "varint.h"

namespace rlscope {

// The file is not what it should be. The message names the file, the byte, what was expected and what was found.
struct TraceDamage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Name {
  NameKind kind{};  // 0: no name has this id
  Category category{};
  std::string text;
};

struct ChunkPlace {
  uint64_t offset;
  uint64_t end;  // the chunk's, or where the next one starts if this one claims more than the file has
  uint32_t sequence;
};

// A chunk of device work. Chunks of one queue may overlap in time, so each is read by itself.
struct DeviceChunk {
  ChunkPlace place;
  uint32_t stream;
  uint64_t base_ticks;  // no record of the chunk starts earlier
};

struct StreamIndex {
  uint32_t stream;
  uint64_t thread_id;
  uint64_t first_ticks;  // base_ticks of the first chunk
  std::vector<ChunkPlace> chunks;  // by sequence
};

// The whole file but for its records. Reads with pread and never maps: a file that another process cuts short while it
// is being read is an error here, not a SIGBUS.
class TraceFile {
 public:
  // With `recovers`, damage is noted in damage() and stepped over; without, it is thrown.
  TraceFile(std::string path, bool recovers);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  const FileHeader& header() const { return header_; }
  bool is_finished() const { return is_finished_; }  // recording ended in an orderly way
  uint64_t bytes() const { return bytes_; }
  const std::map<uint32_t, StreamIndex>& streams() const { return streams_; }  // by number
  const std::vector<DeviceChunk>& device_chunks() const { return device_chunks_; }  // by time, then stream and sequence
  const std::vector<Name>& names() const { return names_; }                    // by id
  const std::vector<LaunchEntry>& launches() const { return launches_; }       // by id; one with id 0 is not known
  const QueueEntry* queue(uint32_t stream) const;                              // null: not in the catalog
  const std::vector<std::string>& properties() const { return properties_; }
  const std::vector<std::string>& damage() const { return damage_; }
  uint64_t damage_count() const { return damage_count_; }
  uint64_t switch_ticks() const { return switch_ticks_; }
  // A time after this one can only be damage.
  uint64_t latest_ticks() const { return header_.start_ticks + kLongestRun; }

  // A process that still records adds names: reads the catalog again.
  void reload_catalog();

  void report_damage(uint64_t offset, const std::string& what);
  // For what no recovering helps against.
  [[noreturn]] void refuse(const std::string& what) const;
  // As many of `size` bytes as the file has.
  size_t read(uint64_t offset, void* buffer, size_t size) const;
  // An empty text, or what is wrong with a chunk header. A chunk that reaches past the end of the file is not wrong here.
  std::string check_chunk(const ChunkHeader& chunk) const;

 private:
  void read_header();
  void check_finished_header();
  void check_extent();
  template <typename OnChunk>
  void walk_chunks(OnChunk on_chunk);
  void index_chunk(const ChunkPlace& place, const ChunkHeader& chunk);
  void order_chunks();
  void read_catalog();
  void read_catalog_chunk(const ChunkPlace& place);
  void read_name(uint64_t offset, const uint8_t* entry, size_t size);
  void read_properties(uint64_t offset, const uint8_t* entry, size_t size);
  void read_queue(uint64_t offset, const uint8_t* entry, size_t size);
  void read_launch(uint64_t offset, const uint8_t* entry, size_t size);
  bool is_operation(uint32_t id) const { return id < names_.size() && names_[id].kind == NameKind::kOperation; }

  static constexpr uint64_t kLongestRun = 1ull << 56;  // ticks

  std::string path_;
  bool recovers_;
  int fd_ = -1;
  uint64_t bytes_ = 0;
  uint64_t reported_bytes_ = 0;  // damage before here has been reported
  FileHeader header_{};
  bool is_finished_ = false;
  uint64_t closed_chunks_ = 0;
  std::map<uint32_t, StreamIndex> streams_;
  std::vector<DeviceChunk> device_chunks_;
  std::vector<ChunkPlace> catalog_;
  std::vector<Name> names_;
  std::map<uint32_t, QueueEntry> queues_;  // by stream
  std::vector<LaunchEntry> launches_;
  std::vector<std::string> properties_;
  std::vector<std::string> damage_;
  uint64_t damage_count_ = 0;
  uint64_t switch_ticks_ = 0;
};

enum class RecordType : uint32_t {
  kBegin = 1,
  kEnd = 2,
  kProgress,
  kBlocked,
  kTask,
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
  StreamReader(TraceFile& file, const StreamIndex& index, size_t window_bytes);

  // Goes to the next record; false when there is none. Of a begin only type and time are known until take_id(): which
  // kind comes next is a guess for the processor when threads interleave, so that branch is taken once, by the caller.
  bool next() { return next_quickly() || next_slowly(); }
  // Only to a begin or an end; false: the next record may be another, so ask next_slowly().
  bool next_quickly() {
    if (__builtin_expect(cursor_ < safe_end_, 1)) {
      const uint8_t* cursor = cursor_;
      uint64_t value = decode_varint(cursor);
      uint64_t kind = value & 3;
      if (__builtin_expect(kind == kBegin || kind == kEnd, 1)) {
        record_ = cursor_;
        cursor_ = cursor;
        type_ = static_cast<RecordType>(kind);
        ticks_ += value >> 2;
        return true;
      }
    }
    return false;
  }
  bool next_slowly();

  RecordType type() const { return type_; }
  uint64_t ticks() const { return ticks_; }
  // The name of a begin, to be called once; 0 is none.
  uint64_t take_id() { return decode_varint(cursor_); }
  const Progress& progress() const { return progress_; }
  const BlockedGap& blocked_gap() const { return blocked_gap_; }  // which this record ends
  const TaskEnd& task() const { return task_; }
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
  Progress progress_{};
  BlockedGap blocked_gap_{};
  TaskEnd task_{};
  std::vector<uint32_t> open_frames_;
};

}  // namespace rlscope
