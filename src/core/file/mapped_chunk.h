// A chunk that is mapped and can be written. The mapping is never grown by ftruncate: pages that are not allocated would
// turn a full disk into SIGBUS. Nothing is read back from it, for whoever can write to the file can change it.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "free_space.h"
#include "trace_format.h"

namespace rlscope {

class MappedChunk {
 public:
  // What the header says. It is stored when the chunk begins, and again when it is closed.
  ChunkHeader& header() { return header_; }
  bool is_mapped() const { return start_ != nullptr; }
  uint8_t* start() const { return start_; }
  uint8_t* payload() const { return start_ + header_.payload_offset; }
  uint8_t* end() const { return start_ + header_.chunk_bytes; }
  const Region& region() const { return region_; }

  // Chunks need not begin with a page. Readable as free space from here on: a process killed now still leaves a file that
  // can be walked to its end. Returns an errno, 0 for success.
  int map(int fd, const Region& region) {
    uint64_t before = region.offset % static_cast<uint64_t>(getpagesize());
    void* pages = mmap(nullptr, before + region.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                       static_cast<off_t>(region.offset - before));
    if (pages == MAP_FAILED) return errno;
    region_ = region;
    start_ = static_cast<uint8_t*>(pages) + before;
    header_ = free_space(region.bytes);
    store_free_space(start_, region.bytes);
    return 0;
  }

  void unmap() {
    if (!start_) return;
    uint64_t before = region_.offset % static_cast<uint64_t>(getpagesize());
    munmap(start_ - before, before + region_.bytes);
    *this = {};
  }

  // The header is complete but for `kind`, which is stored last: until then the chunk is free space.
  void begin(ChunkKind kind) {
    auto* mapped = reinterpret_cast<ChunkHeader*>(start_);
    *mapped = header_;
    std::atomic_thread_fence(std::memory_order_release);
    header_.kind = mapped->kind = kind;
  }

  // The magic is stored last: what is read up to there is whole.
  static void store_free_space(uint8_t* place, uint32_t bytes) {
    auto* mapped = reinterpret_cast<ChunkHeader*>(place);
    ChunkHeader unmarked = free_space(bytes);
    unmarked.magic = 0;
    *mapped = unmarked;
    std::atomic_thread_fence(std::memory_order_release);
    *static_cast<volatile uint32_t*>(&mapped->magic) = kChunkMagic;
  }

 private:
  ChunkHeader header_{};
  Region region_{};
  uint8_t* start_ = nullptr;
};

}  // namespace rlscope
