// One process's trace file: allocates chunks, keeps the header up to date, writes the catalog of names.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "free_space.h"
#include "losses.h"
#include "trace_format.h"

namespace rlscope {

// A chunk that is mapped and can be written. The mapping is never grown by ftruncate: pages that are not allocated
// would turn a full disk into SIGBUS.
struct MappedChunk {
  ChunkHeader* header = nullptr;
  uint64_t offset = 0;
  uint32_t bytes = 0;
};

class ProcessFile {
 public:
  // Called when the file cannot be written further; `error` is an errno. May be called again, by any thread.
  using OnFailure = void (*)(int error);

  // To be leaked: threads may still use it while the process ends.
  explicit ProcessFile(OnFailure on_failure) : on_failure_(on_failure) {}

  // Creates `directory`/PID-N.rlscope; again after finish(), for the next file. Returns an errno, 0 for success.
  int open_in(const std::string& directory);

  FileHeader& header() { return *header_; }
  const std::string& path() const { return path_; }
  Losses& losses() { return losses_; }

  // Who could not write says so to who made the file. No lock of either may be held.
  void fail(int error) { on_failure_(error); }
  // From here on nothing is written, and the header says why.
  void mark_failed(int error);
  bool has_failed() const { return has_failed_; }

  // Takes a chunk of about `bytes` (a rest that another thread left may be smaller). An errno, 0 for success.
  int take_chunk(uint32_t bytes, MappedChunk& chunk);
  // Closes a chunk: its length and checksum become valid. `is_last` gives the unused rest back for other threads.
  void close_chunk(MappedChunk& chunk, uint32_t payload_bytes, bool is_last);

  // Each returns an errno, 0 for success. The entry is in the file when they return.
  int write_name(uint32_t id, NameKind kind, Category category, std::string_view name);
  int write_properties(std::string_view json);
  int write_queue(const QueueEntry& queue);
  int write_launch_site(const LaunchSite& launch_site);
  // The lengths in `code` are those of the texts, of which the end of one that is too long is left out.
  int write_code(CodeEntry code, std::string_view name, std::string_view file);
  int write_stack(const StackEntry& stack);

  // Closes the catalog, gives free space back and records why the file ends: for `reason`, unless it has failed. The
  // header stays mapped.
  void finish(EndReason reason, int32_t exit_status);
  // In a child that nobody told that it was forked off: the trace says that it is not recorded.
  void note_copy() const;
  // In a forked child: lets go of the parent's file without touching its content.
  void abandon();

 private:
  struct Closed {
    Region chunk;
    Region rest;  // of no bytes where none is given back
    bool has_content;
  };

  int create(const std::string& directory);
  FileHeader new_header() const;
  int find_descriptor();
  bool is_ours(int fd) const;
  void close_descriptor();
  Closed seal_chunk(MappedChunk& chunk, uint32_t payload_bytes, bool is_last);
  void note_closed(const Closed& closed);  // needs the lock
  void give_free_space_back();
  int open_region(uint32_t bytes, Region& region);
  int map_region(const Region& region, MappedChunk& chunk);
  int write_entry(EntryType type, std::string_view fixed, std::string_view text);

  std::string path_;
  int fd_ = -1;  // the program may have closed it, or have a file of its own by this number: see find_descriptor()
  dev_t device_ = 0;
  ino_t inode_ = 0;
  OnFailure on_failure_;
  std::atomic<bool> has_failed_{false};
  Losses losses_;
  FileHeader* header_ = nullptr;
  std::mutex mutex_;  // guards what follows; never held while a record is written
  uint64_t end_ = kFileHeaderBytes;
  std::vector<Region> free_;
  std::vector<Region> closed_;  // the other chunks, as soon as nobody writes into them
  MappedChunk catalog_;
  uint32_t catalog_used_ = 0;
  uint32_t catalog_sequence_ = 0;
};

}  // namespace rlscope
