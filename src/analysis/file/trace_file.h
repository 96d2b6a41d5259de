// Opens one process's trace file: its header, its catalog, and where the chunks of each stream lie.
#pragma once
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace_format.h"

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
  uint64_t base_ticks;  // no record of the chunk is earlier
  uint32_t sequence;
  uint64_t switch_ticks;
};

// A chunk of device work. Chunks of one queue may overlap in time, so each is read by itself.
struct DeviceChunk {
  ChunkPlace place;
  uint32_t stream;
};

// A Python function.
struct Code {
  bool is_known = false;  // else no function has this id
  uint32_t first_line = 0;
  std::string name;  // qualified
  std::string file;
};

struct StreamIndex {
  uint32_t stream;
  uint64_t thread_id;
  uint64_t first_ticks;  // base_ticks of the first chunk that is to be read
  std::vector<ChunkPlace> chunks;  // by sequence
  size_t first_chunk = 0;  // that is to be read; those before it lie before the window
};

// The whole file but for its records. Reads with pread and never maps: a file that another process cuts short while it
// is being read is an error here, not a SIGBUS.
class TraceFile {
 public:
  // With `recovers`, damage is noted in damage() and stepped over; without, it is thrown.
  TraceFile(std::string path, bool recovers);
  // The header alone, of which damage that can be stepped over is no matter here.
  static FileHeader header_of(const std::string& path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  const FileHeader& header() const { return header_; }
  bool is_finished() const { return is_finished_; }  // recording ended in an orderly way
  uint64_t bytes() const { return bytes_; }
  const std::map<uint32_t, StreamIndex>& streams() const { return streams_; }  // by number
  const std::vector<DeviceChunk>& device_chunks() const { return device_chunks_; }  // by time, then stream and sequence
  const std::vector<Name>& names() const { return names_; }                    // by id
  const std::vector<LaunchSite>& launch_sites() const { return launch_sites_; }       // by id; one with id 0 is not known
  const std::vector<ChunkPlace>& stack_chunks() const { return stack_chunks_; }        // by sequence
  const std::vector<Code>& codes() const { return codes_; }                            // by id
  const std::vector<StackEntry>& stacks() const { return stacks_; }                    // by id; one with id 0 is not known
  const QueueEntry* queue(uint32_t stream) const;                              // null: not in the catalog
  const std::vector<std::string>& properties() const { return properties_; }
  const std::vector<std::string>& damage() const { return damage_; }
  uint64_t damage_count() const { return damage_count_; }
  uint64_t chunk_change_ticks() const { return chunk_change_ticks_; }
  // A time after this one can only be damage.
  uint64_t latest_ticks() const { return header_.start_ticks + kLongestRun; }

  // From here on only what a window needs that begins at `ticks`: of each stream the chunks from the last one that begins
  // before it, of each queue those from the one before that, for its chunks overlap in time.
  void start_at(uint64_t ticks);
  // Lets a stream begin with an earlier chunk; false if there is none.
  bool start_earlier(uint32_t stream);

  // A process that still records adds names: reads the catalog again.
  void reload_catalog();

  void report_damage(uint64_t offset, const std::string& what);
  // For what no recovering helps against.
  [[noreturn]] void refuse(const std::string& what) const;
  // As many of `size` bytes as the file has.
  size_t read(uint64_t offset, void* buffer, size_t size) const;
  // The checksum of what lies before the payload, with which that of the payload goes on. Older files sum the payload alone.
  uint32_t sum_before_payload(const ChunkPlace& place, ChunkHeader chunk) const;
  // An empty text, or what is wrong with a chunk header. A chunk that reaches past the end of the file is not wrong here.
  std::string check_chunk(const ChunkHeader& chunk) const;

 private:
  struct Opened {};
  TraceFile(std::string path, bool recovers, Opened);  // with nothing but its header
  void read_header();
  void keep_chunks_in_place() const;
  void check_clock();
  void check_finished_header();
  void check_extent();
  uint32_t chunk_alignment() const;
  uint64_t next_magic(uint64_t offset) const;
  template <typename OnChunk>
  void walk_chunks(OnChunk on_chunk);
  void index_chunk(const ChunkPlace& place, const ChunkHeader& chunk);
  void order_chunks();
  bool is_copy(const ChunkPlace& place, const ChunkPlace& of) const;
  template <typename Chunk>
  void drop_copies(std::vector<Chunk>& chunks) const;
  void read_catalog();
  void read_catalog_chunk(const ChunkPlace& place);
  void read_name(uint64_t offset, const uint8_t* entry, size_t size);
  void read_properties(uint64_t offset, const uint8_t* entry, size_t size);
  void read_queue(uint64_t offset, const uint8_t* entry, size_t size);
  void read_launch_site(uint64_t offset, const uint8_t* entry, size_t size);
  void read_code(uint64_t offset, const uint8_t* entry, size_t size);
  void read_stack(uint64_t offset, const uint8_t* entry, size_t size);
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
  std::vector<LaunchSite> launch_sites_;
  std::vector<ChunkPlace> stack_chunks_;
  std::vector<Code> codes_;
  std::vector<StackEntry> stacks_;
  std::vector<std::string> properties_;
  std::vector<std::string> damage_;
  uint64_t damage_count_ = 0;
  uint64_t chunk_change_ticks_ = 0;
};

}  // namespace rlscope
