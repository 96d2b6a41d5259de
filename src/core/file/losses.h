// What a recording lost or cannot tell: counters in the header of its file, which any thread counts in.
#pragma once
#include <atomic>
#include <cstdint>

#include "trace_format.h"

namespace rlscope {

class Losses {
 public:
  void count_dropped_records(uint64_t records) { add(&FileHeader::dropped_records, records); }
  void count_misnested_operations(uint64_t operations) { add(&FileHeader::misnested_operations, operations); }
  void count_dropped_device_records(uint64_t records) { add(&FileHeader::dropped_device_records, records); }
  void count_unresolved_launches(uint64_t records) { add(&FileHeader::unresolved_launches, records); }

  // Counts in this header from now on; null: counts nothing, as in a header that has its checksum.
  void count_in(FileHeader* header) { header_.store(header, std::memory_order_release); }

 private:
  void add(uint64_t FileHeader::*counter, uint64_t number) {
    FileHeader* header = header_.load(std::memory_order_acquire);
    if (header) __atomic_fetch_add(&(header->*counter), number, __ATOMIC_RELAXED);
  }

  std::atomic<FileHeader*> header_{nullptr};
};

}  // namespace rlscope
