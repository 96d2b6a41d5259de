// Which launch a correlation id belongs to: written by the threads that call CUDA, read when the records arrive.
#pragma once
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rlscope::cuda {

// Direct-mapped: an id is forgotten when one that is 4 million calls younger takes its place. At the million calls a
// second of a launch-bound loop this is four times as far back as records arrive. Pages exist once they are used.
class LaunchTable {
 public:
  // Empties the table, while no thread uses it: the ids of a recording mean nothing in the next one. False where there
  // is no memory.
  bool clear() {
    if (entries_) {
      madvise(entries_, kBytes, MADV_DONTNEED);
      return true;
    }
    void* area = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) return false;
    madvise(area, kBytes, MADV_HUGEPAGE);  // a loop would meet a new page every few hundred calls
    madvise(area, kBytes, MADV_DONTFORK);  // a child would copy it page by page, and has no use for it
    entries_ = static_cast<std::atomic<uint64_t>*>(area);
    return true;
  }

  // The entry of a new call is in no cache, and storing to it would hold up what follows.
  void prefetch(uint32_t correlation) const {
    if (entries_) __builtin_prefetch(entries_ + correlation % kEntries, 1);
  }

  void store(uint32_t correlation, uint32_t launch_site) {
    uint64_t entry = static_cast<uint64_t>(correlation) << 32 | launch_site;
    entries_[correlation % kEntries].store(entry, std::memory_order_release);
  }

  // 0 where the call is not known.
  uint32_t find(uint32_t correlation) const {
    uint64_t entry = entries_[correlation % kEntries].load(std::memory_order_acquire);
    return entry >> 32 == correlation ? static_cast<uint32_t>(entry) : 0;
  }

 private:
  static constexpr size_t kEntries = 1 << 22;
  static constexpr size_t kBytes = kEntries * sizeof(uint64_t);
  static_assert(sizeof(std::atomic<uint64_t>) == sizeof(uint64_t) && std::atomic<uint64_t>::is_always_lock_free);

  std::atomic<uint64_t>* entries_ = nullptr;
};

}  // namespace rlscope::cuda
