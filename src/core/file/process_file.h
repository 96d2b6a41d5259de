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
#include "mapped_chunk.h"
#include "trace_format.h"

namespace rlscope {

class ProcessFile {
 public:
  // Called when the file cannot be written further; `error` is an errno. May be called again, by any thread.
  using OnFailure = void (*)(int error);

  // To be leaked: threads may still use it while the process ends.
  explicit ProcessFile(OnFailure on_failure) : on_failure_(on_failure) {}

  // Creates `directory`/PID-N.rlscope; again after finish(), for the next file. Returns an errno, 0 for success.
  int open_in(const std::string& directory);

  const std::string& path() const { return path_; }
  uint32_t pid() const { return header_.pid; }
  int stop_errno() const { return static_cast<int>(header_.stop_errno); }
  // The recording begins at `ticks`: until then the file was made.
  void begin_at(uint64_t ticks) { mapped_->start_ticks = header_.start_ticks = ticks; }
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
  void finish(EndReason reason);
  // The process is about to end, with this status. Also after finish().
  void note_exit(int32_t status);
  // In a child that nobody told that it was forked off: the trace says that it is not recorded.
  void note_copy() const;
  // In a forked child: lets go of the parent's file without touching its content. Its header stays mapped until one of these
  // two is called: the child has a file of its own, or could not make one, which its parent's file then tells.
  void abandon();
  void forget_parent();
  void tell_parent(int error);

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
  void update_clock();
  int write_entry(EntryType type, std::string_view fixed, std::string_view text);

  std::string path_;
  int fd_ = -1;  // the program may have closed it, or have a file of its own by this number: see find_descriptor()
  dev_t device_ = 0;
  ino_t inode_ = 0;
  OnFailure on_failure_;
  std::atomic<bool> has_failed_{false};
  Losses losses_;
  FileHeader header_{};  // what is known; it is never read from the file, which others may change
  FileHeader* mapped_ = nullptr;
  std::mutex mutex_;  // guards what follows; never held while a record is written
  uint64_t end_ = kFileHeaderBytes;
  std::vector<Region> free_;
  std::vector<Region> closed_;  // the other chunks, as soon as nobody writes into them; of very many the last ones
  uint64_t closed_chunks_ = 0;
  MappedChunk catalog_;
  uint32_t catalog_used_ = 0;
  uint32_t catalog_sequence_ = 0;
};

}  // namespace rlscope
